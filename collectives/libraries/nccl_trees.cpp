// NCCL's two complementary trees between servers, with a chain of GPUs or an NVSwitch below each head.
#include "collectives/algorithms/double_binary_tree.hpp"
#include "collectives/libraries/nccl.hpp"
#include "collectives/libraries/nccl_channel.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <functional>

namespace weft {
namespace {

// The first tree, or the second, complementary one, of the servers' heads, which are the first of `gpus`.
std::vector<Rank> parents_of(const NcclShape& shape, const std::vector<int>& gpus, BelowHead below, bool second) {
  const int servers = shape.servers();
  const std::vector<Rank> tree = in_order_tree(servers);
  const auto position = [&](int server) {  // in the tree
    if (!second) return server;
    return servers % 2 == 0 ? servers - 1 - server : mod(server - 1, servers);
  };
  const auto server_at = [&](int at) {
    if (!second) return at;
    return servers % 2 == 0 ? servers - 1 - at : mod(at + 1, servers);
  };
  std::vector<Rank> parents(static_cast<std::size_t>(shape.ranks), -1);
  for (int server = 0; server < servers; ++server)
    for (int i = 0; i < shape.gpus_of(server); ++i) {
      const auto rank_of = [&](int at, int place) {
        return shape.rank(at, place < shape.gpus ? gpus[static_cast<std::size_t>(place)] : place);
      };
      Rank& parent = parents[static_cast<std::size_t>(rank_of(server, i))];
      if (i > 0)
        parent = rank_of(server, below == BelowHead::chain ? i - 1 : 0);
      else if (const Rank up = tree[static_cast<std::size_t>(position(server))]; up >= 0)
        parent = rank_of(server_at(up), 0);
    }
  return parents;
}

// Up, all pieces behind one another, and then down: the links of both directions are as busy as with both at once, and no rank
// waits for its parent while it has children to serve.
Schedule up_and_down(const Schedule& tree, int pieces) {
  const int height = tree.steps() / 2;
  const auto half = [&](int first) {
    Schedule out = tree;
    out.channels = {Steps(height, [steps = tree.channels.front(), first](int k, Step& step) { steps.produce(first + k, step); })};
    return pipelined(out, pieces);
  };
  return then(half(0), half(height));
}

// The parents in both trees of each head: of a channel, or of a GPU.
using Parents = std::function<std::vector<Rank>(int head, bool second)>;

Parents chains_below(const NcclShape& shape) {
  return [&shape](int channel, bool second) { return parents_of(shape, chain_of(shape, channel), BelowHead::chain, second); };
}

Parents stars_below(const NcclShape& shape) {
  return [&shape](int head, bool second) {
    std::vector<int> gpus;
    for (int i = 0; i < shape.gpus; ++i) gpus.push_back((head + i) % shape.gpus);
    return parents_of(shape, gpus, BelowHead::star, second);
  };
}

// Of each head's part of the message one tree adds up a half.
Schedule trees_of(const NcclShape& shape, int heads, const Parents& parents) {
  std::vector<Schedule> trees;
  const int parts = 2 * heads, chunks = parts * shape.pieces;
  for (int part = 0; part < parts; ++part) {
    const Schedule tree = tree_allreduce(parents(part / 2, part % 2 == 1));
    trees.push_back(within(up_and_down(tree, shape.pieces), part * shape.pieces, chunks));
  }
  return beside(trees);
}

int height_of(const std::vector<Rank>& parents) {
  int height = 0;
  for (Rank at : parents) {
    int up = 0;
    for (; at >= 0; at = parents[static_cast<std::size_t>(at)]) ++up;
    height = std::max(height, up);
  }
  return height;
}

Cost cost_of_trees(const NcclShape& shape, int heads, const Parents& parents) {
  const int parts = 2 * heads;
  Cost cost{.chunks = parts * shape.pieces};
  if (shape.ranks == 1) return cost;
  int height = 0;
  std::vector<std::int64_t> sent(static_cast<std::size_t>(shape.ranks));
  for (int part = 0; part < parts; ++part) {
    const std::vector<Rank> above = parents(part / 2, part % 2 == 1);
    for (std::size_t r = 0; r < above.size(); ++r)
      if (above[r] >= 0) ++sent[r], ++sent[static_cast<std::size_t>(above[r])];
    height = std::max(height, height_of(above));
  }
  cost.steps = 2 * (height + shape.pieces - 1);
  cost.messages = std::int64_t{2} * (shape.ranks - 1) * parts * shape.pieces;
  cost.max_chunks_sent = *std::ranges::max_element(sent) * shape.pieces;
  return cost;
}

}  // namespace

Schedule nccl_tree_allreduce(const NcclShape& shape) {
  Schedule s = trees_of(shape, shape.channels, chains_below(shape));
  s.name = "nccl_tree_allreduce";
  return s;
}
Cost nccl_tree_allreduce_cost(const NcclShape& shape) { return cost_of_trees(shape, shape.channels, chains_below(shape)); }

Schedule nccl_nvls_tree_allreduce(const NcclShape& shape) {
  Schedule s = trees_of(shape, shape.gpus, stars_below(shape));
  s.name = "nccl_nvls_tree_allreduce";
  return s;
}
Cost nccl_nvls_tree_allreduce_cost(const NcclShape& shape) { return cost_of_trees(shape, shape.gpus, stars_below(shape)); }

}  // namespace weft
