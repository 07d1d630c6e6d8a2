#include "validation/advise/search.hpp"

#include <cmath>

#include <doctest/doctest.h>

namespace weft {
namespace {

// Candidates whose time is a latency and so much for each byte, simulated by a multiplication.
struct Lines {
  std::vector<std::pair<double, double>> of = {};  // ps, ps/B
  std::map<std::size_t, std::size_t> asked = {};
  std::size_t fails = 1000;

  std::vector<AdviseOutcome> operator()(const std::vector<AdviseTask>& tasks) {
    std::vector<AdviseOutcome> out;
    for (const AdviseTask& task : tasks)
      for (const Bytes size : task.sizes) {
        ++asked[task.candidate];
        AdviseOutcome one{.candidate = task.candidate, .size = size};
        const auto [latency, per_byte] = of[task.candidate];
        const double carried = per_byte * static_cast<double>(size.count);
        if (task.candidate == fails)
          one.failure = "it stands still";
        else
          one.time = SimTime{std::llround(latency + carried)}, one.busy = SimTime{std::llround(carried)};
        out.push_back(one);
      }
    return out;
  }
};

std::vector<Bytes> by_twos(int from, int to) {
  std::vector<Bytes> out;
  for (int power = from; power <= to; ++power) out.push_back(Bytes{std::int64_t{1} << power});
  return out;
}

constexpr auto all_of_them = [](std::size_t) { return true; };
constexpr auto none_of_them = [](std::size_t) { return false; };

TEST_CASE("advice: between two known sizes a time is expected on the line through both, beyond them what its busiest link needs") {
  AdviseCurve curve;
  curve.add(100_B, SimTime{1000}, SimTime{200});
  CHECK(curve.expected_ps(50_B) == 1000);
  CHECK(curve.expected_ps(300_B) == 1000);  // of one size nobody knows what share of its bytes is rounding
  curve.add(200_B, SimTime{1600}, SimTime{300});
  CHECK(curve.expected_ps(150_B) == 1300);
  CHECK(curve.expected_ps(300_B) == 1600 + 100 * 1.5);  // 300 / 200 ps a byte, the less of both
}

TEST_CASE("advice: crossings are where the lines cross, and who cannot be first is not simulated") {
  // 0: 1 us + 100 ps/B; 1: 10 us + 10 ps/B; 2: 20 us + 1 ps/B. 0 and 1 cross at 9 us / 90 ps = 100,000 B, 1 and 2 at 10 us / 9 ps
  // = 1,111,111 B. 3 takes ten times as long as 0 everywhere, 4 fails.
  Lines lines{.of = {{1e6, 100}, {1e7, 10}, {2e7, 1}, {1e7, 1000}, {1, 1}}, .fails = 4};
  AdviseSearch search(5, 4, none_of_them, std::ref(lines));
  const std::vector<Bytes> sizes = by_twos(3, 33);
  search.run(sizes);
  const auto ranges = advised_ranges(search.times(), all_of_them);
  REQUIRE(ranges.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(ranges[i].candidate == i);
  CHECK(std::abs(static_cast<double>(ranges[0].to.count) / 100'000 - 1) < 0.05);
  CHECK(std::abs(static_cast<double>(ranges[1].to.count) / 1'111'111 - 1) < 0.05);
  CHECK(lines.asked[3] <= 3);  // at the ends of the small sizes
  CHECK(lines.asked[0] < sizes.size());
  CHECK(lines.asked[4] == 2);
  REQUIRE(search.failures().size() == 1);
  CHECK(search.failures().at(4) == "it stands still");
}

TEST_CASE("advice: who is first only between the sizes that all are simulated at is found") {
  // 1 is first from 9 us / 999 ps = 9,009 B to 90 us / 0.9 ps = 100 MB, while 0 and 2 are first at the ends.
  Lines lines{.of = {{1e6, 1000}, {1e7, 1}, {1e8, 0.1}}};
  AdviseSearch search(3, 4, none_of_them, std::ref(lines));
  search.run({8_B, Bytes{1 << 20}, Bytes{std::int64_t{1} << 33}});
  const auto ranges = advised_ranges(search.times(), all_of_them);
  REQUIRE(ranges.size() == 3);
  CHECK(std::abs(static_cast<double>(ranges[0].to.count) / 9'009 - 1) < 0.05);
  CHECK(std::abs(static_cast<double>(ranges[1].to.count) / 1e8 - 1) < 0.05);
}

TEST_CASE("advice: who has fewer links for few bytes is not taken for slow with many") {
  // 0 takes 1 us and 100 ps/B; 1, told of separately, 10 us and 10 ps/B, on one of its eight links up to 512 B: 80 ps/B there. 2 is first
  // of its own where that is not simulated: 9 us and 30 ps/B.
  const auto time_ps = [](std::size_t candidate, double bytes) {
    if (candidate == 1) return 1e7 + (bytes <= 512 ? 80 : 10) * bytes;
    return candidate == 0 ? 1e6 + 100 * bytes : 9e6 + 30 * bytes;
  };
  AdviseSearch search(
      3, 4, [](std::size_t c) { return c > 0; },
      [&](const std::vector<AdviseTask>& tasks) {
        std::vector<AdviseOutcome> out;
        for (const AdviseTask& task : tasks)
          for (const Bytes size : task.sizes) {
            const double ps = time_ps(task.candidate, static_cast<double>(size.count));
            const double latency = time_ps(task.candidate, 0);
            out.push_back({.candidate = task.candidate,
                           .size = size,
                           .time = SimTime{std::llround(ps)},
                           .busy = SimTime{std::llround(ps - latency)}});
          }
        return out;
      });
  search.run(by_twos(3, 33));
  const auto ranges = advised_ranges(search.times(), all_of_them);
  REQUIRE(!ranges.empty());
  CHECK(ranges.back().candidate == 1);
  CHECK(std::abs(static_cast<double>(ranges[0].to.count) / 100'000 - 1) < 0.05);  // 9 us / 90 ps
}

TEST_CASE("advice: where times jump between two sizes, who was first is first up to the jump") {
  // 0 takes 2 us and 0.2 ns/B, and 20 us more from 48 KiB on; 1 takes 15 us and 0.2 ns/B; 2 is in nobody's way.
  const auto time_ps = [](std::size_t candidate, double bytes) {
    const double handshake = candidate == 0 && bytes >= 49'152 ? 2e7 : 0;
    return (candidate == 0 ? 2e6 : candidate == 1 ? 1.5e7 : 1e9) + handshake + 200 * bytes;
  };
  AdviseSearch search(3, 4, none_of_them, [&](const std::vector<AdviseTask>& tasks) {
    std::vector<AdviseOutcome> out;
    for (const AdviseTask& task : tasks)
      for (const Bytes size : task.sizes) {
        const auto bytes = static_cast<double>(size.count);
        out.push_back({.candidate = task.candidate,
                       .size = size,
                       .time = SimTime{std::llround(time_ps(task.candidate, bytes))},
                       .busy = SimTime{std::llround(200 * bytes)}});
      }
    return out;
  });
  search.run(by_twos(3, 26));
  const auto ranges = advised_ranges(search.times(), all_of_them);
  REQUIRE(ranges.size() == 2);
  CHECK(std::abs(static_cast<double>(ranges[0].to.count) / 49'152 - 1) < 0.05);
}

TEST_CASE("advice: the first of the candidates that are told of separately are found where others are far ahead") {
  // 2 and 3 cross at 9 us / 90 ps = 100,000 B, a hundred times as late as 0 and 1.
  Lines lines{.of = {{1e4, 1}, {1e4, 1.01}, {1e6, 100}, {1e7, 10}}};
  AdviseSearch search(
      4, 4, [](std::size_t c) { return c > 1; }, std::ref(lines));
  search.run(by_twos(3, 33));
  const auto ranges = advised_ranges(search.times(), [](std::size_t c) { return c > 1; });
  REQUIRE(ranges.size() == 2);
  CHECK(std::abs(static_cast<double>(ranges[0].to.count) / 100'000 - 1) < 0.05);
}

}  // namespace
}  // namespace weft
