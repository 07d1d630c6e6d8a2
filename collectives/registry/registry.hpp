// All algorithms by name: what the reader may accept, `weft list` prints, and every run builds its schedule from.
#pragma once

#include "collectives/algorithms/hdrm.hpp"
#include "collectives/algorithms/parameter_server.hpp"
#include "collectives/interchange/imported.hpp"
#include "collectives/libraries/mpi.hpp"
#include "collectives/libraries/nccl.hpp"
#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"
#include "kernels/base/error.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Settings that stand beside an algorithm's name.
struct AlgorithmSettings {
  int group = 0;    // ranks in a group, such as the GPUs of a server; 0 is not given
  int servers = 0;  // that keep parameters; 0 is not given: 1
  ServerHosts server_hosts = ServerHosts::workers;
  int channels = 1;              // concurrent parts of the message, each a copy of the algorithm; 0: nccl's choice, one a NIC
  bool channels_follow = false;  // from the servers, or from the size of a call: they were not given
  int pieces = 0;                // segments of each part that follow one another through the algorithm (pipelining); 0 is not given: 1
  double last_piece = 1;         // of nccl's trees and chains: the last piece of a part over each of the others (LastPiece)
  Bytes segment{0};              // 0 is not given; pieces follow from it where the size is known
  int nics = 0;                  // of a server, for nccl; 0 is not given: 1
  NcclAlgorithm nccl = NcclAlgorithm::automatic;
  NcclProtocol protocol = NcclProtocol::automatic;
  std::optional<bool> pxn = {};            // of nccl's alltoall; not given: no
  std::optional<MpiLibrary> library = {};  // whose rules `mpi` goes by; not given: open_mpi
  std::string inner = {};                  // algorithm among the leaders of two_level; empty is not given: what MPI runs for the size
  std::string up = {}, down = {};          // reduce to, broadcast from the leader of a group of two_level; empty: binomial_tree
  ImportedSchedule imported = {};          // of msccl
  friend bool operator==(const AlgorithmSettings&, const AlgorithmSettings&) = default;
};

// Servers beside the ranks that are asked for: ranks of the schedule behind them.
int extra_servers(const AlgorithmSettings&);

// What is asked for, or what stands for it.
inline int channels_of(const AlgorithmSettings& settings) { return settings.channels == 0 ? 1 : settings.channels; }
inline MpiLibrary library_of(const AlgorithmSettings& settings) { return settings.library.value_or(MpiLibrary::open_mpi); }
inline int pieces_of(const AlgorithmSettings& settings) { return settings.pieces == 0 ? 1 : settings.pieces; }

struct Request {
  Collective collective = Collective::allreduce;
  std::string algorithm = "ring";
  int ranks = 1;  // without extra servers
  Rank root = 0;
  AlgorithmSettings settings = {};
  std::optional<BiGraphShape> bigraph = {};      // the fabric, if it is one
  std::vector<std::vector<int>> orders = {};     // of the GPUs of a server, for nccl (NcclShape)
  std::vector<std::vector<Rank>> machines = {};  // by server the ranks of its GPUs, for nccl; none: `group` neighbours each
  bool sharp = false;                            // in-network aggregation between servers, for nccl
};

struct Algorithm {
  std::string_view name;
  Collective collective;
  std::string_view description;  // one sentence
  std::string_view source;
  // The steps of one transfer each may be cut (channels, pieces); algorithms that move ranges of ranks' blocks may not.
  bool can_be_cut = true;
  bool takes_group = false;
  bool takes_servers = false;
  bool takes_inner = false;
  bool takes_library = false;
  bool staggers = false;      // may take a group, through which each channel then goes from another rank on
  bool cuts_itself = false;   // `build` and `cost` know of channels and pieces
  bool wants_pieces = false;  // without pieces and segments given, as many as do it first
  int max_ranks = 1 << 20;
  void (*constrain)(const Request&, std::vector<Problem>&) = nullptr;  // what else must hold
  Request (*chooses)(const Request&, Bytes size) = nullptr;            // what it is for a size, where that is not settled
  Schedule (*build)(const Request&) = nullptr;                         // uncut
  Cost (*cost)(const Request&) = nullptr;                              // where there is no formula, what the schedule is counted to cost
};

std::span<const Algorithm> algorithms();
// One more, of a program that has Weft as a library. Its texts must stay; add all of them before the first scenario is read or schedule
// built. Throws InputError where the name is taken, is none, or nothing builds the schedule.
void add_algorithm(const Algorithm& algorithm);
// The schedule of a file, by the name of msccl: one for each collective that a file can hold.
std::span<const Algorithm> imported_algorithms();
std::vector<std::string> algorithm_names(Collective collective);
const Algorithm* find_algorithm(Collective collective, std::string_view name);

// What forbids the request, all at once. Places are pointers relative to the request: /algorithm, /ranks, /root, /group, /inner, /up,
// /down, /library, /servers, /server_hosts, /channels, /pieces, /nics, /segment, /protocol, /file; those of the fabric are /fabric/type,
// /fabric/switches and /fabric/nodes_per_switch.
std::vector<Problem> constraints(const Request& request);

// The schedule, and its cost by the formulas above each algorithm; of one that chooses, for the longest message. Throw InputError with all
// `constraints`.
Schedule build(const Request& request);
Cost cost(const Request& request);

}  // namespace weft
