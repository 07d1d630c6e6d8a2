#include "collectives/algorithms/hierarchical_ring.hpp"

#include "collectives/algorithms/ring.hpp"
#include "collectives/schedule/compose.hpp"
#include "kernels/base/error.hpp"

namespace weft {

Schedule hierarchical_ring_allreduce(const Groups& groups) {
  const int n = groups.ranks, g = groups.ranks_per_group, G = n / g;
  check(g * G == n, "groups of {} do not divide {} ranks", g, n);

  std::vector<Schedule> scatter, across, gather;
  for (int group = 0; group < G; ++group) {
    std::vector<Rank> members;
    for (int i = 0; i < g; ++i) members.push_back(group * g + i);
    scatter.push_back(over(ring_reduce_scatter(g), members, n));
    gather.push_back(over(ring_allgather(g), members, n));
  }
  for (int shard = 0; shard < g; ++shard) {
    std::vector<Rank> owners;
    for (int group = 0; group < G; ++group) owners.push_back(group * g + shard);
    across.push_back(within(over(ring_allreduce(G), owners, n), shard * G, n));
  }
  Schedule s = then(then(together(scatter), together(across)), together(gather));
  s.name = "hierarchical_ring_allreduce";
  s.collective = Collective::allreduce;

  // Chunk i * G + j goes around the groups as the j-th of shard i. One group on takes every rank's j one on; one member on
  // within every group takes its shard one on.
  Steps& steps = s.channels.front();
  steps.declare({.rank = [=](Rank r) { return (r + g) % n; }, .chunk = [=](int c) { return c / G * G + (c + 1) % G; }});
  steps.declare({.rank = [=](Rank r) { return r / g * g + (r + 1) % g; }, .chunk = [=](int c) { return (c + G) % n; }});
  return s;
}

Price hierarchical_ring_allreduce_price(const Groups& groups) {
  const int n = groups.ranks, g = groups.ranks_per_group, G = n / g;
  const int steps = 2 * (g - 1) + 2 * (G - 1);
  return {.steps = steps, .messages = std::int64_t{n} * steps, .max_chunks_sent = std::int64_t{2} * (g - 1) * G + 2 * (G - 1), .chunks = n};
}

}  // namespace weft
