#include "validation/fit/sized_costs.hpp"

#include "models/message_costs.hpp"
#include "validation/fit/testing.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>

#include <doctest/doctest.h>

using namespace weft;

namespace {

using ByOctave = std::function<double(double octave)>;

// Left-overs of one series at every second power of two, where calls are simulated as such logarithms.
std::vector<LeftOver> series(
    const ByOctave& log_ratio, const ByOctave& log_simulated = [](double) { return 3.0; }) {
  std::vector<LeftOver> out;
  for (int octave = 4; octave <= 30; octave += 2)
    out.push_back(
        {{"allreduce", "ring", 8, Bytes{std::int64_t{1} << octave}}, log_ratio(octave), log_simulated(octave) + log_ratio(octave)});
  return out;
}

}  // namespace

TEST_CASE("sized costs: what is left over follows from size to size, and sizes in between come out right") {
  const auto hump = [](double octave) { return 0.4 * std::exp(-std::pow((octave - 17) / 5, 2)); };
  const std::vector<CostAtSize> costs = smoothed(series(hump));
  REQUIRE(costs.size() == 3 * 14);  // at 8 ranks, 2 and 128
  for (int octave = 5; octave <= 29; octave += 2) {
    CAPTURE(octave);
    const double factor = CostsBySize(costs).factor({"allreduce", "ring", 8, Bytes{std::int64_t{1} << octave}});
    CHECK(std::abs(std::log(factor) - hump(octave)) < 0.02);
  }
}

TEST_CASE("sized costs: what is no more than measuring again makes no factors, a little more small ones") {
  std::mt19937_64 random(5);
  const auto noise = [&](double most) {
    return [&random, most](double) { return most * (static_cast<double>(random() % 2001) / 1000 - 1); };
  };
  for (int round = 0; round < 20; ++round) {
    CHECK(smoothed(series(noise(0.02))).empty());  // a standard deviation of 1.2 %
    for (const CostAtSize& cost : smoothed(series(noise(0.05)))) CHECK(std::abs(std::log(cost.factor)) < 0.04);  // of 2.9 %
  }
}

TEST_CASE("sized costs: a measurement that stands alone says nothing of others; steps, and what is simulated wrong, do") {
  const auto factor_at = [](const std::vector<LeftOver>& left_over, double octave) {
    return std::log(CostsBySize(smoothed(left_over)).factor({"allreduce", "ring", 8, Bytes{std::int64_t{1} << static_cast<int>(octave)}}));
  };
  const auto wave = [](double octave) { return 0.1 + 0.02 * std::sin(octave); };
  for (const double wild : {4, 8, 16}) {  // the first, among the least sizes, and in the middle
    CAPTURE(wild);
    const auto with_wild = [&](double octave) { return octave == wild ? 0.8 : wave(octave); };
    for (double octave = 5; octave <= 29; octave += 2)
      CHECK(std::abs(factor_at(series(with_wild), octave) - factor_at(series(wave), octave)) < 0.015);
    // Measured as always, and simulated too fast at that size.
    const auto dip = [&](double octave) { return octave == wild ? 2.3 : 3.0; };
    CHECK(factor_at(series(with_wild, dip), wild) > 0.75);
  }
  std::vector<LeftOver> repeated = series([&](double octave) { return octave == 16 ? 0.8 : wave(octave); });
  for (LeftOver& l : repeated) l.is_repeated = true;
  CHECK(factor_at(repeated, 16) > 0.5);  // several runs agree that it takes so long
  for (const double step : {16, 30}) {   // from there on everything is slower; the last of all may be the first of many
    CAPTURE(step);
    CHECK(factor_at(series([&](double octave) { return octave >= step ? 0.8 : wave(octave); }), step) > 0.75);
  }
}

TEST_CASE("sized costs: of algorithms that a library chose in one series each is known at all sizes of it") {
  // A tree up to 128 KiB, at 1 MiB a ring, then a tree again: all slower than simulated, the ring most.
  std::vector<LeftOver> chosen = series([](double octave) { return octave == 20 ? 0.6 : 0.2; });
  for (LeftOver& l : chosen) l.call.algorithm = l.call.size == 1_MiB ? "nccl_ring_simple" : "nccl_tree_simple";
  const auto factor = [&](const char* algorithm, Bytes size) {
    return std::log(CostsBySize(smoothed(chosen)).factor({"allreduce", algorithm, 8, size}));
  };
  CHECK(factor("nccl_ring_simple", 1_MiB) == doctest::Approx(0.6).epsilon(0.1));  // one size of an algorithm, but not of the series
  CHECK(factor("nccl_tree_simple", 16_KiB) == doctest::Approx(0.2).epsilon(0.15));
  CHECK(factor("nccl_ring_simple", 16_KiB) > 0.1);  // far from its own size it is as slow as the series
  CHECK(factor("nccl_ring_simple", 16_KiB) < 0.5);
  // By names of their own both are series of their own, and of one size nothing says what another has.
  for (LeftOver& l : chosen) l.series = l.call.algorithm;
  CHECK(factor("nccl_ring_simple", 1_MiB) == 0);
  CHECK(factor("nccl_tree_simple", 16_KiB) == doctest::Approx(0.2).epsilon(0.1));
}

TEST_CASE("sized costs: NCCL's protocols have factors of their own, and one that was not seen has what they have in common") {
  // LL up to 64 KiB takes twice as long as simulated, Simple from 256 KiB on as long.
  std::vector<LeftOver> chosen = series([](double octave) { return octave <= 16 ? 0.7 : 0.0; });
  for (LeftOver& l : chosen) l.call.algorithm = l.call.size <= 64_KiB ? "nccl_ring_ll" : "nccl_ring_simple";
  const auto factor = [&](const char* algorithm, Bytes size) {
    return std::log(CostsBySize(smoothed(chosen)).factor({"allreduce", algorithm, 8, size}));
  };
  CHECK(factor("nccl_ring_ll", 64_KiB) == doctest::Approx(0.7).epsilon(0.1));
  CHECK(std::abs(factor("nccl_ring_simple", 256_KiB)) < 0.1);
  // Between the two sizes each goes on as it was: by one line for both it would be 0.35.
  CHECK(factor("nccl_ring_ll", 128_KiB) > 0.5);
  CHECK(factor("nccl_ring_simple", 128_KiB) < 0.25);
  CHECK(factor("nccl_ring_ll128", 4_KiB) > 0.2);
  CHECK(factor("nccl_ring_ll128", 4_KiB) < 0.5);
  CHECK(std::abs(factor("nccl_ring_ll128", 1_GiB)) < 0.1);
  CHECK(factor("nccl_tree_ll", 4_KiB) == 0);
}

TEST_CASE("sized costs: ranks in one server and as many between servers have factors of their own") {
  std::vector<LeftOver> all;
  for (const int servers : {1, 2})
    for (LeftOver l : series([&](double) { return servers == 1 ? 0.5 : -0.3; })) {
      l.call.servers = servers;
      all.push_back(l);
    }
  const auto factor = [&](int ranks, int servers) {
    return std::log(CostsBySize(smoothed(all)).factor({"allreduce", "ring", ranks, 1_MiB, servers}));
  };
  CHECK(factor(8, 1) == doctest::Approx(0.5).epsilon(0.05));
  CHECK(factor(8, 2) == doctest::Approx(-0.3).epsilon(0.05));
  CHECK(factor(11, 2) < -0.1);  // as between servers
  CHECK(factor(6, 1) > 0.1);
}

TEST_CASE("sized costs: repeated sizes count as their mean, and one size alone is taken as it is, nearly") {
  const CostAtSize call{"allreduce", "ring", 8, 1_KiB};
  CHECK(smoothed({{call, 0.1}, {call, 0.3}}).empty());  // nothing says that another size would be alike
}

TEST_CASE("sized costs: beyond the ranks that were measured they hold where they help there, and else fade out") {
  const auto at = [](int ranks, double log_ratio) {
    std::vector<LeftOver> out = series([&](double) { return log_ratio; });
    for (LeftOver& l : out) l.call.ranks = ranks;
    return out;
  };
  const auto factor_at = [&](std::initializer_list<std::pair<int, double>> scales, int ranks) {
    std::vector<LeftOver> all;
    for (const auto& [measured, log_ratio] : scales)
      for (const LeftOver& l : at(measured, log_ratio)) all.push_back(l);
    return CostsBySize(smoothed(all)).factor({"allreduce", "ring", ranks, 1_MiB});
  };
  // The same at 4, 8 and 16 ranks: so it is at 32 and at 2.
  CHECK(std::log(factor_at({{4, 0.3}, {8, 0.3}, {16, 0.3}}, 32)) == doctest::Approx(0.3).epsilon(0.1));
  CHECK(std::log(factor_at({{4, 0.3}, {8, 0.3}, {16, 0.3}}, 2)) == doctest::Approx(0.3).epsilon(0.1));
  // At 16 alone: half of the logarithm is left at 4, a quarter at 2; what goes on 64 and more would make them faster than 16, and stays.
  CHECK(std::log(factor_at({{16, 0.3}}, 16)) == doctest::Approx(0.3).epsilon(0.1));
  CHECK(std::log(factor_at({{16, 0.3}}, 4)) == doctest::Approx(0.15).epsilon(0.1));
  CHECK(std::log(factor_at({{16, 0.3}}, 2)) == doctest::Approx(0.075).epsilon(0.1));
  CHECK(std::log(factor_at({{16, 0.3}}, 1024)) == doctest::Approx(0.3).epsilon(0.1));
  // The other way round below 1: half is left at 64, nothing at 256, and all at 2.
  CHECK(std::log(factor_at({{16, -0.3}}, 64)) == doctest::Approx(-0.15).epsilon(0.1));
  CHECK(factor_at({{16, -0.3}}, 256) == doctest::Approx(1));
  CHECK(factor_at({{16, -0.3}}, 1024) == doctest::Approx(1));
  CHECK(std::log(factor_at({{16, -0.3}}, 2)) == doctest::Approx(-0.3).epsilon(0.1));
  // Five times as slow, wherever it was measured: elsewhere no more than e times. At 16 alone, a quarter of the logarithm is left at 2.
  CHECK(std::log(factor_at({{4, 1.6}, {8, 1.6}, {16, 1.6}}, 16)) == doctest::Approx(1.6).epsilon(0.05));
  CHECK(std::log(factor_at({{4, 1.6}, {8, 1.6}, {16, 1.6}}, 32)) == doctest::Approx(1));
  CHECK(std::log(factor_at({{4, -1.6}, {8, -1.6}, {16, -1.6}}, 2)) == doctest::Approx(-1));
  CHECK(std::log(factor_at({{16, 1.6}}, 16)) == doctest::Approx(1.6).epsilon(0.05));
  CHECK(std::log(factor_at({{16, 1.6}}, 32)) == doctest::Approx(1));
  CHECK(std::log(factor_at({{16, 1.6}}, 1024)) == doctest::Approx(1));
  CHECK(std::log(factor_at({{16, 1.6}}, 8)) == doctest::Approx(1));
  CHECK(std::log(factor_at({{16, 1.6}}, 2)) == doctest::Approx(0.4).epsilon(0.1));
  // From less than simulated to much more, and from more to much less: the parameters are between the two, and 32 is like 16. Not so of a
  // fifth, nor where fewer ranks took longer still, nor up and down.
  CHECK(std::log(factor_at({{8, -0.4}, {16, 0.4}}, 32)) == doctest::Approx(0.4).epsilon(0.1));
  CHECK(std::log(factor_at({{4, 0.5}, {8, 0.2}, {16, -0.4}}, 32)) == doctest::Approx(-0.4).epsilon(0.1));
  CHECK(factor_at({{8, -0.4}, {16, 0.4}}, 4) == doctest::Approx(1));
  CHECK(factor_at({{8, -0.2}, {16, 0.2}}, 32) == doctest::Approx(1));
  CHECK(factor_at({{8, 2}, {16, 0.4}}, 32) == doctest::Approx(1));
  CHECK(factor_at({{4, 0.4}, {8, -0.4}, {16, 0.4}}, 32) == doctest::Approx(1));
  // Up and down from one number to the next: nothing is known of 32, and 16 itself keeps its own.
  CHECK(factor_at({{4, 0.3}, {8, -0.3}, {16, 0.3}}, 32) == doctest::Approx(1));
  CHECK(factor_at({{4, 0.3}, {8, -0.3}, {16, 0.3}}, 2) == doctest::Approx(1));
  CHECK(std::log(factor_at({{4, 0.3}, {8, -0.3}, {16, 0.3}}, 16)) == doctest::Approx(0.3).epsilon(0.1));
}

TEST_CASE("sized costs: what takes several times as long on one number of ranks alone does so on no other") {
  // From 1 MiB on 16 ranks take five times as long as simulated, 4 ranks a tenth longer, as all do at smaller sizes.
  std::vector<LeftOver> left_over = series([](double) { return 0.1; });
  for (LeftOver& l : left_over) l.call.ranks = 4;
  for (LeftOver& l : series([](double octave) { return octave >= 20 ? std::log(5.0) : 0.1; })) {
    l.call.ranks = 16;
    left_over.push_back(l);
  }
  const std::vector<CostAtSize> costs = smoothed(left_over);
  const auto factor = [&](int ranks, Bytes size) { return CostsBySize(costs).factor({"allreduce", "ring", ranks, size}); };
  CHECK(factor(16, 16_MiB) == doctest::Approx(5).epsilon(0.05));
  CHECK(factor(8, 16_MiB) == doctest::Approx(std::exp(0.1)).epsilon(0.05));
  CHECK(factor(8, 4_KiB) == doctest::Approx(std::exp(0.1)).epsilon(0.05));
  // Where 4 ranks take three times as long, it is no matter of 16 alone.
  for (LeftOver& l : left_over)
    if (l.call.ranks == 4 && l.call.size >= 1_MiB) l.log_ratio = std::log(3.0);
  CHECK(CostsBySize(smoothed(left_over)).factor({"allreduce", "ring", 8, 16_MiB}) == doctest::Approx(std::sqrt(15.0)).epsilon(0.1));
}

TEST_CASE("sized costs: between two sizes that take as long for each byte those between do, though a threshold was fitted there") {
  // Halves of 4 MiB are sent at once, those of 8 MiB and more wait for a handshake of 500 us in each of two steps, which the profile has
  // too much. At 100 Gb/s 4 MiB take 336 us, and were measured to take twice as long, as do all sizes.
  const OpenScenario open = open_pair({"rendezvous", "rendezvous_threshold", std::string(name_of_sized_costs)});
  const std::vector<double> values = {500e6, 3 << 20};
  const auto at = [](Bytes size) {
    return FitPoint{.measured = {.ranks = 2,
                                 .collective = "allreduce",
                                 .algorithm = "ring",
                                 .size_bytes = size.count,
                                 .time_us = 2 * static_cast<double>(size.count) / 12.5e3},
                    .setup = {"allreduce", {"ring"}, 2, size}};
  };
  const std::vector<FitPoint> fitted = {at(4_MiB), at(64_MiB)}, others = {at(8_MiB), at(16_MiB), at(32_MiB)};
  Objective objective(open, {&fitted[0], &fitted[1]}, std::make_shared<Simulators>(open), Precision::told);
  const std::vector<CostAtSize> costs = sized_costs(objective, values);
  const std::vector<double> ends = objective.simulated(values, costs);
  const std::vector<double> us = objective.on({&others[0], &others[1], &others[2]}).simulated(values, costs);
  const auto [least, most] = std::minmax({ends[0] / (4 << 20), ends[1] / (64 << 20)});  // for a byte
  CHECK(most < 1.2 * least);
  for (std::size_t i = 0; i < us.size(); ++i) {
    CAPTURE(i);
    const double a_byte = us[i] / static_cast<double>(others[i].setup.size.count);
    CHECK(a_byte > 0.9 * least);
    CHECK(a_byte < 1.1 * most);
  }
}

TEST_CASE("sized costs: what holds the sizes between two measured ones leaves those as they are") {
  // As above, but both were measured to take what the profile says, the larger with its handshakes: only those in between are held.
  const OpenScenario open = open_pair({"rendezvous", "rendezvous_threshold", std::string(name_of_sized_costs)});
  const std::vector<double> values = {500e6, 3 << 20};
  std::vector<FitPoint> points;
  for (const Bytes size : {4_MiB, 64_MiB})
    points.push_back({.measured = {.ranks = 2, .collective = "allreduce", .algorithm = "ring", .size_bytes = size.count, .time_us = 1},
                      .setup = {"allreduce", {"ring"}, 2, size}});
  Objective objective(open, {&points[0], &points[1]}, std::make_shared<Simulators>(open), Precision::told);
  const std::vector<double> us = objective.simulated(values);
  for (std::size_t i = 0; i < us.size(); ++i) points[i].measured.time_us = us[i];
  const std::vector<CostAtSize> costs = sized_costs(objective, values);
  REQUIRE(!costs.empty());
  CHECK(std::ranges::min(costs, {}, &CostAtSize::factor).factor < 0.8);
  const std::vector<double> with = objective.simulated(values, costs);
  for (std::size_t i = 0; i < us.size(); ++i) CHECK(with[i] == doctest::Approx(us[i]).epsilon(0.005));
}

TEST_CASE("sized costs: where NCCL is to change its protocol beyond the sizes that were measured, those go on as they did") {
  // Two servers take 1 ns for each byte, far longer than the profile says, of the last size in LL and of a quarter of it. NCCL runs twice
  // this size in another protocol, of which nothing is known but what the profile says: much less, even with LL's factor.
  const OpenScenario open = open_pair({"simple_hops", std::string(name_of_sized_costs)});
  const std::vector<double> values = {1};
  const auto at = [](std::int64_t size) {
    return FitPoint{.measured = {.ranks = 2,
                                 .collective = "allreduce",
                                 .algorithm = "nccl",
                                 .size_bytes = size,
                                 .time_us = 1e-3 * static_cast<double>(size)},
                    .setup = {.collective = "allreduce", .algorithm = {"nccl"}, .ranks = 2, .size = Bytes{size}, .nodes = 2}};
  };
  std::vector<FitPoint> all;
  for (std::int64_t size = 4 << 10; size <= 64 << 20; size *= 2) all.push_back(at(size));
  const Objective any(open, {&all[0]}, std::make_shared<Simulators>(open), Precision::told);
  const auto protocol_of = [&](const FitPoint& point) { return any.on({&point}).nccl_regimes(values).front()->protocol; };
  const auto other = std::ranges::find_if(all, [&](const FitPoint& p) { return protocol_of(p) != protocol_of(all.front()); });
  REQUIRE(other - all.begin() >= 3);
  REQUIRE(other != all.end());
  Objective objective(open, {&other[-3], &other[-1]}, std::make_shared<Simulators>(open), Precision::told);
  const std::vector<CostAtSize> costs = sized_costs(objective, values);
  const std::vector<double> measured = objective.simulated(values, costs);
  CHECK(measured[1] == doctest::Approx(other[-1].measured.time_us).epsilon(0.05));
  CHECK(any.on({&other[0]}).simulated(values, costs).front() == doctest::Approx(2 * measured[1]).epsilon(0.1));
}

TEST_CASE("sized costs: calls behind the launches of one process say what they take at most, those above them what they take") {
  // NCCL between two servers, measured to take more and more times as long as the profile says, but no less than the launches of the 24
  // GPUs of a process, 24 x 4.4 us. Where what was measured is just above these and what is simulated far below, a factor of the one over
  // the launches would leave the other behind them.
  const OpenScenario open = open_pair({"simple_hops", std::string(name_of_sized_costs)});
  const std::vector<double> values = {1};
  constexpr double launches = 24 * 4.4;
  HardwareProfile alone = open.hardware(values);
  alone.process_launch = {};
  Simulator simulator(open.scenario());
  std::vector<FitPoint> points;
  int hidden = 0;
  for (std::int64_t size = 1 << 10; size <= 64 << 20; size *= 2) {
    const MeasuredSetup call{
        .collective = "allreduce", .algorithm = {"nccl"}, .ranks = 2, .size = Bytes{size}, .nodes = 2, .gpus_of_a_process = 24};
    const double times = 1 + 3.0 * static_cast<double>(size) / static_cast<double>(size + (256 << 10)), us = simulator.time_us(call, alone);
    points.push_back(
        {.measured =
             {.ranks = 2, .collective = "allreduce", .algorithm = "nccl", .size_bytes = size, .time_us = std::max(launches, times * us)},
         .setup = call});
    hidden += points.back().measured.time_us > 1.05 * launches && us * points.back().measured.time_us < launches * launches ? 1 : 0;
  }
  REQUIRE(hidden > 0);
  std::vector<const FitPoint*> all;
  for (const FitPoint& p : points) all.push_back(&p);
  Objective objective(open, all, std::make_shared<Simulators>(open), Precision::told);
  const std::vector<double> us = objective.simulated(values, sized_costs(objective, values));
  for (std::size_t i = 0; i < points.size(); ++i) {
    CAPTURE(points[i].measured.size_bytes);
    CHECK(us[i] == doctest::Approx(points[i].measured.time_us).epsilon(0.04));
  }
}

TEST_CASE("sized costs: where MPI runs another algorithm from some size on, nothing holds the sizes before it") {
  // Open MPI's all-to-all among 64 ranks is Bruck's up to its threshold, where one of pairs is faster.
  const ScratchFolder folder;
  std::string text = star_scenario(64);
  text.replace(text.find("\"allreduce\", \"algorithm\": \"ring\""), 32,
               R"("alltoall", "algorithm": {"name": "mpi", "library": "open_mpi"})");
  const OpenScenario open(folder.file("star.json", text), {}, {"send_overhead", std::string(name_of_sized_costs)});
  const std::vector<double> values = {200e3};
  std::vector<FitPoint> points;
  for (const Bytes size : {4_KiB, 64_KiB})
    points.push_back({.measured = {.ranks = 64, .collective = "alltoall", .algorithm = "mpi", .size_bytes = size.count, .time_us = 1},
                      .setup = {"alltoall", open.scenario().workload.algorithms.front(), 64, size}});
  Objective objective(open, {&points[0], &points[1]}, std::make_shared<Simulators>(open), Precision::told);
  const std::vector<CostAtSize> calls = objective.calls(values);
  REQUIRE(calls[0].algorithm != calls[1].algorithm);
  const std::vector<double> us = objective.simulated(values);
  for (std::size_t i = 0; i < us.size(); ++i) points[i].measured.time_us = us[i];
  CHECK(sized_costs(objective, values).empty());
}

TEST_CASE("sized costs: where a smaller size took longer than a larger one, those between are held by neither") {
  // Broadcasts of Open MPI 4.0 among 4 ranks are binary trees of 256 KiB in small pieces and of 1 MiB in large ones.
  const ScratchFolder folder;
  std::string text = star_scenario(4);
  text.replace(text.find("\"allreduce\", \"algorithm\": \"ring\""), 32,
               R"("broadcast", "algorithm": {"name": "mpi", "library": "open_mpi_4.0"})");
  const OpenScenario open(folder.file("star.json", text), {}, {"send_overhead", std::string(name_of_sized_costs)});
  const std::vector<double> values = {200e3};
  std::vector<FitPoint> points;
  for (const auto& [size, us] : {std::pair{256_KiB, 850.0}, {1_MiB, 780.0}, {512_KiB, 386.0}})
    points.push_back({.measured = {.ranks = 4, .collective = "broadcast", .algorithm = "mpi", .size_bytes = size.count, .time_us = us},
                      .setup = {"broadcast", open.scenario().workload.algorithms.front(), 4, size}});
  Objective objective(open, {&points[0], &points[1]}, std::make_shared<Simulators>(open), Precision::told);
  const std::vector<CostAtSize> calls = objective.calls(values);
  REQUIRE(calls[0].algorithm == calls[1].algorithm);
  const std::vector<CostAtSize> costs = sized_costs(objective, values);
  const std::vector<double> ends = objective.simulated(values, costs);
  CHECK(ends[0] == doctest::Approx(850).epsilon(0.05));
  CHECK(objective.on({&points[2]}).simulated(values, costs).front() < 0.8 * ends[1]);
}

TEST_CASE("sized costs: a factor that went as far as it may is known as such") {
  const CostAtSize call{"allreduce", "ring", 8, 1_KiB};
  const auto with = [](CostAtSize cost, double factor) {
    cost.factor = factor;
    return cost;
  };
  CHECK(is_at_bound(with(call, 0.02)));
  CHECK(is_at_bound(with(call, 50)));
  CHECK_FALSE(is_at_bound(with(call, 0.05)));
  const std::string message(name_of_message_costs);
  CHECK(is_at_bound(with({message, message, 2, 1_KiB}, 0.05)));
  CHECK_FALSE(is_at_bound(with({message, message, 2, 1_KiB}, 0.06)));
  // A hundredth of what was simulated is further than they may.
  const std::vector<CostAtSize> costs = smoothed({{call, -5}, {{"allreduce", "ring", 8, 2_KiB}, -5}});
  CHECK(std::ranges::any_of(costs, is_at_bound));
}
