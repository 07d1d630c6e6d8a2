#include "collectives/algorithms/knomial_tree.hpp"

#include "collectives/algorithms/fold.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr int radix = 4;

// To the farthest of n ranks: the first one so many sends away is 1 + radix + radix^2 and so on.
int depth_of(int n) {
  int count = 0;
  for (std::int64_t farthest = 1; farthest < n; farthest = radix * farthest + 1) ++count;
  return count;
}

// Of sends from the root to it: digits that are not 0.
int depth_of_rank(int rank) {
  int count = 0;
  for (; rank > 0; rank /= radix) count += rank % radix > 0;
  return count;
}

// Each(child): the farthest first.
template <class Each>
void for_each_knomial_child(int n, int rank, Each each) {
  std::int64_t apart = 1;
  while (apart * radix < n) apart *= radix;
  while (apart > 0 && rank % (apart * radix) != 0) apart /= radix;
  for (; apart > 0; apart /= radix)
    for (int r = 1; r < radix; ++r)
      if (const std::int64_t child = rank + r * apart; child < n) each(static_cast<Rank>(child));
}

// Each(parent, child) of a level, which is counted from the root on.
template <class Each>
void for_each_child(int n, int level, Each each) {
  const int first = (1 << level) - 1, width = 1 << level;
  for (int r = first; r < first + width && r < n; ++r)
    for (const int child : {r + width, r + 2 * width})
      if (child < n) each(r, child);
}

}  // namespace

Schedule knomial_tree_broadcast(const Rooted& at) {
  const int n = at.ranks;
  Schedule s{.name = "knomial_tree_broadcast", .collective = Collective::broadcast, .ranks = n};
  s.channels = {Steps(depth_of(n), [n](int k, Step& step) {
    for (Rank v = 0; v < n; ++v)
      if (depth_of_rank(v) == k) for_each_knomial_child(n, v, [&](Rank child) { step.copy({.from = v, .to = child, .chunk = 0}); });
  })};
  return rooted_at(s, at.root);
}

Schedule binary_tree_broadcast(const Rooted& at) {
  const int n = at.ranks;
  Schedule s{.name = "binary_tree_broadcast", .collective = Collective::broadcast, .ranks = n};
  s.channels = {Steps(floor_log2(n), [n](int k, Step& step) {
    for_each_child(n, k, [&](int parent, int child) { step.copy({.from = parent, .to = child, .chunk = 0}); });
  })};
  return rooted_at(s, at.root);
}

Schedule binary_tree_reduce(const Rooted& at) {
  const int n = at.ranks, L = floor_log2(n);
  Schedule s{.name = "binary_tree_reduce", .collective = Collective::reduce, .ranks = n};
  s.channels = {Steps(L, [=](int k, Step& step) {
    for_each_child(n, L - 1 - k, [&](int parent, int child) { step.reduce({.from = child, .to = parent, .chunk = 0}); });
  })};
  return rooted_at(s, at.root);
}

Cost knomial_tree_broadcast_cost(int n) {
  std::int64_t sent = 0;  // by the root
  for (std::int64_t apart = 1; apart < n; apart *= radix) sent += std::min<std::int64_t>(radix - 1, (n - 1) / apart);
  return {.steps = depth_of(n), .messages = n - 1, .max_chunks_sent = sent, .chunks = 1};
}

Cost binary_tree_broadcast_cost(int n) {
  return {.steps = floor_log2(n), .messages = n - 1, .max_chunks_sent = std::min(n - 1, 2), .chunks = 1};
}

Cost binary_tree_reduce_cost(int n) {
  return {.steps = floor_log2(n), .messages = n - 1, .max_chunks_sent = std::min(n - 1, 1), .chunks = 1};
}

}  // namespace weft
