#include "collectives/algorithms/knomial_tree.hpp"

#include "collectives/algorithms/fold.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr int radix = 4;

// Steps of radix to the power of them that hold n ranks.
int levels_of(int n) {
  int count = 0;
  for (std::int64_t reached = 1; reached < n; reached *= radix) ++count;
  return count;
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
  const int n = at.ranks, L = levels_of(n);
  Schedule s{.name = "knomial_tree_broadcast", .collective = Collective::broadcast, .ranks = n};
  s.channels = {Steps(L, [=](int k, Step& step) {
    std::int64_t apart = 1;
    for (int level = k + 1; level < L; ++level) apart *= radix;
    for (std::int64_t v = 0; v < n; v += apart * radix)
      for (std::int64_t to = v + apart; to < std::min<std::int64_t>(v + radix * apart, n); to += apart)
        step.copy({.from = static_cast<Rank>(v), .to = static_cast<Rank>(to), .chunk = 0});
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

Price knomial_tree_broadcast_price(int n) {
  std::int64_t sent = 0;  // by the root
  for (std::int64_t apart = 1; apart < n; apart *= radix) sent += std::min<std::int64_t>(radix - 1, (n - 1) / apart);
  return {.steps = levels_of(n), .messages = n - 1, .max_chunks_sent = sent, .chunks = 1};
}

Price binary_tree_broadcast_price(int n) {
  return {.steps = floor_log2(n), .messages = n - 1, .max_chunks_sent = std::min(n - 1, 2), .chunks = 1};
}

Price binary_tree_reduce_price(int n) {
  return {.steps = floor_log2(n), .messages = n - 1, .max_chunks_sent = std::min(n - 1, 1), .chunks = 1};
}

}  // namespace weft
