// What a network model of ours is: FluidNetwork and PacketNetwork, and whatever else jobs shall run on (shared_network.hpp).
#pragma once

#include "kernels/base/units.hpp"
#include "models/fabric/fabric.hpp"

#include <concepts>
#include <cstdint>
#include <span>

namespace weft {

// Routes are numbered in the order they are added. A message of `bytes` leaves at `at`, and its token is handed to what
// advance() is given when the last of them has arrived; so is a timer's. Nothing happens but at next_date(), all of it in advance(). All
// messages on a route together get at most `rate`, where it is not 0.
template <class N>
concept NetworkModel = requires(N& network, const N& seen, std::span<const Hop> hops, SimTime at, FlowTerms terms, std::int64_t bytes,
                                std::uint32_t token, BitsPerSecond rate) {
  { network.add_route(hops, at, terms, rate) } -> std::same_as<std::uint32_t>;
  { seen.routes() } -> std::convertible_to<std::size_t>;
  network.start(std::uint32_t{}, bytes, at, token);
  network.wake(at, token);
  { seen.now() } -> std::same_as<SimTime>;
  { seen.next_date() } -> std::same_as<SimTime>;
  { seen.latency(std::uint32_t{}) } -> std::same_as<SimTime>;
  network.advance([](std::uint32_t) {});
  { seen.events() } -> std::same_as<std::uint64_t>;
  { N::dates_at_once } -> std::convertible_to<int>;
};

}  // namespace weft
