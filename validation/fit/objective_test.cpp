#include "validation/fit/objective.hpp"

#include "validation/testing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include <doctest/doctest.h>

namespace weft {
namespace {

const std::vector<std::int64_t> sizes = {8, 64, 512, 4096};

OpenScenario star_of_nccl(const std::vector<std::string>& names) {
  const ScratchFolder folder;
  std::string text = pair_scenario;
  text.replace(text.find("\"ring\""), 6, "\"nccl\"");
  return OpenScenario(folder.file("star.json", text), {}, names);
}

// Small calls of a ring of servers with one GPU each, whose network is as slow as this profile says.
std::vector<FitPoint> measured_on(const OpenScenario& open, const HardwareProfile& truth, int servers) {
  Simulator simulator(open.scenario());
  std::vector<FitPoint> out;
  for (const std::int64_t size : sizes) {
    FitPoint point{.measured = {.system = "made", .collective = "allreduce", .algorithm = "nccl", .size_bytes = size},
                   .setup = {"allreduce", parse_algorithm("nccl(algorithm=ring,protocol=ll)"), servers, Bytes{size}}};
    point.setup.nodes = servers, point.setup.of_each_node = 1;
    point.measured.time_us = simulator.time_us(point.setup, truth);
    out.push_back(point);
  }
  return out;
}

}  // namespace

TEST_CASE("objective: an overhead of calls counts against a fit only where no call was of one server, a cost of channels more there") {
  const OpenScenario open = star_of_nccl({"call_overhead", "nccl_base"});
  const OpenScenario of_channels = star_of_nccl({"nccl_channel", "nccl_base"});
  const auto errors_with = [](const OpenScenario& of, int nodes, double value) {
    std::vector<FitPoint> points = measured_on(of, {}, 2);
    for (FitPoint& p : points) p.setup.nodes = nodes;
    std::vector<const FitPoint*> each;
    for (const FitPoint& p : points) each.push_back(&p);
    Objective objective(of, each, std::make_shared<Simulators>(of), Precision::told);
    return objective.errors({value, 1});
  };
  const std::vector<double> between = errors_with(open, 2, 6.6e6), inside = errors_with(open, 1, 6.6e6);
  REQUIRE(between.size() == inside.size() + 1);
  CHECK(between.back() == doctest::Approx(0.4 * std::log(2)));                                         // as much as the table has
  CHECK(errors_with(of_channels, 2, 3e6).back() == doctest::Approx(0.4 * std::log(4)).epsilon(1e-3));  // three times the usual 1 us
  CHECK(errors_with(of_channels, 1, 3e6).back() == doctest::Approx(0.1 * std::log(4)).epsilon(1e-3));
}

TEST_CASE("objective: what calls take of the network besides hops counts little against a fit") {
  const OpenScenario open = star_of_nccl({"nccl_network", "nccl_base"});
  const std::vector<FitPoint> points = measured_on(open, {}, 2);
  Objective objective(open, {&points.front()}, std::make_shared<Simulators>(open), Precision::told);
  CHECK(objective.errors({1e3, 1}).back() == doctest::Approx(0));
  CHECK(objective.errors({6.6e6, 1}).back() == doctest::Approx(0.1 * std::log(2)).epsilon(1e-3));  // as much as a call by the table
  CHECK(open.parameters().front().high == 8e6);                                                    // more is of its hops
}

TEST_CASE("objective: handshakes of NCCL that take longer than any that were measured count against a fit") {
  const OpenScenario open = star_of_nccl({"rendezvous", "nccl_base"});
  const std::vector<FitPoint> points = measured_on(open, {}, 2);
  Objective objective(open, {&points.front()}, std::make_shared<Simulators>(open), Precision::told);
  CHECK(objective.errors({1e3, 1}).back() == doctest::Approx(0));
  CHECK(objective.errors({72e6, 1}).back() == doctest::Approx(0.4 * std::log(10)));  // nine times the usual 8 us
}

TEST_CASE("objective: no message of NCCL waits for its receiver that no network library would let wait") {
  const OpenScenario open = star_of_nccl({"rendezvous_threshold"});
  const auto least = [&](const char* algorithm) {
    const FitPoint point{.measured = {.ranks = 2, .collective = "allreduce", .size_bytes = 1 << 20, .time_us = 100},
                         .setup = {"allreduce", {algorithm}, 2, 1_MiB}};
    return Objective(open, {&point}, std::make_shared<Simulators>(open), Precision::told).parameters().front().low;
  };
  CHECK(least("nccl") == 2048);
  CHECK(least("ring") == 16);
}

TEST_CASE("objective: what is usual of MPI's calls is not asked of NCCL's") {
  const auto usual_with = [](const std::vector<std::string>& names) {
    const OpenScenario open = star_of_nccl(names);
    const std::vector<FitPoint> points = measured_on(open, {}, 2);
    return Objective(open, {&points.front()}, std::make_shared<Simulators>(open), Precision::told).usual(0);
  };
  CHECK_FALSE(usual_with({"call_overhead", "nccl_base"}).has_value());
  CHECK(usual_with({"call_overhead", "send_overhead"}).has_value());
  CHECK(usual_with({"send_overhead", "nccl_base"}).has_value());
}

TEST_CASE("objective: a nearer cache is no larger than the one behind it") {
  const ScratchFolder folder;
  const OpenScenario open(folder.file("pair.json", pair_scenario), {}, {"reduce_cache", "last_level_cache"});
  FitPoint point{.measured = {.system = "made", .collective = "allreduce", .algorithm = "ring", .size_bytes = 1 << 30, .time_us = 1e6},
                 .setup = {"allreduce", parse_algorithm("ring"), 2, 1_GiB}};
  const Objective objective(open, {&point}, std::make_shared<Simulators>(open), Precision::told);
  CHECK(objective.physical({128 << 20, 32 << 20}) == std::vector<double>{32 << 20, 32 << 20});
  CHECK(objective.physical({1 << 20, 32 << 20}) == std::vector<double>{1 << 20, 32 << 20});
}

TEST_CASE("objective: of series that take long to simulate a few sizes are left, evenly spaced, where all points take too long") {
  const ScratchFolder folder;
  std::string text = pair_scenario;
  text.replace(text.find("\"nodes\": 2"), 10, "\"nodes\": 16");
  const OpenScenario open(folder.file("star.json", text), {}, {"send_overhead"});
  std::vector<FitPoint> made;
  for (const char* collective : {"alltoall", "broadcast"})
    for (const std::int64_t size : sizes) {
      FitPoint point{
          .measured = {.system = "made", .collective = collective, .algorithm = "", .size_bytes = 16 * size, .time_us = 10},
          .setup = {collective, parse_algorithm(collective == std::string("alltoall") ? "direct" : "binomial_tree"), 16, Bytes{16 * size}}};
      point.setup.nodes = 16, point.setup.of_each_node = 1;
      made.push_back(point);
    }
  std::vector<const FitPoint*> each;
  for (const FitPoint& p : made) each.push_back(&p);
  Objective objective(open, each, std::make_shared<Simulators>(open), Precision::about);
  const auto works = objective.work_of_points();
  const std::int64_t all = std::accumulate(works.begin(), works.end(), std::int64_t{0});
  CHECK(objective.thinned(all) == each);
  const std::vector<const FitPoint*> some = objective.thinned(all / 2);
  CHECK(std::ranges::count(some, "broadcast", [](const FitPoint* p) { return p->setup.collective; }) == 4);
  std::vector<std::int64_t> of_the_slow;
  for (const FitPoint* p : some)
    if (p->setup.collective == "alltoall") of_the_slow.push_back(p->setup.size.count);
  CHECK(of_the_slow == std::vector<std::int64_t>{16 * 8, 16 * 4096});
}

TEST_CASE("objective: no bias towards a protocol that NCCL takes at none of the measured sizes") {
  const ScratchFolder folder;
  const std::string file = folder.file("a100.json", R"({ "schema": 1, "name": "a100",
    "fabric": { "type": "star", "nodes": 2, "link": { "bandwidth": "200Gbps", "latency": "1us" } }, "server": "dgx_a100",
    "workload": { "collective": "allreduce", "algorithm": "nccl", "size": "1GiB" } })");
  const OpenScenario open(file, {}, {"ll_bias", "ll128_bias"});
  const auto highest = [&](Bytes size, int servers) {
    FitPoint point{.measured = {.system = "made", .collective = "allreduce", .algorithm = "nccl", .size_bytes = size.count, .time_us = 100},
                   .setup = {"allreduce", parse_algorithm("nccl"), servers * 8, size}};
    point.setup.nodes = servers, point.setup.of_each_node = 8;
    const Objective objective(open, {&point}, std::make_shared<Simulators>(open), Precision::told);
    return std::pair{objective.parameters()[0].high, objective.parameters()[1].high};
  };
  CHECK(highest(1_KiB, 2) == std::pair{5.0, 1.0});
  CHECK(highest(8_MiB, 2) == std::pair{1.0, std::numbers::sqrt2});
  CHECK(highest(4_GiB, 2) == std::pair{1.0, 1.0});
  CHECK(highest(8_MiB, 1) == std::pair{1.0, 1.0});  // LL128's is of calls between servers
}

}  // namespace weft
