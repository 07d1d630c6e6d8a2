#include "collectives/algorithms/binomial_tree.hpp"

#include "collectives/algorithms/fold.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace weft {

Schedule rooted_at(const Schedule& schedule, Rank root) {
  if (root == 0) return schedule;
  std::vector<Rank> around;
  for (int v = 0; v < schedule.ranks; ++v) around.push_back(mod(root + v, schedule.ranks));
  return remap(schedule, around);
}

Schedule binomial_tree_broadcast(const Rooted& at) {
  const int n = at.ranks;
  Schedule s{.name = "binomial_tree_broadcast", .collective = Collective::broadcast, .ranks = n};
  s.channels = {Steps(ceil_log2(n), [n](int k, Step& step) {
    const int have = 1 << k;
    for (int v = 0; v < have && v + have < n; ++v) step.copy({.from = v, .to = v + have, .chunk = 0});
  })};
  return rooted_at(s, at.root);
}

Schedule binomial_tree_at_once_broadcast(const Rooted& at) {
  const int n = at.ranks;
  Schedule s{.name = "binomial_tree_at_once_broadcast", .collective = Collective::broadcast, .ranks = n};
  s.channels = {Steps(floor_log2(n), [n](int k, Step& step) {
    for (std::uint32_t v = 0; v < static_cast<std::uint32_t>(n); ++v)
      for (std::uint32_t bit = std::bit_ceil(v + 1); std::popcount(v) == k && v + bit < static_cast<std::uint32_t>(n); bit *= 2)
        step.copy({.from = static_cast<Rank>(v), .to = static_cast<Rank>(v + bit), .chunk = 0});
  })};
  return rooted_at(s, at.root);
}

Schedule binomial_tree_reduce(const Rooted& at) {
  const int n = at.ranks, L = ceil_log2(n);
  Schedule s{.name = "binomial_tree_reduce", .collective = Collective::reduce, .ranks = n};
  s.channels = {Steps(L, [=](int k, Step& step) {
    const int remain = 1 << (L - 1 - k);
    for (int v = 0; v < remain && v + remain < n; ++v) step.reduce({.from = v + remain, .to = v, .chunk = 0});
  })};
  return rooted_at(s, at.root);
}

namespace {

// Each(v, d, blocks): at this level v, a multiple of 2d, and v + d share the `blocks` blocks from v + d on.
template <class Each>
void for_each_pair(int n, int d, Each each) {
  for (int v = 0; v + d < n; v += 2 * d) each(v, std::min(d, n - v - d));
}

}  // namespace

Schedule neighbour_tree_reduce(const Rooted& at) {
  const int n = at.ranks;
  Schedule s{.name = "neighbour_tree_reduce", .collective = Collective::reduce, .ranks = n};
  s.channels = {Steps(ceil_log2(n), [n](int k, Step& step) {
    const int d = 1 << k;
    for_each_pair(n, d, [&](int v, int) { step.reduce({.from = v + d, .to = v, .chunk = 0}); });
  })};
  return rooted_at(s, at.root);
}

Schedule neighbour_tree_broadcast(const Rooted& at) {
  const int n = at.ranks, L = ceil_log2(n);
  Schedule s{.name = "neighbour_tree_broadcast", .collective = Collective::broadcast, .ranks = n};
  s.channels = {Steps(L, [=](int k, Step& step) {
    const int d = 1 << (L - 1 - k);
    for_each_pair(n, d, [&](int v, int) { step.copy({.from = v, .to = v + d, .chunk = 0}); });
  })};
  return rooted_at(s, at.root);
}

Schedule binomial_scatter(int n) {
  const int L = ceil_log2(n);
  Schedule s{.name = "binomial_scatter", .collective = Collective::broadcast, .ranks = n, .chunks = n};
  s.channels = {Steps(L, [=](int k, Step& step) {
    const int d = 1 << (L - 1 - k);
    for_each_pair(n, d, [&](int v, int blocks) { step.copy({.from = v, .to = v + d, .chunk = v + d, .count = blocks}); });
  })};
  return s;
}

Schedule binomial_gather(int n) {
  Schedule s{.name = "binomial_gather", .collective = Collective::reduce, .ranks = n, .chunks = n};
  s.channels = {Steps(ceil_log2(n), [=](int k, Step& step) {
    const int d = 1 << k;
    for_each_pair(n, d, [&](int v, int blocks) { step.copy({.from = v + d, .to = v, .chunk = v + d, .count = blocks}); });
  })};
  return s;
}

Cost neighbour_tree_reduce_cost(int n) { return binomial_tree_reduce_cost(n); }

Cost neighbour_tree_broadcast_cost(int n) { return binomial_tree_broadcast_cost(n); }

Cost binomial_tree_broadcast_cost(int n) {
  const int L = ceil_log2(n);
  return {.steps = L, .messages = n - 1, .max_chunks_sent = L, .chunks = 1};
}

Cost binomial_tree_at_once_broadcast_cost(int n) {
  return {.steps = floor_log2(n), .messages = n - 1, .max_chunks_sent = ceil_log2(n), .chunks = 1};
}

Cost binomial_tree_reduce_cost(int n) { return {.steps = ceil_log2(n), .messages = n - 1, .max_chunks_sent = n > 1 ? 1 : 0, .chunks = 1}; }

}  // namespace weft
