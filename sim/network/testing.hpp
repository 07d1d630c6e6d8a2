// For tests: any fabric, placement, algorithm, size, overheads and start times, out of a seed.
#pragma once

#include "collectives/registry/registry.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/hardware.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace weft {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<int>(i)))]);
  }

 private:
  std::mt19937_64 random_;
};

inline LinkSpec any_link(Dice& dice) { return {dice.one_of({10_Gbps, 40_Gbps, 100_Gbps}), dice.one_of({0_ns, 100_ns, 500_ns, 2_us})}; }

inline FabricSpec any_fabric(Dice& dice) {
  const LinkSpec host = any_link(dice), inner = any_link(dice);
  switch (dice.below(6)) {
    case 0: {
      const int switches = dice.one_of({4, 8});
      return BiGraph{.switches = switches, .nodes_per_switch = 1 + dice.below(switches / 2), .host_link = host, .fabric_link = inner};
    }
    case 1:
      return FatTree{.leaves = 2 + dice.below(4),
                     .nodes_per_leaf = 1 + dice.below(5),
                     .spines = 1 + dice.below(3),
                     .host_link = host,
                     .fabric_link = inner};
    case 2:
      return FatTree{.k = 4, .host_link = host, .fabric_link = inner};
    case 3:
      return Star{.nodes = 2 + dice.below(20), .host_link = host};
    case 4:
      return Torus{.dims = {2 + dice.below(3), 2 + dice.below(3)}, .host_link = host, .fabric_link = inner};
    default:
      return Dragonfly{.groups = 3,
                       .routers_per_group = 2,
                       .nodes_per_router = 2,
                       .global_links_per_router = 1,
                       .host_link = host,
                       .fabric_link = inner,
                       .global_link = inner};
  }
}

inline HardwareProfile any_hardware(Dice& dice) {
  HardwareProfile hw;
  if (dice.one_in(2)) return hw;
  hw.send_overhead = dice.one_of({0_us, 1_us, 3'300_ns});
  hw.receive_overhead = dice.one_of({0_us, 700_ns});
  hw.first_use = dice.one_of({0_us, 20_us});
  hw.rendezvous = dice.one_of({0_us, 2_us});
  hw.rendezvous_threshold = dice.one_of({Bytes{INT64_MAX}, 64_KiB, 1_B});
  hw.reduce_launch = dice.one_of({0_us, 4_us});
  hw.reduce_rate = dice.one_of({BitsPerSecond{0}, 200_Gbps});
  hw.wire_efficiency = dice.one_of({1.0, 0.93});
  hw.eager_efficiency = dice.one_of({1.0, 0.5});
  hw.reduce_cache = dice.one_of({Bytes{INT64_MAX}, 100_KB});
  hw.reduce_rate_beyond_cache = dice.one_of({BitsPerSecond{0}, 70_Gbps});
  hw.message_efficiency = dice.one_of({1.0, 0.25});
  hw.eager_copy_rate = dice.one_of({BitsPerSecond{0}, 20_Gbps});
  hw.handshake = dice.one_of({0_us, 5_us});
  hw.host_eager_copy_rate = dice.one_of({BitsPerSecond{0}, 8_Gbps});
  hw.host_handshake = dice.one_of({0_us, 1_us});
  hw.copy_rate_of_socket = dice.one_of({BitsPerSecond{0}, 130_Gbps});
  hw.handshake_threshold = dice.one_of({0_B, 10_KB});
  hw.unpipelined_rate = dice.one_of({BitsPerSecond{0}, 60_Gbps});
  hw.initial_copies = dice.one_of({0.0, 1.5});
  hw.local_copy = dice.one_of({0_us, 2_us});
  hw.call_overhead = dice.one_of({0_us, 9_us});
  hw.eager_threshold = dice.one_of({0_B, 8_KiB, 1_MiB});
  hw.inline_threshold = dice.one_of({0_B, 200_B});
  hw.beyond_inline = dice.one_of({0_us, 300_ns});
  hw.rail_overhead = dice.one_of({0_us, 2'700_ns});
  hw.network_overhead = dice.one_of({0_us, 5_us});
  return hw;
}

struct AnyRun {
  FabricSpec fabric;
  Ecmp ecmp;
  Request request;
  std::vector<int> placement;
  std::int64_t elements = 0;
  HardwareProfile hardware;
  std::vector<SimTime> start;
};

inline AnyRun any_run(std::uint64_t seed) {
  Dice dice(seed);
  for (;;) {
    AnyRun c;
    c.fabric = any_fabric(dice);
    const int endpoints = static_cast<int>(weft::endpoints(c.fabric));
    c.ecmp = {dice.one_of({EcmpPolicy::hash, EcmpPolicy::d_mod_k, EcmpPolicy::least_loaded}), seed};
    c.request.ranks = 2 + dice.below(std::max(1, std::min(24, endpoints) - 1));
    const Algorithm& algorithm = algorithms()[static_cast<std::size_t>(dice.below(static_cast<int>(algorithms().size())))];
    c.request.collective = algorithm.collective;
    c.request.algorithm = algorithm.name;
    if (algorithm.can_be_cut) c.request.settings = {.channels = dice.one_in(4) ? 2 : 1, .pieces = dice.one_in(4) ? 3 : 1};
    if (algorithm.takes_group) c.request.settings.group = dice.one_of({1, 2, 4});
    if (c.request.ranks > endpoints || !constraints(c.request).empty()) continue;
    c.placement.resize(static_cast<std::size_t>(endpoints));
    std::iota(c.placement.begin(), c.placement.end(), 0);
    if (!dice.one_in(3)) dice.shuffle(c.placement);
    c.placement.resize(static_cast<std::size_t>(c.request.ranks));
    c.elements = dice.one_of<std::int64_t>({0, 1, 1000, 100'003, 4'000'000});
    c.elements = in_equal_blocks(build(c.request), c.elements);
    c.hardware = any_hardware(dice);
    if (dice.one_in(2))
      for (int r = 0; r < c.request.ranks; ++r) c.start.push_back(SimTime{dice.below(300'000) * 1'000});
    return c;
  }
}

}  // namespace weft
