#include "validation/fit/fitted_message_costs.hpp"

#include "validation/testing.hpp"

#include <cmath>

#include <doctest/doctest.h>

using namespace weft;

namespace {

OpenScenario open_star(int nodes) {
  const ScratchFolder folder;
  return OpenScenario(folder.file("star.json", star_scenario(nodes)), {}, {"cost_by_size"});
}

std::vector<FitPoint> points_of(const std::string& algorithm, int ranks) {
  std::vector<FitPoint> out;
  for (std::int64_t size = 1024; size <= 16 << 20; size *= 4)
    out.push_back({{}, {.collective = "allreduce", .algorithm = {algorithm}, .ranks = ranks, .size = Bytes{size}}});
  return out;
}

Objective objective_on(const OpenScenario& open, const std::vector<FitPoint>& points) {
  std::vector<const FitPoint*> all;
  for (const FitPoint& p : points) all.push_back(&p);
  return {open, std::move(all), std::make_shared<Simulators>(open), Precision::told};
}

// Messages of a regime in the middle cost up to three times as much.
HardwareProfile truth() {
  std::vector<CostAtSize> costs;
  for (int octave = 4; octave <= 24; ++octave)
    costs.push_back({"message", "message", 2, Bytes{std::int64_t{1} << octave}, 1 + 2 * std::exp(-std::pow((octave - 13) / 3.0, 2))});
  HardwareProfile out;
  out.cost_by_size = std::move(costs);
  return out;
}

}  // namespace

TEST_CASE("fitted message costs: what rings say of messages holds for recursive doubling, and for more ranks") {
  const OpenScenario open = open_star(16);
  Simulator simulator(open.scenario());
  std::vector<FitPoint> rings = points_of("ring", 4);
  for (FitPoint& p : rings) p.measured.time_us = simulator.time_us(p.setup, truth());
  Objective objective = objective_on(open, rings);
  HardwareProfile fitted;
  fitted.cost_by_size = message_costs(objective, {});
  REQUIRE_FALSE(fitted.cost_by_size.empty());
  const auto error = [&](const MeasuredSetup& setup, const HardwareProfile& hardware) {
    return std::abs(std::log(simulator.time_us(setup, hardware) / simulator.time_us(setup, truth())));
  };
  for (const auto& [algorithm, ranks] : {std::pair{"recursive_doubling", 4}, std::pair{"ring", 16}}) {
    double with = 0, without = 0;
    for (const FitPoint& p : points_of(algorithm, ranks)) with += error(p.setup, fitted), without += error(p.setup, {});
    const char* const of = algorithm;
    CAPTURE(of);
    CHECK(without > 2);
    CHECK(with < 0.65 * without);  // half of what is left over is first taken for the calls' own
  }
}

TEST_CASE("fitted message costs: none of what is left over by measuring again, none of NCCL") {
  const OpenScenario open = open_star(4);
  Simulator simulator(open.scenario());
  std::vector<FitPoint> points = points_of("ring", 4);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].measured.time_us = (i % 2 ? 1.01 : 0.99) * simulator.time_us(points[i].setup, {});
  Objective objective = objective_on(open, points);
  CHECK(message_costs(objective, {}).empty());
  std::vector<FitPoint> nccl = points_of("nccl", 4);
  for (FitPoint& p : nccl) p.measured.time_us = 3 * simulator.time_us(p.setup, {});
  Objective of_nccl = objective_on(open, nccl);
  CHECK(message_costs(of_nccl, {}).empty());
}
