// Copies to and from host memory beside a collective, as flows of their own on the same fluid network.
#pragma once

#include "models/server/host_copies.hpp"
#include "sim/network/fluid.hpp"
#include "sim/network/network_run.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

class BackgroundCopies {
 public:
  // Every GPU of every entry is a stream: one copy after the other, as long as the network is advanced. `fabric` and
  // `network` must outlive it.
  BackgroundCopies(std::span<const HostCopies> copies, const Fabric& fabric, FluidNetwork& network);

  static bool is_copy(std::uint32_t token) { return token & token_bit; }
  void ended(std::uint32_t token);  // a copy has ended now; the next one of its stream is on its way
  bool all_ended_once() const { return unfinished_ == 0; }
  std::vector<CopyRecord> result() const;

 private:
  static constexpr std::uint32_t token_bit = 1u << 31;  // messages are numbered from 0

  struct Stream {
    FluidNetwork::RouteIndex route;
    std::int64_t bytes;
    SimTime period, scheduled, begun;  // of the copy under way
    CopyRecord record;
  };
  void begin(std::uint32_t index, SimTime at);

  FluidNetwork& network_;
  std::vector<Stream> streams_;
  std::size_t unfinished_ = 0;
};

}  // namespace weft
