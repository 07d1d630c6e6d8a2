#include "collectives/schedule/verify.hpp"

#include <algorithm>

namespace weft {

Traffic traffic(const Schedule& schedule, std::int64_t elements) {
  const ChunkLayout layout{.elements = elements, .chunks = schedule.chunks};
  std::vector<std::int64_t> chunks_sent(static_cast<std::size_t>(schedule.ranks));
  std::vector<std::int64_t> elements_sent(chunks_sent.size());
  Traffic total;
  total.counted.steps = schedule.steps();
  total.counted.chunks = schedule.chunks;
  Step step;
  for (const Steps& channel : schedule.channels)
    for (int k = 0; k < channel.count(); ++k) {
      channel.produce(k, step);
      for (const Transfer& t : step.transfers()) {
        if (t.from == t.to) continue;
        ++total.counted.messages;
        chunks_sent[static_cast<std::size_t>(t.from)] += t.count;
        elements_sent[static_cast<std::size_t>(t.from)] += layout.size(t.chunk, t.count);
      }
    }
  if (schedule.ranks > 0) {
    total.counted.max_chunks_sent = *std::max_element(chunks_sent.begin(), chunks_sent.end());
    total.max_elements_sent = *std::max_element(elements_sent.begin(), elements_sent.end());
  }
  return total;
}

}  // namespace weft
