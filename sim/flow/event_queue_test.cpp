#include "sim/flow/event_queue.hpp"

#include "kernels/base/error.hpp"

#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {
std::vector<std::uint32_t> pop(EventQueue& queue) {
  std::vector<std::uint32_t> events;
  queue.pop_date([&](std::uint32_t event) { events.push_back(event); });
  return events;
}
}  // namespace

TEST_CASE("event queue: dates come in order, events of one date in the order they were pushed") {
  EventQueue queue;
  CHECK(queue.next_date() == EventQueue::never);
  queue.push(30, 1);
  queue.push(10, 2);
  queue.push(30, 3);
  queue.push(10, 4);
  CHECK(queue.next_date() == 10);
  CHECK(pop(queue) == std::vector<std::uint32_t>{2, 4});
  CHECK(queue.next_date() == 30);
  CHECK(pop(queue) == std::vector<std::uint32_t>{1, 3});
  CHECK(queue.next_date() == EventQueue::never);
}

TEST_CASE("event queue: nothing can happen after 106 days") {
  EventQueue queue;
  CHECK_THROWS_AS(queue.push(EventQueue::never, 1), RunError);
  CHECK(queue.next_date() == EventQueue::never);
}

TEST_CASE("event queue: what is pushed for the date at hand is handed out with it") {
  EventQueue queue;
  queue.push(5, 0);
  std::vector<std::uint32_t> events;
  const auto handle = [&](std::uint32_t event) {
    events.push_back(event);
    if (event < 3) queue.push(5, event + 1);
    if (event == 1) queue.push(6, 9);
  };
  queue.pop_date(handle);
  CHECK(events == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(pop(queue) == std::vector<std::uint32_t>{9});
}

TEST_CASE("event queue: events of a date are announced before they are handed out") {
  EventQueue queue;
  for (std::uint32_t event = 0; event < 5; ++event) queue.push(5, event);
  std::vector<std::pair<int, std::uint32_t>> seen;
  queue.pop_date([&](std::uint32_t event) { seen.emplace_back(-1, event); },
                 [&](int before, std::uint32_t event, std::int64_t date) {
                   CHECK(date == 5);
                   seen.emplace_back(before, event);
                 });
  CHECK(seen == std::vector<std::pair<int, std::uint32_t>>{
                    {0, 1}, {1, 3}, {-1, 0}, {0, 2}, {1, 4}, {-1, 1}, {0, 3}, {-1, 2}, {0, 4}, {-1, 3}, {-1, 4}});
}

TEST_CASE("event queue: events of later dates are announced, the further a date is ahead the earlier the stage") {
  EventQueue queue;
  for (const std::uint32_t event : {4U, 1U, 0U, 8U, 5U, 2U, 3U, 6U, 7U, 9U})
    queue.push(10 * (event + 1), event);  // event 0 at the next date
  std::vector<std::pair<int, std::uint32_t>> seen;
  queue.announce_later([&](int stage, std::uint32_t event, std::int64_t date) {
    CHECK(date == 10 * (event + 1));
    seen.emplace_back(stage, event);
  });
  CHECK(seen == std::vector<std::pair<int, std::uint32_t>>{{5, 8}, {4, 6}, {3, 4}, {2, 3}, {1, 2}, {0, 1}});
}

TEST_CASE("event queue: agrees with a multimap over random pushes, many more dates at once than it remembers") {
  struct Pushes {
    std::int64_t spread, grid;
    bool in_bursts = false;  // now and then many before all that are pending
  };
  std::mt19937_64 random(7);
  for (const Pushes& pushes : {Pushes{3, 1}, Pushes{1000, 1}, Pushes{1'000'000'000, 1}, Pushes{5'000'000, 1009},
                               Pushes{1'000'000'000, 1, true}, Pushes{5'000'000, 1009, true}}) {
    CAPTURE(pushes.spread);
    CAPTURE(pushes.grid);
    CAPTURE(pushes.in_bursts);
    EventQueue queue;
    std::multimap<std::int64_t, std::uint32_t> reference;
    std::int64_t now = 0;
    std::uint32_t next = 0;
    for (int round = 0; round < 3000; ++round) {
      const bool burst = pushes.in_bursts && round % 50 == 0;
      for (int i = 0; i < (burst ? 60 : 12); ++i, ++next) {
        const std::int64_t spread = burst ? 200 * pushes.grid : pushes.spread;
        const std::int64_t drawn = now + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spread));
        const std::int64_t date = (drawn + pushes.grid - 1) / pushes.grid * pushes.grid;
        queue.push(date, next);
        reference.emplace(date, next);
      }
      now = queue.next_date();
      REQUIRE(now == reference.begin()->first);
      std::vector<std::uint32_t> expected;
      for (auto [it, end] = reference.equal_range(now); it != end; it = reference.erase(it)) expected.push_back(it->second);
      REQUIRE(pop(queue) == expected);
    }
  }
}
