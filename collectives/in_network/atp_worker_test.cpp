#include "collectives/in_network/atp_worker.hpp"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

namespace weft {
namespace {

// Keeps what is sent and the clock; timers fire when asked to.
class Bench final : public Wire {
 public:
  explicit Bench(AtpWorker& worker) : worker_(worker) { worker_.start(*this); }

  // The sequences sent since the last call.
  std::vector<std::uint32_t> sent() { return std::exchange(sent_, {}); }
  void acknowledge(std::uint32_t sequence, bool marked = false) {
    Datagram d;
    d.header.set(AtpHeader{.sequence = sequence, .kind = AtpKind::parameter, .marked = marked});
    worker_.on_datagram(*this, std::move(d));
  }
  void wait(std::int64_t ps) {
    now_ += ps;
    for (const Timer& t : std::exchange(timers_, {}))
      if (t.due <= now_)
        worker_.on_timer(*this, t.name);
      else
        timers_.push_back(t);
  }

 private:
  struct Timer {
    std::int64_t due;
    std::uint64_t name;
  };
  std::int64_t now_ps() const override { return now_; }
  void send(Datagram datagram) override { sent_.push_back(datagram.header.as<AtpHeader>().sequence); }
  void set_timer(std::int64_t after_ps, std::uint64_t name) override { timers_.push_back({now_ + after_ps, name}); }
  Payload new_payload() override { return {}; }

  AtpWorker& worker_;
  std::int64_t now_ = 0;
  std::vector<std::uint32_t> sent_;
  std::vector<Timer> timers_;
};

using Sequences = std::vector<std::uint32_t>;
constexpr std::int64_t us = 1'000'000;
const AtpSettings settings{.packet = 1500_B, .initial_window = 10, .largest_window = 64, .mtu = 1500_B, .timeout = 200_us};
const AtpWorker::Part part{.self = 0, .server = 1, .member = {.fan_in_1 = 1}, .packets = 1000};

}  // namespace

TEST_CASE("atp worker: the window begins as it is told and grows by one packet for each that comes back") {
  AtpWorker worker(settings, part);
  Bench bench(worker);
  CHECK(bench.sent() == Sequences{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  bench.wait(10 * us);
  bench.acknowledge(0);
  CHECK(bench.sent() == Sequences{10, 11});
  for (std::uint32_t s = 1; s < 100; ++s) bench.acknowledge(s);
  CHECK(worker.statistics().largest_window == 64);
}

TEST_CASE("atp worker: several losses of one window are retransmitted in the round trip that shows them, and halve it once") {
  AtpWorker worker(settings, part);
  Bench bench(worker);
  bench.sent();
  bench.wait(10 * us);
  for (const std::uint32_t s : {1u, 3u}) bench.acknowledge(s);
  // 0 is lost when what was sent three later has come back, 2 likewise with 5, 4 with 7.
  CHECK(std::ranges::count(bench.sent(), 0u) == 1);
  bench.acknowledge(5);
  CHECK(std::ranges::count(bench.sent(), 2u) == 1);
  bench.acknowledge(7);
  CHECK(std::ranges::count(bench.sent(), 4u) == 1);
  CHECK(worker.statistics().resent == 3);
  CHECK(worker.statistics().timeouts == 0);
  CHECK(worker.statistics().smallest_window >= settings.initial_window);  // a loss alone goes no further
}

TEST_CASE("atp worker: marks of one round trip halve the window once, to no less than four packets") {
  AtpWorker worker(settings, part);
  Bench bench(worker);
  bench.wait(10 * us);
  bench.acknowledge(0, true);
  CHECK(worker.statistics().smallest_window == 5);
  for (std::uint32_t s = 1; s < 10; ++s) bench.acknowledge(s, true);
  CHECK(worker.statistics().smallest_window == 5);
  for (std::uint32_t s = 10; s < 60; ++s) bench.acknowledge(s, true);
  CHECK(worker.statistics().smallest_window == 4);
}

TEST_CASE("atp worker: what nothing comes after is retransmitted by the clock, each time after twice as long") {
  AtpWorker worker(settings, part);
  Bench bench(worker);
  bench.sent();
  Sequences again;
  std::vector<int> at_us;
  for (int t = 1; t <= 1500; ++t) {
    bench.wait(us);
    if (const Sequences now = bench.sent(); !now.empty()) at_us.push_back(t), again.insert(again.end(), now.begin(), now.end());
  }
  CHECK(again.front() == 0);
  CHECK(worker.statistics().timeouts == 3);
  CHECK(at_us == std::vector<int>{200, 600, 1400});
}

TEST_CASE("atp worker: a round begins with what it lacks only, and a copy of the last is nothing new") {
  AtpWorker worker(settings, {.self = 0, .server = 1, .member = {.fan_in_1 = 1}, .packets = 4});
  Bench bench(worker);
  CHECK(bench.sent() == Sequences{0, 1, 2, 3});
  for (std::uint32_t s = 0; s < 4; ++s) bench.acknowledge(s);
  CHECK(worker.finished());
  worker.start(static_cast<Wire&>(bench));
  CHECK_FALSE(worker.finished());
  CHECK(bench.sent() == Sequences{4, 5, 6, 7});
  bench.acknowledge(2);
  CHECK(worker.statistics().duplicates == 1);
  for (std::uint32_t s = 4; s < 8; ++s) bench.acknowledge(s);
  CHECK(worker.finished());
}

}  // namespace weft
