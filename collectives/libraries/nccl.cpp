#include "collectives/libraries/nccl.hpp"

#include "collectives/algorithms/direct.hpp"
#include "collectives/algorithms/double_binary_tree.hpp"
#include "collectives/algorithms/fold.hpp"
#include "collectives/libraries/nccl_reduce.hpp"
#include "collectives/schedule/compose.hpp"
#include "collectives/schedule/repeated_steps.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace weft {

std::string_view name_of(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::automatic:
      return "auto";
    case NcclAlgorithm::ring:
      return "ring";
    case NcclAlgorithm::tree:
      return "tree";
    case NcclAlgorithm::nvls:
      return "nvls";
    case NcclAlgorithm::nvls_tree:
      return "nvls_tree";
    case NcclAlgorithm::collnet_direct:
      return "collnet_direct";
    case NcclAlgorithm::collnet_chain:
      return "collnet_chain";
  }
  return "";
}

std::string_view name_of(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::automatic:
      return "auto";
    case NcclProtocol::ll:
      return "ll";
    case NcclProtocol::ll128:
      return "ll128";
    case NcclProtocol::simple:
      return "simple";
  }
  return "";
}

Bytes nccl_chunk(NcclProtocol protocol, Bytes part, int hops) {
  // NCCL 2.x: 8 steps a buffer; of 512 KiB (LL, half of it flags), 4.9 MB (LL128, 120 of 128 bytes data), 4 MiB (Simple).
  if (protocol == NcclProtocol::ll) return 32_KiB;
  Bytes chunk = 512_KiB;
  const auto smaller = [&](std::int64_t chunks, Bytes least) {
    while (chunk > least && part.count / chunk.count < chunks * hops) chunk.count /= 2;
  };
  if (protocol == NcclProtocol::ll128) {
    smaller(16, 32_KiB);
  } else {
    smaller(8, 128_KiB);
    smaller(4, 64_KiB);
    smaller(1, 32_KiB);
  }
  return chunk;
}

namespace {

int head_of(const NcclShape& shape, int channel) { return channel % shape.nics * shape.gpus / shape.nics; }

// Where each NIC has one GPU, the ring goes through every second server the other way round: it enters where it left the one
// before, on the same rail.
bool alternates(const NcclShape& shape) { return shape.servers() > 1 && shape.nics > 1 && shape.nics == shape.gpus; }

struct Ring {
  std::vector<Rank> ranks;    // by place
  std::vector<int> place_of;  // by rank

  Rank at(int position) const { return ranks[static_cast<std::size_t>(mod(position, static_cast<int>(ranks.size())))]; }
};

// The GPUs of a server as a ring goes through them.
std::vector<int> by_nics(const NcclShape& shape, int channel) {
  const int head = head_of(shape, channel), of_nic = std::max(1, shape.gpus / shape.nics);
  std::vector<int> gpus{head % shape.gpus};
  for (int i = of_nic; i < shape.gpus; ++i) gpus.push_back((head + i) % shape.gpus);
  for (int i = 1; i < of_nic; ++i) gpus.push_back((head + i) % shape.gpus);  // the others of the NIC: the ring leaves through it again
  return gpus;
}

std::vector<int> along_links(const NcclShape& shape, int channel, int first) {
  std::vector<int> gpus = shape.orders[static_cast<std::size_t>(channel) % shape.orders.size()];
  std::rotate(gpus.begin(), std::ranges::find(gpus, first), gpus.end());  // clang 14 knows no subranges
  return gpus;
}

int nic_of(const NcclShape& shape, int gpu) {
  int nic = shape.nics - 1;
  while (head_of(shape, nic) > gpu) --nic;
  return nic;
}

// The GPUs at which rings along links enter a server, by channel; they leave it at the one before. Of so many channels as there are NICs
// each enters by another and leaves by another, as far as the orders let them, and by the same where it can, its own.
class Entries {
 public:
  explicit Entries(const NcclShape& shape)
      : shape_(shape), entered_(static_cast<std::size_t>(shape.nics)), left_(entered_), chosen_(static_cast<std::size_t>(shape.channels)) {
    while (!choose(0)) ++more_, steps_ = 0;
  }
  int of(int channel) const { return chosen_[static_cast<std::size_t>(channel)]; }

 private:
  struct Place {
    int gpu, in, out;  // NICs
  };

  bool choose(int channel) {
    constexpr int max_steps = 20'000;
    if (channel == shape_.channels) return true;
    if (++steps_ > max_steps) return false;
    const int most = channel / shape_.nics + 1 + more_;
    for (const Place& p : places(channel)) {
      int &in = entered_[static_cast<std::size_t>(p.in)], &out = left_[static_cast<std::size_t>(p.out)];
      if (in == most || out == most) continue;
      chosen_[static_cast<std::size_t>(channel)] = p.gpu;
      ++in, ++out;
      if (choose(channel + 1)) return true;
      --in, --out;
    }
    return false;
  }

  // The best first.
  std::vector<Place> places(int channel) const {
    const std::vector<int>& order = shape_.orders[static_cast<std::size_t>(channel) % shape_.orders.size()];
    std::vector<Place> out;
    int before = order.back();
    for (const int gpu : order) out.push_back({gpu, nic_of(shape_, gpu), nic_of(shape_, std::exchange(before, gpu))});
    std::ranges::stable_sort(out, {}, [&](const Place& p) { return std::pair(p.in != p.out, p.in != channel % shape_.nics); });
    return out;
  }

  const NcclShape& shape_;
  std::vector<int> entered_, left_;  // how often, by NIC
  std::vector<int> chosen_;
  int more_ = 0, steps_ = 0;
};

Ring ring_through(const NcclShape& shape, const std::vector<int>& gpus) {
  Ring ring;
  ring.place_of.resize(static_cast<std::size_t>(shape.ranks));
  for (int server = 0; server < shape.servers(); ++server) {
    std::vector<int> way = gpus;
    for (int more = shape.gpus; more < shape.gpus_of(server); ++more) way.insert(way.begin() + 1, more);
    if (alternates(shape) && server % 2 == 1) std::ranges::reverse(way);
    for (const int gpu : way) {
      const Rank rank = shape.rank(server, gpu);
      ring.place_of[static_cast<std::size_t>(rank)] = static_cast<int>(ring.ranks.size());
      ring.ranks.push_back(rank);
    }
  }
  return ring;
}

std::vector<Ring> rings_by_channel(const NcclShape& shape) {
  std::optional<Entries> entries;
  if (!shape.orders.empty()) entries.emplace(shape);
  std::vector<Ring> out;
  for (int c = 0; c < shape.channels; ++c)
    out.push_back(ring_through(shape, entries ? along_links(shape, c, entries->of(c)) : by_nics(shape, c)));
  return out;
}

// Once round: each rank's chunk from place to place, ending (adding) or beginning (copying) at the rank.
RepeatedStep once_round(const Ring& ring, const std::function<int(Rank)>& chunk_of, bool reduces) {
  const auto n = static_cast<int>(ring.ranks.size());
  RepeatedStep step{.times = n - 1, .block = n, .turn = -1};
  for (Rank rank = 0; rank < n; ++rank) {
    const int place = ring.place_of[static_cast<std::size_t>(rank)];
    const Transfer t{.from = rank, .to = ring.at(place + 1), .chunk = chunk_of(ring.at(reduces ? place - 1 : place))};
    reduces ? step.first.reduce(t) : step.first.copy(t);
  }
  return step;
}

// After how many servers rings look the same; 0: never.
int turn_of(const NcclShape& shape) {
  if (!shape.is_even()) return 0;
  if (!alternates(shape)) return 1;
  return shape.servers() % 2 == 0 ? 2 : 0;
}

// By rank, the one on the same GPU so many servers on.
std::vector<Rank> turned_by(const NcclShape& shape, int turn) {
  std::vector<Rank> out(static_cast<std::size_t>(shape.ranks));
  for (int server = 0; server < shape.servers(); ++server)
    for (int gpu = 0; gpu < shape.gpus; ++gpu)
      out[static_cast<std::size_t>(shape.rank(server, gpu))] = shape.rank((server + turn) % shape.servers(), gpu);
  return out;
}

// Where ranks hold blocks, a block is cut among the channels; else the message is, and then each part among the ranks.
Schedule rings(const NcclShape& shape, Collective collective) {
  const int n = shape.ranks, channels = shape.channels, all = n * channels;
  const bool adds = collective != Collective::allgather, gathers = collective != Collective::reduce_scatter;
  const bool blocks = collective != Collective::allreduce;
  Schedule s{.name = fmt::format("nccl_ring_{}", name_of(collective)), .collective = collective, .ranks = n, .chunks = all};
  s.channels.clear();
  const auto chunk_of = [=](Rank r, int c) { return blocks ? r * channels + c : c * n + r; };
  const std::vector<Ring> by_channel = rings_by_channel(shape);
  std::vector<int> round_rings;
  for (int c = 0; c < channels; ++c)
    for (const Rank r : by_channel[static_cast<std::size_t>(c)].ranks) round_rings.push_back(chunk_of(r, c));
  const auto order = std::make_shared<const ChunkOrder>(std::move(round_rings));
  std::shared_ptr<const std::vector<Rank>> turned;
  if (const int turn = turn_of(shape); turn > 0) turned = std::make_shared<const std::vector<Rank>>(turned_by(shape, turn));
  for (int c = 0; c < channels; ++c) {
    std::vector<RepeatedStep> steps;
    for (const bool reduces : {true, false}) {
      if (!(reduces ? adds : gathers)) continue;
      steps.push_back(once_round(
          by_channel[static_cast<std::size_t>(c)], [&](Rank r) { return chunk_of(r, c); }, reduces));
      steps.back().order = order;
    }
    s.channels.push_back(repeated_steps(n, all, std::move(steps)));
    if (turned)
      s.channels.back().declare({.rank = [=](Rank r) { return (*turned)[static_cast<std::size_t>(r)]; },
                                 .chunk =
                                     [=](int i) {
                                       if (i >= all) return i;
                                       const int rank = blocks ? i / channels : i % n;
                                       const Rank other = (*turned)[static_cast<std::size_t>(rank)];
                                       return blocks ? other * channels + i % channels : i - rank + other;
                                     }});
  }
  return s;
}

Cost rings_cost(const NcclShape& shape, int rounds) {
  const std::int64_t once = shape.ranks - 1;
  return {.steps = static_cast<int>(rounds * once),
          .messages = rounds * shape.channels * shape.ranks * once,
          .max_chunks_sent = rounds * once * shape.channels,
          .chunks = shape.ranks * shape.channels};
}

// The GPUs of a server from that of the channel's NIC on.
std::vector<int> chain_of(const NcclShape& shape, int channel) {
  if (!shape.orders.empty()) return along_links(shape, channel, head_of(shape, channel));
  std::vector<int> gpus(static_cast<std::size_t>(shape.gpus));
  for (int i = 0; i < shape.gpus; ++i) gpus[static_cast<std::size_t>(i)] = (head_of(shape, channel) + i) % shape.gpus;
  return gpus;
}

// A server's GPUs below its head in a tree: each below the one before, or all below the head.
enum class BelowHead { chain, star };

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

Schedule nccl_ring_allreduce(const NcclShape& shape) { return rings(shape, Collective::allreduce); }
Schedule nccl_ring_reduce_scatter(const NcclShape& shape) { return rings(shape, Collective::reduce_scatter); }
Schedule nccl_ring_allgather(const NcclShape& shape) { return rings(shape, Collective::allgather); }
Cost nccl_ring_allreduce_cost(const NcclShape& shape) { return rings_cost(shape, 2); }
Cost nccl_ring_once_cost(const NcclShape& shape) { return rings_cost(shape, 1); }

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

Schedule nccl_nvls_allreduce(const NcclShape& shape) {
  Schedule s = direct_allreduce(shape.ranks);
  s.name = "nccl_nvls_allreduce";
  return s;
}
Cost nccl_nvls_allreduce_cost(const NcclShape& shape) { return direct_allreduce_cost(shape.ranks); }
double nvls_gain(int gpus) {
  constexpr double max_gpus = 8;
  return 2.0 * (gpus - 1) / gpus / (1 + 1 / std::min<double>(gpus, max_gpus));
}

std::vector<Rank> nccl_heads(const NcclShape& shape, int nic) {
  std::vector<Rank> out;
  for (int server = 0; server < shape.servers(); ++server) out.push_back(shape.rank(server, head_of(shape, nic)));
  return out;
}

namespace {

// What switches hear first begins their sum.
void add_heads(const NcclShape& shape, int nic, bool up, Step& step) {
  const Rank switches = shape.ranks + nic;
  bool first = true;
  for (const Rank head : nccl_heads(shape, nic)) {
    if (!up)
      step.copy({.from = switches, .to = head, .chunk = 0});
    else if (std::exchange(first, false))
      step.copy({.from = head, .to = switches, .chunk = 0});
    else
      step.reduce({.from = head, .to = switches, .chunk = 0});
  }
}

// Of each channel, or each head, a part of the message goes up to the switches of its NIC, and down again.
int parts_of(const NcclShape& shape, BelowHead below) { return below == BelowHead::chain ? shape.channels : shape.nics; }
int height_of(const NcclShape& shape, BelowHead below) { return below == BelowHead::chain ? shape.gpus : std::min(shape.gpus, 2); }

Schedule through_switches(const NcclShape& shape, BelowHead below) {
  std::vector<Schedule> parts;
  const int height = height_of(shape, below), count = parts_of(shape, below);
  for (int part = 0; part < count; ++part) {
    const std::vector<int> chain = chain_of(shape, part);
    const auto half = [&](bool up) {
      Schedule out{.ranks = shape.ranks + shape.nics, .servers = shape.nics};
      out.channels = {Steps(height, [=](int k, Step& step) {
        const int left = up ? height - 1 - k : k;  // steps to the switches
        if (left == 0) return add_heads(shape, part % shape.nics, up, step);
        const int last = below == BelowHead::chain ? left : shape.gpus - 1;
        for (int server = 0; server < shape.servers(); ++server)
          for (int i = left; i <= last; ++i) {
            const auto own = static_cast<std::size_t>(i);
            const Rank gpu = shape.rank(server, chain[own]), above = shape.rank(server, chain[below == BelowHead::chain ? own - 1 : 0]);
            if (up)
              step.reduce({.from = gpu, .to = above, .chunk = 0});
            else
              step.copy({.from = above, .to = gpu, .chunk = 0});
          }
      })};
      return pipelined(out, shape.pieces);
    };
    parts.push_back(within(then(half(true), half(false)), part * shape.pieces, count * shape.pieces));
  }
  return beside(parts);
}

Cost cost_through_switches(const NcclShape& shape, BelowHead below) {
  const int parts = parts_of(shape, below);
  std::vector<std::int64_t> sent(static_cast<std::size_t>(shape.gpus), parts);  // up
  for (int part = 0; part < parts; ++part) {
    const std::vector<int> chain = chain_of(shape, part);
    for (std::size_t i = 1; i < chain.size(); ++i) ++sent[static_cast<std::size_t>(chain[below == BelowHead::chain ? i - 1 : 0])];
  }
  const std::int64_t of_switches = std::int64_t{(parts + shape.nics - 1) / shape.nics} * shape.servers();
  return {.steps = 2 * (height_of(shape, below) + shape.pieces - 1),
          .messages = std::int64_t{2} * shape.ranks * parts * shape.pieces,
          .max_chunks_sent = std::max(*std::ranges::max_element(sent), of_switches) * shape.pieces,
          .chunks = parts * shape.pieces};
}

}  // namespace

Schedule nccl_collnet_chain_allreduce(const NcclShape& shape) {
  Schedule s = through_switches(shape, BelowHead::chain);
  s.name = "nccl_collnet_chain_allreduce";
  return s;
}
Cost nccl_collnet_chain_allreduce_cost(const NcclShape& shape) { return cost_through_switches(shape, BelowHead::chain); }

Schedule nccl_collnet_direct_allreduce(const NcclShape& shape) {
  Schedule s = through_switches(shape, BelowHead::star);
  s.name = "nccl_collnet_direct_allreduce";
  return s;
}
Cost nccl_collnet_direct_allreduce_cost(const NcclShape& shape) { return cost_through_switches(shape, BelowHead::star); }

namespace {

// Of a chain's hops, from place `first` of each ring on; they follow one another by pieces.
Schedule chains(const NcclShape& shape, Collective collective, Rank root) {
  std::vector<Schedule> chains;
  const int chunks = shape.channels * shape.pieces;
  const auto by_channel = rings_by_channel(shape);
  for (int c = 0; c < shape.channels; ++c) {
    const auto ring = std::make_shared<const Ring>(by_channel[static_cast<std::size_t>(c)]);
    const bool adds = collective == Collective::reduce;
    const int first = ring->place_of[static_cast<std::size_t>(root)] + (adds ? 1 : 0);  // behind the root, and once round to it
    Schedule chain{.collective = collective, .ranks = shape.ranks, .root = root};
    chain.channels = {Steps(shape.ranks - 1, [ring, first, adds](int k, Step& step) {
      const Transfer hop{.from = ring->at(first + k), .to = ring->at(first + k + 1), .chunk = 0};
      if (adds)
        step.reduce(hop);
      else
        step.copy(hop);
    })};
    chains.push_back(within(pipelined(chain, shape.pieces), c * shape.pieces, chunks));
  }
  Schedule s = beside(chains);
  s.name = fmt::format("nccl_ring_{}", name_of(collective));
  return s;
}

}  // namespace

Schedule nccl_ring_broadcast(const NcclShape& shape, Rank root) { return chains(shape, Collective::broadcast, root); }
Schedule nccl_ring_reduce(const NcclShape& shape, Rank root) { return chains(shape, Collective::reduce, root); }

Cost nccl_ring_broadcast_cost(const NcclShape& shape) {
  Cost cost{.chunks = shape.channels * shape.pieces};
  if (shape.ranks == 1) return cost;
  cost.steps = shape.ranks - 1 + shape.pieces - 1;
  cost.messages = std::int64_t{shape.ranks - 1} * cost.chunks;
  cost.max_chunks_sent = cost.chunks;  // the root's, or of a reduction everybody else's
  return cost;
}

}  // namespace weft
