// What a message costs besides the wire: the hardware profile.
#pragma once

#include "collectives/libraries/mpi.hpp"
#include "collectives/libraries/nccl.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"
#include "models/cost_by_size.hpp"
#include "models/fabric/path_class.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Where the send overheads of a rank queue up behind one another: in each channel of each stream by itself (a thread block or
// proxy thread a channel, as in NCCL), in the rank (one CPU thread drives all its streams and channels, as in MPI), or in the
// NIC, which its ranks share.
enum class SendQueue { channel, rank, nic };
std::string_view name_of(SendQueue);

// Which calls of NCCL choose by a profile's biases; the others as its table says.
enum class BiasesOf { all_calls, calls_in_a_server, calls_between_servers };
std::string_view name_of(BiasesOf);

inline constexpr double max_initial_copies = 4;

// Which of NCCL's protocols a call runs in, and along which pattern. `automatic`: none, the profile's plain values.
struct Regime {
  NcclProtocol protocol = NcclProtocol::automatic;
  NcclAlgorithm pattern = NcclAlgorithm::ring;
  bool between_servers = false;
  SimTime longer = {};     // a hop between servers, than those of NCCL's table
  int gpus = 0;            // of each server that take part; 0: many, of rings and trees
  SimTime turns = {};      // of LL on a chain: what the threads of a channel take for all that they pass on, besides its hops
  SimTime sending = {};    // of each of its messages, one behind the other
  SimTime pass = {};       // of LL: what each hop in a server takes for the bytes that go at once
  SimTime fill = {};       // of a chunk of NVLS in all its stages but the slowest, at links wholly used
  bool nvlink = false;     // between the GPUs of a server
  int staged_sends = 0;    // of a rank, one behind the other, of a ring whose messages are staged in host memory; 0: they are not
  bool one_chunk = false;  // all that goes round a ring
  Bytes own{};             // a rank's part of the message, of rings and all-to-alls
  double of_rate = 1;      // what it gets of its rate: trees and NVLS at the call's size, channels that carry no more
  int remote_peers = 0;    // of a rank of an all-to-all, on other servers
  int local_peers = 0;     // on its own
  int channels = 1;        // NCCL's, that the call takes
  int connections = 1;     // between servers, for each channel of the schedule
  double handshakes = 0;   // of the profile's rendezvous a hop between servers takes so many; 0: its messages are too short
  double cost = 1;         // of everything, over what the profile says
  friend bool operator==(const Regime&, const Regime&) = default;
};

// A call costs call_overhead on each rank before its first message, and B / page_fault_rate where it needs a buffer of B >= fresh_buffer
// for what arrives in a step to be reduced, or, if it is no all-reduce, for its initial copies: such buffers are allocated afresh in every
// call. A message of S bytes from a to b costs:
// send_overhead at a (sends queue up where `send_queue` says), beyond_inline on top when S >= inline_threshold, first_use once per directed
// pair and channel, rendezvous on top when S >= rendezvous_threshold (and then b must have reached the step), path latency, the transfer
// itself at wire_efficiency x link rate (x message_efficiency, x eager_efficiency when S < rendezvous_threshold). Here the
// sender is free, or at once when S < eager_below(). After it come the overhead of the path's class, which occupies nobody,
// and at b receive_overhead. A reduction of S bytes costs reduce_launch + S / reduce_rate, before it a message that neither an
// NVLink nor a NIC brings, outside NCCL, S / copy_rate, for a core copies it from its neighbour's memory (ranks that share a GPU add it up
// where it lies: sim/executor/gpu_memory.hpp); of the whole message of the
// collective what fits into reduce_cache goes at these rates, what fits into last_level_cache at those beyond the cache, and the rest at
// those in memory, which are never above those of nearer ones. Overheads of the receives of one step add up after the last has arrived. A
// call that reduces copies its whole message initial_copies times at the rate of its reductions before its first message, as MPI copies
// what it sends into the buffer that it receives in. What a step copies within a rank's memory, as all-to-alls of Bruck pack and unpack
// their blocks, costs local_copy + S / reduce_rate for each piece that lies together. A library copies short messages through buffers of
// its own, S / eager_copy_rate, and spares itself the copies of long ones by a handshake: a message costs what the two in parallel do, S
// handshake / (S + eager_copy_rate handshake), which is the copies of short ones and the handshake of long ones. Where it is known from
// which size on the library makes the handshake, handshake_threshold, that is exact: below S / eager_copy_rate. The part sender_share of it
// keeps the sender busy as send_overhead does, the rest comes after the bytes; so does S / unpipelined_rate, what the stages of one message
// do one behind the other, and which keeps nobody. Between ranks of a host they are host_eager_copy_rate and host_handshake, and all of it
// comes after the bytes. What goes from core to core, but within a last level of cache, goes through the memory of the sender's socket, at
// copy_rate_of_socket for all of it together. Between servers, all messages of one connection (sender, receiver, channel and stream)
// together get at most stream_rate, and a message is copied to host memory before it leaves and from host memory after it has arrived, each
// at staging_rate; a GPU makes one copy each way at a time, for all of its streams. In a call of NCCL S is what a message of one channel
// takes on the wire, and rendezvous is of messages between servers alone, a part of their hops that occupies nobody; with LL a hop takes it
// for each channel of a NIC, and one of a ring's all-reduce for each GPU of a server besides.
struct HardwareProfile {
  std::string name = "ideal";
  SimTime send_overhead = {};
  SendQueue send_queue = SendQueue::channel;
  std::optional<MpiLibrary> mpi_library = {};  // by whose rules `mpi` chooses where it names none itself
  SimTime receive_overhead = {};
  SimTime first_use = {};
  SimTime rendezvous = {};
  Bytes rendezvous_threshold{INT64_MAX};  // never
  SimTime reduce_launch = {};
  BitsPerSecond reduce_rate{0};               // 0: reductions take no time
  Bytes reduce_cache{INT64_MAX};              // never
  BitsPerSecond reduce_rate_beyond_cache{0};  // 0: as in cache
  double wire_efficiency = 1.0;               // goodput / link rate, in (0, 1]
  double eager_efficiency = 1.0;              // of that, below the threshold: flags beside the data, copies; in (0, 1]
  BitsPerSecond stream_rate{0};               // 0: a connection gets what its links give
  BitsPerSecond staging_rate{0};              // 0: nothing is copied (GPUDirect RDMA)
  double message_efficiency = 1.0;            // of that, of all messages
  SimTime call_overhead = {};
  Bytes eager_threshold{0};
  Bytes inline_threshold{0};
  SimTime beyond_inline = {};
  SimTime nvlink_overhead = {}, pcie_overhead = {}, sockets_overhead = {}, rail_overhead = {}, network_overhead = {};  // by PathClass
  Bytes last_level_cache{INT64_MAX};                                                                                   // never
  BitsPerSecond reduce_rate_in_memory{0};   // 0: as beyond the cache
  BitsPerSecond copy_rate{0};               // 0: copies take no time
  BitsPerSecond copy_rate_beyond_cache{0};  // 0: as in cache
  BitsPerSecond copy_rate_in_memory{0};     // of all ranks of a socket together; 0: as beyond the cache
  BitsPerSecond copy_rate_of_socket{0};     // of all messages at once that its cores take out of its memory; 0: what that gives
  BitsPerSecond host_eager_copy_rate{0};    // 0: copies take no time
  SimTime host_handshake = {};
  Bytes fresh_buffer{32 << 20};      // glibc's largest M_MMAP_THRESHOLD
  BitsPerSecond page_fault_rate{0};  // 0: pages cost no time
  double initial_copies = 0;
  SimTime local_copy = {};           // 0: nor do its bytes take time
  BitsPerSecond eager_copy_rate{0};  // 0: copies take no time, and so nobody makes a handshake
  SimTime handshake = {};
  Bytes handshake_threshold{0};       // 0: not known, whatever copies and handshake in parallel come to
  BitsPerSecond unpipelined_rate{0};  // 0: takes no time
  double sender_share = 0.3;
  double nvlink_gain = 1.0;  // of messages between the GPUs of a server, where its NVSwitch adds: they carry so much less; of a regime
  // Of NCCL's table (models/nccl_tuning.hpp): its latencies are multiplied by these, and a protocol gets these parts of the links.
  double nccl_base = 1.0;
  double ll_hops = 1.0, ll128_hops = 1.0, simple_hops = 1.0;
  double network_hops = 1.0;  // besides, of hops between servers
  double nccl_launch = 1.0;   // of what launches a ring's operations between servers
  double nccl_peer = 1.0;     // of what an all-to-all takes for each rank of other servers
  SimTime nccl_channel = {};  // of a call, for each channel that it takes but the first
  SimTime simple_base = {};   // of a call with Simple, but of NVLS, besides its hops
  SimTime nccl_network = {};  // of a call between servers, besides its hops
  SimTime nccl_hop = {};      // of each of these hops, in any protocol
  // What a rank of a ring, or of an all-to-all, reads and writes of its own part of the message while none of its links is used for that
  // part. 0: takes no time.
  BitsPerSecond nccl_own_rate{0};
  // For each GPU of a process that launches for several of them, one after the other: calls that follow one another come no faster.
  SimTime process_launch = 4400_ns;
  double ll_efficiency = 0.25, ll128_efficiency = 0.92, simple_efficiency = 1.0;
  double tree_efficiency = 0.92;
  double nvls_efficiency = 0.85;  // of what an NVSwitch that adds would give
  // NCCL keeps to LL, to LL128, to trees, to NVLS as long as they are expected to take at most so many times as long as the others.
  double ll_bias = 1.0, ll128_bias = 1.0, tree_bias = 1.0, nvls_bias = 1.0;
  BiasesOf biases_of = BiasesOf::all_calls;
  CostsBySize cost_by_size = {};
  bool shares_gpu = false;  // of a rank among several of one GPU, which adds up what it reads where the other has it
  std::map<std::string, std::string> sources = {};  // parameter -> where its value comes from

  // Smaller messages leave their sender at once: they are below eager_threshold, or the library copies them out of its way because that
  // takes less time than a handshake.
  Bytes eager_below() const;
  // What a message asks of its links.
  std::int64_t wire_bytes(std::int64_t bytes) const;
  // The rates at which a collective of this message size reduces and copies.
  BitsPerSecond reduce_rate_for(Bytes message) const;
  BitsPerSecond copy_rate_for(Bytes message) const;
  HardwareProfile shared_by(int ranks) const;  // of a socket, which have its last level of cache and its memory between them
  // Of one GPU, which have all of its caches and memory between them: while all are at work each gets its part.
  HardwareProfile shared_by_ranks_of_gpu(int ranks) const;
  HardwareProfile for_message(Bytes message) const;  // reduces and copies at those rates
  // Where copies take time, a core copies what takes this way.
  bool copies(PathClass way) const {
    const bool is_in_host = way == PathClass::cache || way == PathClass::pcie || way == PathClass::sockets;
    return is_in_host && (copy_rate.count > 0 || host_eager_copy_rate.count > 0);
  }
  std::array<SimTime, path_class_count> path_overheads() const {
    return {nvlink_overhead, SimTime{}, pcie_overhead, sockets_overhead, rail_overhead, network_overhead};
  }
  // What it says to the calls of a regime. The overheads by class are then those of whole hops: the path's latency is a part.
  HardwareProfile in(const Regime& regime) const;
};

// Negative costs, efficiencies outside (0, 1].
std::vector<Problem> problems(const HardwareProfile&);

}  // namespace weft
