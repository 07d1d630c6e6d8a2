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
  int most_behind() const {
    int most = 0;
    for (int nic = 0; nic + 1 < static_cast<int>(heads.size()); ++nic) most = std::max(most, behind(nic));
    return most;
  }
  bool is_head(int gpu) const { return first(rail_of(gpu)) == gpu; }
  Rank rank(int server, int gpu) const { return server * gpus + gpu; }
  int relayed(int server, int gpu, int from) const {
    return 2 * ranks + (server * most_behind() + gpu - first(rail_of(gpu))) * gpus + from;
  }

  int servers, gpus, ranks;
  std::vector<int> heads;  // of each NIC, the first GPU behind it; and the end
  std::vector<int> rail;   // by GPU
};

// What stays on the rail or in the server goes at once, and the rest to the GPU of the receiver's rail.
void gather(const Rails& at, int s, Step& step) {
  for (int i = 0; i < at.gpus; ++i)
    for (int t = 0; t < at.servers; ++t)
      for (int j = 0; j < at.gpus; ++j) {
        const Rank from = at.rank(s, i), to = at.rank(t, j);
        const int relay = at.first(at.rail_of(j));
        if (t != s && (relay == i || at.rail_of(i) != at.rail_of(j)))
          step.copy({.from = from, .to = at.rank(s, relay), .chunk = to, .into = at.relayed(t, j, i)});
        else
          step.copy({.from = from, .to = to, .chunk = to, .into = at.ranks + from});
      }
}

// In one message, where ranges may be sent, all blocks that a server's GPUs have for another's GPU; in two where other GPUs of the same NIC
// sent theirs themselves.
void forward(const Rails& at, int s, bool in_ranges, Step& step) {
  for (int t = 0; t < at.servers; ++t)
    for (int j = 0; j < at.gpus && t != s; ++j) {
      const int nic = at.rail_of(j), relay = at.first(nic), behind = relay + at.behind(nic);
      const auto blocks = [&](int first, int end) {
        for (const int count = in_ranges ? end - first : 1; first < end; first += count)
          step.copy({.from = at.rank(s, relay),
                     .to = at.rank(t, j),
                     .chunk = at.relayed(t, j, first),
                     .count = count,
                     .into = at.ranks + at.rank(s, first)});
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
  Schedule s{.name = "nccl_alltoall",
             .collective = Collective::alltoall,
             .ranks = shape.ranks,
             .chunks = shape.ranks,
             .extra_chunks = shape.ranks * (1 + at.most_behind())};
  const bool in_ranges = shape.channels == 1;
  s.channels = {Steps(2, [at, in_ranges](int k, Step& step) {
    for (int server = 0; server < at.servers; ++server) k == 0 ? gather(at, server, step) : forward(at, server, in_ranges, step);
  })};
  return channels(s, shape.channels);
}

Price nccl_alltoall_price(const NcclShape& shape) {
  Price out = direct_alltoall_price(shape.ranks);
  if (relays(shape)) {
    const Rails at(shape);
    const std::int64_t others = at.servers - 1;
    out = {.steps = 2, .messages = 0, .max_chunks_sent = 0, .chunks = shape.ranks};
    for (int i = 0; i < at.gpus; ++i) {
      const int nic = at.rail_of(i), behind = at.behind(nic);
      const bool head = at.is_head(i);
      // In the server; to relays and along the rail, but what a relay keeps for itself; and as a relay.
      const std::int64_t own = at.gpus - 1 + others * (at.gpus - (head ? behind : 0));
      const std::int64_t relayed = head ? others * behind * (at.gpus - behind + 1) : 0;
      const int ranges = behind == 1 || nic + 2 == static_cast<int>(at.heads.size()) ? 1 : 2;
      out.messages += at.servers * (own + (!head ? 0 : shape.channels > 1 ? relayed : others * behind * ranges));
      out.max_chunks_sent = std::max(out.max_chunks_sent, own + relayed);
    }
  }
  out.messages *= shape.channels, out.max_chunks_sent *= shape.channels, out.chunks *= shape.channels;
  return out;
}

}  // namespace weft
