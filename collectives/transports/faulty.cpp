#include "collectives/transports/faulty.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace weft {

void FaultyTransport::wait() {
  if (faults_.reorder) shuffle();
  for (const Message& m : held_) {
    if (faults_.longest_delay.count() > 0) std::this_thread::sleep_for(faults_.longest_delay * static_cast<int>(random_() % 1024) / 1024);
    const int number = sent_++;
    if (number == faults_.lose) continue;
    const bool shortened = number == faults_.shorten && !m.bytes.empty();
    inner_.send(m.to, m.tag, m.bytes.first(m.bytes.size() - (shortened ? 1 : 0)));
  }
  held_.clear();
  inner_.wait();
}

// Any order, but messages of one receiver and tag stay in theirs: that much every transport promises.
void FaultyTransport::shuffle() {
  const auto key = [](const Message& m) { return std::pair(m.tag, m.to); };
  std::stable_sort(held_.begin(), held_.end(), [&](const Message& a, const Message& b) { return key(a) < key(b); });
  std::vector<std::pair<std::uint64_t, Message>> drawn;
  for (const Message& m : held_) {
    const bool same = !drawn.empty() && key(drawn.back().second) == key(m);
    drawn.emplace_back(same ? drawn.back().first : random_(), m);
  }
  std::stable_sort(drawn.begin(), drawn.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(drawn.begin(), drawn.end(), held_.begin(), [](const auto& d) { return d.second; });
}

}  // namespace weft
