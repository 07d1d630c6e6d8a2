#include "sim/packet/wheel_queue.hpp"

#include "sim/flow/event_queue.hpp"

#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Events that push others, at once, soon and far ahead; in the order they are handed out.
template <class Queue>
std::vector<std::pair<std::int64_t, std::uint32_t>> history(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Queue queue;
  std::vector<std::pair<std::int64_t, std::uint32_t>> handed;
  std::uint32_t next = 0;
  const auto ahead = [&]() -> std::int64_t {
    const auto r = static_cast<std::int64_t>(random() >> 20);
    switch (random() % 8) {
      case 0:
        return 0;
      case 1:
        return r % 3;
      case 2:
        return r % 1'000;
      case 3:
        return r % 20'000'000;  // up to and beyond a turn of the wheel
      case 4:
        return r % 1'000'000'000;
      case 5:
        return 80'000;
      default:
        return r % 600'000;
    }
  };
  for (int round = 0; round < 20; ++round) {
    const std::int64_t now = handed.empty() ? 0 : handed.back().first;
    for (int i = 0; i < 10; ++i) queue.push(now + ahead(), next++);
    for (int dates = 0; dates < 300 && queue.next_date() != Queue::never; ++dates) {
      const std::int64_t date = queue.next_date();
      queue.pop_date([&](std::uint32_t payload) {
        handed.emplace_back(date, payload);
        for (auto k = random() % 3; k > 0 && next < 100'000; --k) queue.push(date + ahead(), next++);
      });
    }
  }
  while (queue.next_date() != Queue::never) {
    const std::int64_t date = queue.next_date();
    queue.pop_date([&](std::uint32_t payload) { handed.emplace_back(date, payload); });
  }
  CHECK(handed.size() == next);
  return handed;
}

}  // namespace

TEST_CASE("wheel queue: hands events out as the heap does, ties by insertion") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    CHECK(history<WheelQueue>(seed) == history<EventQueue>(seed));
  }
}

TEST_CASE("wheel queue: an event may be pushed before those that wait already") {
  WheelQueue queue;
  std::vector<std::uint32_t> order;
  const auto pop = [&] { queue.pop_date([&](std::uint32_t payload) { order.push_back(payload); }); };
  queue.push(5'000'000'000, 1);
  queue.push(7'000, 2);
  queue.push(7'001, 3);
  queue.push(6'999, 4);
  CHECK(queue.next_date() == 6'999);
  for (int i = 0; i < 4; ++i) pop();
  CHECK(order == std::vector<std::uint32_t>{4, 2, 3, 1});
  CHECK(queue.next_date() == WheelQueue::never);
  queue.push(5'000'000'001, 5);
  pop();
  CHECK(order.back() == 5);
}
