#include "collectives/in_network/switchml.hpp"

#include "collectives/in_network/testing.hpp"

#include <deque>

#include <doctest/doctest.h>

namespace weft {
namespace {

const SwitchmlSettings few_slots{.slots = 16, .payload = 8_B, .packet = 180_B, .timeout = 100_us};

class SwitchmlWorld {
 public:
  SwitchmlWorld(const std::vector<int>& workers, const std::vector<int>& slots, std::uint32_t packets, InjectedFaults faults,
                std::uint64_t seed)
      : pool_(few_slots.values_per_packet()), network_(seed, faults, &pool_) {
    std::vector<SwitchmlPool> pools;
    Address next = 0;
    for (std::size_t j = 0; j < workers.size(); ++j) {
      const auto group = static_cast<Address>(1000 + j);
      std::vector<Address> members;
      for (int w = 0; w < workers[j]; ++w, ++next) {
        values_.emplace_back(seed * 50 + values_.size(), packets, 2);
        workers_.emplace_back(few_slots, SwitchmlWorker::Part{next, 2000, static_cast<int>(j), w, slots[j], packets}, &values_.back());
        network_.place(next, w % 3, workers_.back());
        members.push_back(next);
      }
      network_.group(group, members);
      pools.push_back({workers[j], slots[j], group});
    }
    workers_of_ = workers;
    switch_.emplace_back(few_slots, 2000, pools);
    network_.program(2000, 0, switch_.back());
  }
  TestNetwork& network() { return network_; }
  const std::deque<SwitchmlWorker>& workers() const { return workers_; }
  const SwitchmlSwitch& at() const { return switch_.front(); }

  void check_sums() const {
    std::size_t first = 0;
    for (const int n : workers_of_) {
      std::vector<std::int32_t> sum(values_[first].own().size(), 0);
      for (std::size_t w = first; w < first + static_cast<std::size_t>(n); ++w)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values_[w].own()[i];
      for (std::size_t w = first; w < first + static_cast<std::size_t>(n); ++w) {
        CHECK(workers_[w].finished());
        CHECK(values_[w].sums() == sum);
      }
      first += static_cast<std::size_t>(n);
    }
  }

 private:
  PayloadPool pool_;
  std::deque<TestValues> values_;
  std::deque<SwitchmlWorker> workers_;
  std::deque<SwitchmlSwitch> switch_;
  std::vector<int> workers_of_;
  TestNetwork network_;
};

}  // namespace

TEST_CASE("switchml: whatever is lost, doubled, reordered or rounds late, every worker has the exact sum") {
  std::int64_t resent = 0, answered = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](int n) { return 1 + static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
    const auto p = [&](double most) { return random() % 2 ? most * static_cast<double>(random() % 1000) / 1000 : 0; };
    const InjectedFaults faults{.loss = p(0.1),
                                .doubling = p(0.1),
                                .late = p(0.02),
                                .max_delay_ps = random() % 2 ? 1'000'000 : 90'000'000,
                                .lateness_ps = 500'000'000};
    SwitchmlWorld world({below(5), below(5)}, {below(8), below(8)}, static_cast<std::uint32_t>(below(50)), faults, seed);
    world.network().run(5'000'000);
    REQUIRE_FALSE(world.network().pending());
    world.check_sums();
    for (const SwitchmlWorker& w : world.workers()) resent += w.statistics().resent;
    answered += world.at().statistics().answered;
  }
  CHECK(resent > 10'000);
  CHECK(answered > 1'000);
}

TEST_CASE("switchml: a packet that times out again and again is retransmitted ever more seldom, up to 64 times the timeout apart") {
  class Timers final : public Wire {
   public:
    std::int64_t now = 0;
    std::vector<std::int64_t> after;

   private:
    std::int64_t now_ps() const override { return now; }
    void send(Datagram) override {}
    void set_timer(std::int64_t after_ps, std::uint64_t) override { after.push_back(after_ps); }
    Payload new_payload() override { return {}; }
  } wire;
  SwitchmlWorker worker(few_slots, {.self = 0, .at = 9, .job = 0, .worker = 0, .slots = 1, .packets = 1});
  worker.start(wire);
  for (int i = 0; i < 11; ++i) {
    wire.now += wire.after.back();
    worker.on_timer(wire, 0);
  }
  CHECK(worker.statistics().resent == 11);
  const std::int64_t t = few_slots.resend_after().ps;
  CHECK(wire.after == std::vector<std::int64_t>{t, t, t, t, 2 * t, 4 * t, 8 * t, 16 * t, 32 * t, 64 * t, 64 * t, 64 * t});
}

TEST_CASE("switchml: a job without a share of the pool waits") {
  SwitchmlWorld world({2, 2}, {4, 0}, 10, {.max_delay_ps = 1}, 1);
  world.network().run();
  CHECK(world.workers()[0].finished());
  CHECK_FALSE(world.workers()[2].finished());
  CHECK(world.workers()[2].waiting() == "a share of the switch's slots for job 1");
}

TEST_CASE("switchml: settings that cannot be are refused, all at once") {
  CHECK(problems(SwitchmlSettings{}).empty());
  CHECK(problems(SwitchmlSettings{.slots = -1, .payload = 0_B, .packet = 0_B, .timeout = 0_ps}).size() == 4);
}

}  // namespace weft
