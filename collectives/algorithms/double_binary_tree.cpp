#include "collectives/algorithms/double_binary_tree.hpp"

#include "collectives/algorithms/fold.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <memory>

namespace weft {

std::vector<Rank> in_order_tree(int n) {
  std::vector<Rank> parents(static_cast<std::size_t>(n), -1);
  for (int r = 1; r < n; ++r) {
    // A rank whose lowest set bit is b has its whole tree within b of it; its parent's lowest bit is 2b, on the left or on
    // the right. Where the right one is beyond the end, it and all above it on that side fall away.
    const int b = r & -r;
    int parent = (r ^ b) | (b << 1);
    if (parent >= n) parent = r ^ b;
    parents[static_cast<std::size_t>(r)] = parent;
  }
  return parents;
}

Schedule tree_allreduce(const std::vector<Rank>& parents) {
  const int n = static_cast<int>(parents.size());
  const auto parent_of = [&](Rank r) { return parents[static_cast<std::size_t>(r)]; };
  std::vector<int> height(parents.size());  // of the tree below each rank
  std::vector<int> depth(parents.size());
  int tallest = 0;
  for (int r = 0; r < n; ++r) {
    int up = 0;
    for (Rank a = r; parent_of(a) != -1; a = parent_of(a)) {
      int& above = height[static_cast<std::size_t>(parent_of(a))];
      above = std::max(above, ++up);
    }
    depth[static_cast<std::size_t>(r)] = up;
    tallest = std::max(tallest, up);
  }

  auto by_step = std::make_shared<std::vector<Step>>(static_cast<std::size_t>(2 * tallest));
  for (int r = 0; r < n; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (parents[i] == -1) continue;
    (*by_step)[static_cast<std::size_t>(height[i])].reduce({.from = r, .to = parents[i], .chunk = 0});
    (*by_step)[static_cast<std::size_t>(tallest + depth[i] - 1)].copy({.from = parents[i], .to = r, .chunk = 0});
  }
  Schedule s{.name = "tree_allreduce", .collective = Collective::allreduce, .ranks = n};
  s.channels = {Steps(2 * tallest, [by_step](int k, Step& step) { step = (*by_step)[static_cast<std::size_t>(k)]; })};
  return s;
}

Schedule double_binary_tree_allreduce(int n) {
  const Schedule tree = tree_allreduce(in_order_tree(n));
  std::vector<Rank> moved;
  for (int r = 0; r < n; ++r) moved.push_back(n % 2 == 0 ? n - 1 - r : mod(r + 1, n));
  Schedule s = together({within(tree, 0, 2), within(remap(tree, moved), 1, 2)});
  s.name = "double_binary_tree_allreduce";
  return s;
}

Cost double_binary_tree_allreduce_cost(int n) {
  return {.steps = 2 * ceil_log2(n), .messages = std::int64_t{4} * (n - 1), .max_chunks_sent = n > 1 ? std::min(n, 4) : 0, .chunks = 2};
}

}  // namespace weft
