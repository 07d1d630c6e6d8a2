#include "sim/executor/gpu_memory.hpp"

#include <algorithm>
#include <vector>

namespace weft {

GpuMemory gpu_memory(const Schedule& schedule, Bytes message) {
  const ChunkLayout layout = layout_of(schedule, message.count);
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  const auto chunks = static_cast<std::size_t>(schedule.all_chunks());
  std::vector<bool> away(ranks * chunks);  // in the rank's second message
  std::vector<std::vector<Transfer>> sent(ranks), summed(ranks);
  std::vector<std::int64_t> touched(ranks);
  std::int64_t of_sums = 0, alone = 0;
  GpuMemory out;
  Step step;
  for (const Steps& channel : schedule.channels)
    for (int k = 0; k < channel.count(); ++k) {
      channel.produce(k, step);
      for (std::size_t r = 0; r < ranks; ++r) sent[r].clear(), summed[r].clear(), touched[r] = 0;
      for (const Transfer& t : step.transfers()) {
        if (t.from != t.to) sent[static_cast<std::size_t>(t.from)].push_back(t);
        if (t.reduces) summed[static_cast<std::size_t>(t.to)].push_back(t);
        if (!t.reduces) touched[static_cast<std::size_t>(t.to)] += 2 * layout.size(t.chunk, t.count);
      }
      for (std::size_t r = 0; r < ranks; ++r) {
        std::ranges::sort(summed[r], {}, [](const Transfer& t) { return std::pair(t.into, t.count); });
        for (std::size_t i = 0; i < summed[r].size(); ++i) {
          const Transfer& t = summed[r][i];
          const bool is_sent = std::ranges::any_of(
              sent[r], [&](const Transfer& send) { return send.chunk < t.into + t.count && t.into < send.chunk + send.count; });
          const bool same_place = i > 0 && summed[r][i - 1].into == t.into && summed[r][i - 1].count == t.count;
          const std::int64_t bytes = layout.size(t.chunk, t.count), moved = (same_place && !is_sent ? 1 : 3) * bytes;
          touched[r] += moved, of_sums += moved, alone += 3 * bytes;
          if (is_sent && t.from != t.to)
            for (int c = t.into; c < t.into + t.count; ++c) away[r * chunks + static_cast<std::size_t>(c)].flip();
        }
        out.of_step = std::max(out.of_step, Bytes{touched[r]});
      }
    }
  if (alone > 0) out.of_sums = static_cast<double>(of_sums) / static_cast<double>(alone);
  for (std::size_t r = 0; r < ranks; ++r) {
    Bytes home;
    for (std::size_t c = 0; c < chunks; ++c)
      if (away[r * chunks + c]) home += Bytes{layout.size(static_cast<int>(c), 1)};
    out.homecoming = std::max(out.homecoming, home);
  }
  return out;
}

}  // namespace weft
