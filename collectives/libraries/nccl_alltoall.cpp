#include "collectives/algorithms/direct.hpp"
#include "collectives/libraries/nccl.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <vector>

namespace weft {
namespace {

// Which GPUs of a server stand behind which of its NICs, and what a relay keeps where: behind the result, of every GPU that it stands for
// in every server, a block of each GPU of its own server.
struct Rails {
  explicit Rails(const NcclShape& shape) : servers(shape.servers()), gpus(shape.gpus), ranks(shape.ranks) {
    for (int nic = 0; nic < shape.nics; ++nic) heads.push_back(nic * gpus / shape.nics);
    heads.push_back(gpus);
    for (int gpu = 0, nic = 0; gpu < gpus; ++gpu) {
      while (heads[static_cast<std::size_t>(nic) + 1] <= gpu) ++nic;
      rail.push_back(nic);
    }
  }

  int rail_of(int gpu) const { return rail[static_cast<std::size_t>(gpu)]; }
  int first(int nic) const { return heads[static_cast<std::size_t>(nic)]; }
  int behind(int nic) const { return heads[static_cast<std::size_t>(nic) + 1] - first(nic); }
  int max_behind() const {
    int most = 0;
    for (int nic = 0; nic + 1 < static_cast<int>(heads.size()); ++nic) most = std::max(most, behind(nic));
    return most;
  }
  bool is_head(int gpu) const { return first(rail_of(gpu)) == gpu; }
  Rank rank(int server, int gpu) const { return server * gpus + gpu; }
  int relayed(int server, int gpu, int from) const { return 2 * ranks + (server * max_behind() + gpu - first(rail_of(gpu))) * gpus + from; }

  int servers, gpus, ranks;
  std::vector<int> heads;  // of each NIC, the first GPU behind it; and the end
  std::vector<int> rail;   // by GPU
};

// What goes between servers goes in turns, so that relays send one while they get the next: by distance between the servers, and where
// these are fewer than turns, each block in cuts, too. An item is a cut of the blocks for a distance.
struct Turns {
  Turns(const Rails& at, int pieces)
      : distances(at.servers - 1), cuts((pieces + distances - 1) / distances), count(cuts == 1 ? pieces : items()) {}

  int items() const { return distances * cuts; }
  int first_item(int turn) const { return rounded_up(turn * items()); }
  int first_inside(int turn, const Rails& at) const { return rounded_up(turn * at.gpus); }
  int rounded_up(int n) const { return (n + count - 1) / count; }

  int distances, cuts, count;
};

// What stays on the rail or in the server goes at once, whole where ranges may be sent, and the rest to the GPU of the receiver's rail.
void gather(const Rails& at, const Turns& turns, int s, int turn, bool in_ranges, Step& step) {
  const int cuts = turns.cuts;
  const auto send_whole = [&](Rank from, Rank to) {
    for (int cut = 0, count = in_ranges ? cuts : 1; cut < cuts; cut += count)
      step.copy({.from = from, .to = to, .chunk = to * cuts + cut, .count = count, .into = (at.ranks + from) * cuts + cut});
  };
  for (int i = 0; i < at.gpus; ++i) {
    for (int d = turns.first_inside(turn, at); d < turns.first_inside(turn + 1, at); ++d)
      send_whole(at.rank(s, i), at.rank(s, mod(i + d, at.gpus)));
    for (int item = turns.first_item(turn); item < turns.first_item(turn + 1); ++item)
      for (int j = 0; j < at.gpus; ++j) {
        const int t = mod(s + 1 + item / cuts, at.servers), cut = item % cuts, relay = at.first(at.rail_of(j));
        const Rank to = at.rank(t, j);
        if (relay == i || at.rail_of(i) != at.rail_of(j))
          step.copy({.from = at.rank(s, i), .to = at.rank(s, relay), .chunk = to * cuts + cut, .into = at.relayed(t, j, i) * cuts + cut});
        else if (cut == 0)
          send_whole(at.rank(s, i), to);
      }
  }
}

// In one message, where ranges may be sent and blocks are not cut, all blocks that a server's GPUs have for another's GPU; in two where
// other GPUs of the same NIC sent theirs themselves.
void forward(const Rails& at, const Turns& turns, int s, int turn, bool in_ranges, Step& step) {
  const int cuts = turns.cuts;
  for (int item = turns.first_item(turn); item < turns.first_item(turn + 1); ++item)
    for (int j = 0; j < at.gpus; ++j) {
      const int t = mod(s + 1 + item / cuts, at.servers), cut = item % cuts;
      const int nic = at.rail_of(j), relay = at.first(nic), behind = relay + at.behind(nic);
      const auto blocks = [&](int first, int end) {
        for (const int count = in_ranges && cuts == 1 ? end - first : 1; first < end; first += count)
          step.copy({.from = at.rank(s, relay),
                     .to = at.rank(t, j),
                     .chunk = at.relayed(t, j, first) * cuts + cut,
                     .count = count,
                     .into = (at.ranks + at.rank(s, first)) * cuts + cut});
      };
      blocks(0, at.behind(nic) == 1 ? at.gpus : relay + 1);
      if (at.behind(nic) > 1) blocks(behind, at.gpus);
    }
}

bool relays(const NcclShape& shape) { return shape.pxn && shape.machines.empty() && shape.servers() > 1 && shape.nics > 1; }

}  // namespace

Schedule nccl_alltoall(const NcclShape& shape) {
  if (!relays(shape)) return channels(direct_alltoall(shape.ranks), shape.channels);
  const Rails at(shape);
  const Turns turns(at, shape.pieces);
  Schedule s{.name = "nccl_alltoall",
             .collective = Collective::alltoall,
             .ranks = shape.ranks,
             .chunks = shape.ranks * turns.cuts,
             .extra_chunks = shape.ranks * (1 + at.max_behind()) * turns.cuts};
  const bool in_ranges = shape.channels == 1;
  s.channels = {Steps(turns.count + 1, [at, turns, in_ranges](int k, Step& step) {
    for (int server = 0; server < at.servers; ++server) {
      if (k < turns.count) gather(at, turns, server, k, in_ranges, step);
      if (k > 0) forward(at, turns, server, k - 1, in_ranges, step);
    }
  })};
  return channels(s, shape.channels);
}

int nccl_alltoall_pieces(Bytes block) {
  constexpr std::int64_t chunk = 128 * 1024, steps = 8;
  return static_cast<int>(std::clamp<std::int64_t>((block.count + chunk - 1) / chunk, 1, steps));
}

Cost nccl_alltoall_cost(const NcclShape& shape) {
  Cost out = direct_alltoall_cost(shape.ranks);
  if (relays(shape)) {
    const Rails at(shape);
    const Turns turns(at, shape.pieces);
    const bool in_ranges = shape.channels == 1;
    const std::int64_t others = at.servers - 1, cuts = turns.cuts;
    out = {.steps = turns.count + 1, .messages = 0, .max_chunks_sent = 0, .chunks = shape.ranks * turns.cuts};
    for (int i = 0; i < at.gpus; ++i) {
      const int nic = at.rail_of(i), behind = at.behind(nic);
      const bool head = at.is_head(i);
      // In the server and along the rail; to relays, but what a relay keeps for itself; and as a relay.
      const std::int64_t whole = at.gpus - 1 + (head ? 0 : others * behind), gathered = others * (at.gpus - behind);
      const std::int64_t relayed = head ? others * behind * (at.gpus - behind + 1) : 0;
      const int ranges = behind == 1 || nic + 2 == static_cast<int>(at.heads.size()) ? 1 : 2;
      out.messages += at.servers * (whole * (in_ranges ? 1 : cuts) + gathered * cuts);
      if (head) out.messages += at.servers * (in_ranges && cuts == 1 ? others * behind * ranges : relayed * cuts);
      out.max_chunks_sent = std::max(out.max_chunks_sent, (whole + gathered + relayed) * cuts);
    }
  }
  out.messages *= shape.channels, out.max_chunks_sent *= shape.channels, out.chunks *= shape.channels;
  return out;
}

}  // namespace weft
