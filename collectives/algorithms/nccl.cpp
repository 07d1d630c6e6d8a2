#include "collectives/algorithms/nccl.hpp"

#include "collectives/algorithms/double_binary_tree.hpp"
#include "collectives/algorithms/fold.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <functional>
#include <memory>
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

// Who stands where on a channel's ring. A relay is a second place of a rank, at which it adds nothing.
struct Ring {
  struct Place {
    Rank rank = 0;
    bool relays = false;
  };
  std::vector<Place> places;
  std::vector<int> place_of;  // by rank, where it adds

  int size() const { return static_cast<int>(places.size()); }
  const Place& at(int i) const { return places[static_cast<std::size_t>(mod(i, size()))]; }
};

int head_of(const NcclShape& shape, int channel) { return channel % shape.nics * shape.gpus / shape.nics; }

bool has_relays(const NcclShape& shape) { return shape.servers() > 1 && shape.nics > 1 && shape.nics == shape.gpus; }

Ring ring_of(const NcclShape& shape, int channel) {
  const int head = head_of(shape, channel), of_nic = std::max(1, shape.gpus / shape.nics);
  Ring ring;
  ring.place_of.resize(static_cast<std::size_t>(shape.ranks));
  for (int server = 0; server < shape.servers(); ++server) {
    const auto add = [&](int gpu, bool relays) {
      const Rank rank = server * shape.gpus + gpu % shape.gpus;
      if (!relays) ring.place_of[static_cast<std::size_t>(rank)] = ring.size();
      ring.places.push_back({rank, relays});
    };
    add(head, false);
    for (int i = of_nic; i < shape.gpus; ++i) add(head + i, false);
    for (int i = 1; i < of_nic; ++i) add(head + i, false);  // the others of the NIC: the ring leaves through it again
    if (has_relays(shape)) add(head, true);
  }
  return ring;
}

// One time round: each rank's chunk from place to place, in places - 1 steps, ending (adding) or beginning (copying) at the rank.
struct Round {
  std::shared_ptr<const Ring> ring;
  std::function<int(Rank)> chunk_of;
  int chunks = 0;  // of the message; a relay keeps what it passes on in the chunk behind them

  void add_step(int k, bool reduces, Step& step) const {
    const int last = ring->size() - 2;
    for (const int own : ring->place_of) {
      const int from = reduces ? own + 1 + k : own + k;
      const Ring::Place &a = ring->at(from), &b = ring->at(from + 1);
      if ((reduces && k == 0 && a.relays) || (!reduces && k == last && b.relays)) continue;  // nothing to pass on; nobody behind
      const int chunk = chunk_of(ring->at(own).rank);
      Transfer t{.from = a.rank, .to = b.rank, .chunk = a.relays ? chunk + chunks : chunk, .into = b.relays ? chunk + chunks : chunk};
      if (reduces && !b.relays)
        step.reduce(t);
      else
        step.copy(t);
    }
  }
};

// Where ranks hold blocks, a block is cut among the channels; else the message is, and then each part among the ranks.
Schedule rings(const NcclShape& shape, Collective collective) {
  const int n = shape.ranks, channels = shape.channels;
  const bool adds = collective != Collective::allgather, gathers = collective != Collective::reduce_scatter;
  Schedule s{.name = fmt::format("nccl_ring_{}", name_of(collective)), .collective = collective, .ranks = n, .chunks = n * channels};
  if (has_relays(shape)) s.extra_chunks = s.chunks;
  s.channels.clear();
  for (int c = 0; c < channels; ++c) {
    const bool blocks = collective != Collective::allreduce;
    const auto chunk_of = [=](Rank r) { return blocks ? r * channels + c : c * n + r; };
    const Round round{std::make_shared<const Ring>(ring_of(shape, c)), chunk_of, s.chunks};
    const int once = n == 1 ? 0 : round.ring->size() - 1;
    s.channels.emplace_back(once * ((adds ? 1 : 0) + (gathers ? 1 : 0)), [=](int k, Step& step) {
      const bool reduces = adds && k < once;
      round.add_step(adds && !reduces ? k - once : k, reduces, step);
    });
    if (has_relays(shape)) continue;  // what passes through a relay's extra space has no symmetry that a proof could use
    const int all = s.chunks, turn = shape.gpus;
    s.channels.back().declare({.rank = [=](Rank r) { return mod(r + turn, n); },
                               .chunk =
                                   [=](int i) {
                                     if (i >= all) return i;
                                     return blocks ? mod(i + turn * channels, all) : i / n * n + mod(i + turn, n);
                                   }});
  }
  return s;
}

// The busiest rank's channels, among which those whose head it is.
int most_heads(const NcclShape& shape) { return has_relays(shape) ? (shape.channels + shape.nics - 1) / shape.nics : 0; }

Price rings_price(const NcclShape& shape, int rounds) {
  if (shape.ranks == 1) return {.chunks = shape.channels};
  const int relays = has_relays(shape) ? shape.servers() : 0;
  const std::int64_t n = shape.ranks, once = n + relays - 1;
  return {.steps = static_cast<int>(rounds * once),
          .messages = rounds * shape.channels * (n * once - relays),
          .max_chunks_sent = rounds * (n - 1) * (shape.channels + most_heads(shape)),
          .chunks = shape.ranks * shape.channels};
}

// The first tree, or the second, complementary one, of the servers' heads in a channel.
std::vector<Rank> parents_of(const NcclShape& shape, int channel, bool second) {
  const int servers = shape.servers(), head = head_of(shape, channel);
  const std::vector<Rank> tree = in_order_tree(servers);
  const auto place = [&](int server) {  // in the tree
    if (!second) return server;
    return servers % 2 == 0 ? servers - 1 - server : mod(server - 1, servers);
  };
  const auto server_at = [&](int at) {
    if (!second) return at;
    return servers % 2 == 0 ? servers - 1 - at : mod(at + 1, servers);
  };
  std::vector<Rank> parents(static_cast<std::size_t>(shape.ranks), -1);
  for (int server = 0; server < servers; ++server)
    for (int i = 0; i < shape.gpus; ++i) {
      const auto rank_of = [&](int at, int gpu) { return at * shape.gpus + (head + gpu) % shape.gpus; };
      Rank& parent = parents[static_cast<std::size_t>(rank_of(server, i))];
      if (i > 0)
        parent = rank_of(server, i - 1);
      else if (const Rank up = tree[static_cast<std::size_t>(place(server))]; up >= 0)
        parent = rank_of(server_at(up), 0);
    }
  return parents;
}

struct ChainHop {
  Rank from, to;
};

// A channel's ring as a chain from the root on; a relay that is the last to be reached is not needed.
std::vector<ChainHop> chain_of(const NcclShape& shape, Rank root, int channel) {
  const Ring ring = ring_of(shape, channel);
  std::vector<ChainHop> hops;
  const int first = ring.place_of[static_cast<std::size_t>(root)];
  int last = ring.size() - 1;
  if (ring.at(first + last).relays) --last;
  for (int i = 0; i < last; ++i) hops.push_back({ring.at(first + i).rank, ring.at(first + i + 1).rank});
  return hops;
}

}  // namespace

Schedule nccl_ring_allreduce(const NcclShape& shape) { return rings(shape, Collective::allreduce); }
Schedule nccl_ring_reduce_scatter(const NcclShape& shape) { return rings(shape, Collective::reduce_scatter); }
Schedule nccl_ring_allgather(const NcclShape& shape) { return rings(shape, Collective::allgather); }
Price nccl_ring_allreduce_price(const NcclShape& shape) { return rings_price(shape, 2); }
Price nccl_ring_once_price(const NcclShape& shape) { return rings_price(shape, 1); }

Schedule nccl_tree_allreduce(const NcclShape& shape) {
  std::vector<Schedule> trees;
  const int parts = 2 * shape.channels, chunks = parts * shape.pieces;
  for (int part = 0; part < parts; ++part) {
    const Schedule tree = tree_allreduce(parents_of(shape, part / 2, part % 2 == 1));
    trees.push_back(within(pipelined(tree, shape.pieces), part * shape.pieces, chunks));
  }
  Schedule s = beside(trees);
  s.name = "nccl_tree_allreduce";
  return s;
}

Price nccl_tree_allreduce_price(const NcclShape& shape) {
  const int parts = 2 * shape.channels;
  Price price{.chunks = parts * shape.pieces};
  if (shape.ranks == 1) return price;
  std::vector<std::int64_t> sent(static_cast<std::size_t>(shape.ranks));
  for (int part = 0; part < parts; ++part) {
    const std::vector<Rank> parents = parents_of(shape, part / 2, part % 2 == 1);
    for (std::size_t r = 0; r < parents.size(); ++r)
      if (parents[r] >= 0) ++sent[r], ++sent[static_cast<std::size_t>(parents[r])];
  }
  price.steps = 2 * (ceil_log2(shape.servers()) + shape.gpus - 1) + shape.pieces - 1;
  price.messages = std::int64_t{2} * (shape.ranks - 1) * parts * shape.pieces;
  price.max_chunks_sent = *std::ranges::max_element(sent) * shape.pieces;
  return price;
}

Schedule nccl_ring_broadcast(const NcclShape& shape, Rank root) {
  std::vector<Schedule> chains;
  const int chunks = shape.channels * shape.pieces;
  for (int c = 0; c < shape.channels; ++c) {
    auto hops = std::make_shared<const std::vector<ChainHop>>(chain_of(shape, root, c));
    Schedule chain{.collective = Collective::broadcast, .ranks = shape.ranks, .root = root};
    chain.channels = {Steps(static_cast<int>(hops->size()), [hops](int k, Step& step) {
      const auto [from, to] = (*hops)[static_cast<std::size_t>(k)];
      step.copy({.from = from, .to = to, .chunk = 0});
    })};
    chains.push_back(within(pipelined(chain, shape.pieces), c * shape.pieces, chunks));
  }
  Schedule s = beside(chains);
  s.name = "nccl_ring_broadcast";
  return s;
}

Price nccl_ring_broadcast_price(const NcclShape& shape, Rank root) {
  Price price{.chunks = shape.channels * shape.pieces};
  std::vector<std::int64_t> sent(static_cast<std::size_t>(shape.ranks));
  for (int c = 0; c < shape.channels; ++c) {
    const auto hops = chain_of(shape, root, c);
    for (const ChainHop& hop : hops) ++sent[static_cast<std::size_t>(hop.from)];
    if (!hops.empty()) price.steps = std::max(price.steps, static_cast<int>(hops.size()) + shape.pieces - 1);
    price.messages += static_cast<std::int64_t>(hops.size()) * shape.pieces;
  }
  price.max_chunks_sent = *std::ranges::max_element(sent) * shape.pieces;
  return price;
}

}  // namespace weft
