// What a message costs besides the wire: the hardware profile.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Where the send overheads of a rank queue up behind one another: in each channel of each stream by itself (a thread block or
// proxy thread a channel, as in NCCL), in the rank (one CPU thread drives all its streams and channels, as in MPI), or in the
// NIC, which its ranks share.
enum class SendQueue { channel, rank, nic };
std::string_view name_of(SendQueue);

// A message of S bytes from a to b costs: send_overhead at a (sends queue up where `send_queue` says), first_use
// once per directed pair and channel, rendezvous on top when S >= rendezvous_threshold (and then b must have reached the step),
// path latency, the transfer itself at wire_efficiency x link rate (x eager_efficiency when S < rendezvous_threshold), and
// receive_overhead at b. A reduction of S bytes costs reduce_launch + S / reduce_rate, or S / reduce_rate_beyond_cache when
// the whole message of the collective is larger than reduce_cache. Overheads of the receives of one step add up after the last has arrived.
// Between servers, all messages of one connection (sender, receiver, channel and stream) together get at most stream_rate, and a message is
// copied to host memory before it leaves and from host memory after it has arrived, each at staging_rate; a GPU makes one copy each way at
// a time, for all of its streams.
struct HardwareProfile {
  std::string name = "ideal";
  SimTime send_overhead = {};
  SendQueue send_queue = SendQueue::channel;
  SimTime receive_overhead = {};
  SimTime first_use = {};
  SimTime rendezvous = {};
  Bytes rendezvous_threshold{INT64_MAX};  // never
  SimTime reduce_launch = {};
  BitsPerSecond reduce_rate{0};                     // 0: reductions take no time
  Bytes reduce_cache{INT64_MAX};                    // never
  BitsPerSecond reduce_rate_beyond_cache{0};        // 0: as in cache
  double wire_efficiency = 1.0;                     // goodput / link rate, in (0, 1]
  double eager_efficiency = 1.0;                    // of that, below the threshold: flags beside the data, copies; in (0, 1]
  BitsPerSecond stream_rate{0};                     // 0: a connection gets what its links give
  BitsPerSecond staging_rate{0};                    // 0: nothing is copied (GPUDirect RDMA)
  std::map<std::string, std::string> sources = {};  // parameter -> where its value comes from

  // What a message asks of its links.
  std::int64_t wire_bytes(std::int64_t bytes) const;
  // The rate at which a collective of this message size reduces.
  BitsPerSecond reduce_rate_for(Bytes message) const;
};

// Negative costs, efficiencies outside (0, 1].
std::vector<Problem> problems(const HardwareProfile&);

}  // namespace weft
