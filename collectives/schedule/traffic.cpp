#include "collectives/schedule/repeated_steps.hpp"
#include "collectives/schedule/verify.hpp"

#include <algorithm>

namespace weft {
namespace {

class Counter {
 public:
  Counter(const Schedule& schedule, std::int64_t elements)
      : layout_(layout_of(schedule, elements)),
        chunks_sent_(static_cast<std::size_t>(schedule.ranks)),
        elements_sent_(chunks_sent_.size()) {
    for (const Steps& channel : schedule.channels) add(channel);
  }

  std::int64_t messages() const { return messages_; }
  std::int64_t max_chunks_sent() const { return most(chunks_sent_); }
  std::int64_t max_elements_sent() const { return most(elements_sent_); }

 private:
  static std::int64_t most(const std::vector<std::int64_t>& sent) { return sent.empty() ? 0 : *std::ranges::max_element(sent); }

  void add(const Steps& channel) {
    const auto* repeated = channel.made_by<RepeatedSteps>();
    if (repeated && layout_.elements % layout_.chunks == 0) {  // all chunks are of one size
      for (const RepeatedStep& each : repeated->all()) add(each.first, each.times);
      return;
    }
    Step step;
    for (int k = 0; k < channel.count(); ++k) {
      channel.produce(k, step);
      add(step, 1);
    }
  }
  void add(const Step& step, std::int64_t times) {
    for (const Transfer& t : step.transfers()) {
      if (t.from == t.to) continue;
      messages_ += times;
      chunks_sent_[static_cast<std::size_t>(t.from)] += times * t.count;
      elements_sent_[static_cast<std::size_t>(t.from)] += times * layout_.size(t.chunk, t.count);
    }
  }

  const ChunkLayout layout_;
  std::int64_t messages_ = 0;
  std::vector<std::int64_t> chunks_sent_, elements_sent_;  // by rank
};

}  // namespace

Traffic traffic(const Schedule& schedule, std::int64_t elements) {
  const Counter counter(schedule, elements);
  return {.counted = {.steps = schedule.steps(),
                      .messages = counter.messages(),
                      .max_chunks_sent = counter.max_chunks_sent(),
                      .chunks = schedule.chunks},
          .max_elements_sent = counter.max_elements_sent()};
}

}  // namespace weft
