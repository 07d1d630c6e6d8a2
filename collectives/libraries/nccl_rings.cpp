// NCCL's rings, once or twice round, and as a chain from the root on or to it.
#include "collectives/libraries/nccl.hpp"
#include "collectives/libraries/nccl_channel.hpp"
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
namespace {

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

Schedule nccl_ring_allreduce(const NcclShape& shape) { return rings(shape, Collective::allreduce); }
Schedule nccl_ring_reduce_scatter(const NcclShape& shape) { return rings(shape, Collective::reduce_scatter); }
Schedule nccl_ring_allgather(const NcclShape& shape) { return rings(shape, Collective::allgather); }
Cost nccl_ring_allreduce_cost(const NcclShape& shape) { return rings_cost(shape, 2); }
Cost nccl_ring_once_cost(const NcclShape& shape) { return rings_cost(shape, 1); }

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
