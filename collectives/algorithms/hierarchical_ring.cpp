#include "collectives/algorithms/hierarchical_ring.hpp"

#include "collectives/schedule/repeated_steps.hpp"
#include "kernels/base/error.hpp"

namespace weft {
namespace {

// Rings within all groups, of blocks of G chunks: one for each member.
RepeatedStep within_groups(const Groups& groups, int ahead, bool reduces) {
  const int n = groups.ranks, g = groups.ranks_per_group, G = n / g;
  RepeatedStep step{.times = g - 1, .block = n, .turn = -G};
  for (int first = 0; first < n; first += g)
    for (int i = 0; i < g; ++i) {
      const Transfer t{.from = first + i, .to = first + mod(i + 1, g), .chunk = mod(i + ahead, g) * G, .count = G};
      reduces ? step.first.reduce(t) : step.first.copy(t);
    }
  return step;
}

// Rings of the members that own the same block, one chunk for each group.
RepeatedStep across_groups(const Groups& groups, int ahead, bool reduces) {
  const int n = groups.ranks, g = groups.ranks_per_group, G = n / g;
  RepeatedStep step{.times = G - 1, .block = G, .turn = -1};
  for (int i = 0; i < g; ++i)
    for (int group = 0; group < G; ++group) {
      const Transfer t{.from = group * g + i, .to = mod(group + 1, G) * g + i, .chunk = i * G + mod(group + ahead, G)};
      reduces ? step.first.reduce(t) : step.first.copy(t);
    }
  return step;
}

}  // namespace

Schedule hierarchical_ring_allreduce(const Groups& groups) {
  const int n = groups.ranks, g = groups.ranks_per_group, G = n / g;
  check(g * G == n, "groups of {} do not divide {} ranks", g, n);

  Schedule s{.name = "hierarchical_ring_allreduce", .collective = Collective::allreduce, .ranks = n, .chunks = n};
  s.channels = {repeated_steps(
      n, n,
      {within_groups(groups, -1, true), across_groups(groups, 0, true), across_groups(groups, 1, false), within_groups(groups, 0, false)})};

  // Chunk i * G + j goes around the groups as the j-th of shard i. One group on takes every rank's j one on; one member on
  // within every group takes its shard one on.
  Steps& steps = s.channels.front();
  steps.declare({.rank = [=](Rank r) { return (r + g) % n; }, .chunk = [=](int c) { return c / G * G + (c + 1) % G; }});
  steps.declare({.rank = [=](Rank r) { return r / g * g + (r + 1) % g; }, .chunk = [=](int c) { return (c + G) % n; }});
  return s;
}

Cost hierarchical_ring_allreduce_cost(const Groups& groups) {
  const int n = groups.ranks, g = groups.ranks_per_group, G = n / g;
  const int steps = 2 * (g - 1) + 2 * (G - 1);
  return {.steps = steps, .messages = std::int64_t{n} * steps, .max_chunks_sent = std::int64_t{2} * (g - 1) * G + 2 * (G - 1), .chunks = n};
}

}  // namespace weft
