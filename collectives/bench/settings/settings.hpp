// What `weft bench` is asked to run, from its command line.
#pragma once

#include "collectives/bench/settings/selection.hpp"
#include "collectives/compression/settings.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/transports/launch.hpp"
#include "collectives/transports/udp/udp_node.hpp"
#include "kernels/dtype.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace weft::bench {

// What udp runs: ATP and SwitchML by processes that exchange datagrams, switches among them. Sockets hold less than a fabric does, and
// processes answer later: windows, slots and the timeout have defaults of their own.
struct UdpSettings {
  AtpSettings atp = {.aggregators = 4096, .initial_window = 16, .largest_window = 128};
  SwitchmlSettings switchml = {.slots = 128};
  int payload_bytes = 1408;       // of values in a datagram
  int packet_bytes = 1500;        // of a datagram with all headers, at most
  double timeout_ms = 10;         // after which what has not come back is retransmitted
  std::vector<int> below = {};    // as in UdpLayout
  std::vector<int> passing = {};  // the same
  UdpFaults faults = {};
};

struct Settings {
  std::string transport = "threads";
  std::vector<std::string> algorithms = {"ring"};
  std::vector<Selected> selection = {};  // what "auto" among the algorithms stands for
  Collective collective = Collective::allreduce;
  AlgorithmSettings cut = {.pieces = 1};
  std::optional<CompressionSettings> compression = {};  // of every all-reduce
  int switches = 0;                                     // of the BiGraph that hdrm is placed on; udp: that add up
  int ranks = 0;                                        // those that reduce: extra servers come on top
  Rank root = 0;
  std::int64_t first_bytes = 1 << 10;
  std::int64_t last_bytes = 16 << 20;
  int factor = 4;
  std::int64_t step_bytes = 0;  // from one size to the next, instead of the factor; 0: not given
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  int iterations = 20;
  int warmup = 5;
  int aggregated = 1;                       // collectives of an iteration, back to back
  bool per_iteration = false;               // a time for each iteration, which begins at a barrier, instead of one for all back to back
  bool only_in_place = false;               // no runs out of place
  std::vector<std::string> arguments = {};  // as they were given
  std::string json = {};                    // file for what nccl-tests writes with -J
  bool check = true;
  std::string trace = {};
  bool force = false;        // of json and trace
  std::string compare = {};  // a scenario; for the program that holds the simulator
  bool on_gpu = false;       // tcp, mpi: the data lie on GPUs
  bool graph = false;        // cuda, nccl: replay a graph instead of enqueueing
  std::chrono::milliseconds patience{30'000};
  int connections = 1;                  // tcp
  BitsPerSecond stream_rate{0};         // tcp: of each connection, at most; 0: as fast as they go
  bool zero_copy = false;               // tcp
  std::vector<std::string> hosts = {};  // the address of every rank, then of every extra server; udp: of every node
  std::string secret = {};              // tcp, udp: known to all processes of the run; never printed
  Rank rank = -1;                       // tcp, udp, nccl: which of them this process is; -1 starts them all here
  std::string meeting = {};             // tcp, nccl: host:port where rank 0 listens, and all learn the others' addresses
  std::optional<Launch> launch = {};    // nccl, and tcp with a meeting: who started this process beside others
  UdpSettings in_network = {};          // udp

  // Whether this process runs one rank, and others theirs.
  bool one_of_several() const { return transport == "mpi" || rank >= 0 || launch.has_value(); }
  // The size after this one.
  std::int64_t next_bytes(std::int64_t bytes) const { return step_bytes > 0 ? bytes + step_bytes : bytes * factor; }
  int with_servers() const { return ranks + extra_servers(cut); }  // threads or processes that run
};

// The transports of this build: "mpi", "cuda" and "nccl" are there where MPI, CUDA and NCCL were found.
const std::vector<std::string>& transports();

// Declares what parse() understands, for who writes down what there is and parses nothing.
void describe(CLI::App& app);

// Settings, or nothing where the command line asked for help, which is then printed. Throws InputError with all problems.
std::optional<Settings> parse(int argc, const char* const* argv);

// "8", "64K", "256M", "1G": binary multiples; the letter may be followed by "iB".
std::int64_t parse_size(std::string_view text);
// Of --stream-rate: "30Mbps". Throws InputError.
BitsPerSecond parse_stream_rate(std::string_view text);

// Whether each size is also run with its data in a second buffer, from where each rank's own is copied first.
bool runs_out_of_place(const Settings&);

// Whether each iteration is timed by itself: where it is asked for, where a trace or a simulation is compared with it, and where no two
// are back to back (compression, udp).
bool times_each_iteration(const Settings&);
// How many times there are of each size.
int timed_runs(const Settings&);

// Of a udp run.
UdpLayout layout_of(const Settings&);
InNetworkSettings in_network_settings(const Settings&, const std::string& algorithm);

Request request_of(const Settings&, const std::string& algorithm);
Request request_of(const Settings&, const Selected&);
// Of so many threads or processes those that are not extra servers. Throws InputError where -n asks for others.
int ranks_among(int all, const Settings&, const char* who_started_them);
// What all processes of a run must agree on, in words.
std::string job_of(const Settings&);

}  // namespace weft::bench
