// The collectives of one process group, run by the thread that calls them, one after the other in the same order on all ranks.
#pragma once

#include "collectives/executors/blocking.hpp"
#include "collectives/torch/group_algorithms.hpp"
#include "collectives/torch/meeting.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct CollectiveCall {
  Collective collective = Collective::allreduce;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  std::int64_t elements = 0;  // of the whole message, all blocks together
};

struct PeerBytes {
  Rank peer = 0;
  ByteSpan bytes;
};

class Communicator {
 public:
  // Meets the other ranks. `algorithm` is what GroupAlgorithms reads.
  Communicator(KeyStore&, GroupSettings, std::string_view algorithm);

  // In place; the message lies in `data` as schedule.hpp says (block r of n for rank r). An alltoall has twice the room: block s
  // of the second half becomes what rank s sent here.
  void run(const CollectiveCall&, std::byte* data);
  // Every message at once, without a schedule: gather, scatter and blocks of different sizes.
  void exchange(std::string_view what, const std::vector<PeerBytes>& sends, const std::vector<PeerBytes>& receives);

  Rank rank() const { return settings_.rank; }
  int ranks() const { return settings_.ranks(); }
  std::string_view carrier() const { return connections_.carrier(); }
  const std::string& algorithm(Collective c, std::int64_t bytes) { return choice_.request(c, bytes).algorithm; }
  Transport& transport() { return connections_.transport(); }
  // Ends the group on all ranks.
  void fail(const std::string& reason) { connections_.fail(reason); }

 private:
  int next_label(std::string_view what);

  GroupSettings settings_;
  GroupAlgorithms choice_;
  Connections connections_;
  std::vector<std::byte> scratch_;  // for schedules that need more room than the message has
  std::uint64_t operations_ = 0;
};

}  // namespace weft
