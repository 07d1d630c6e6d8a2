#include "sim/cli/tune_text.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr std::int64_t max_points = 20'000;  // that an exhaustive search may have

std::vector<Wanted> all_points(const TunableScenario& scenario) {
  const Space space = scenario.space();
  if (space.size() > max_points)
    throw InputError(fmt::format("--compare: the space has {} points; at most {} are searched exhaustively", space.size(), max_points));
  std::vector<Wanted> out;
  for (std::int64_t i = 0; i < space.size(); ++i) out.push_back({space.at(i)});
  return out;
}

}  // namespace

std::string compare_methods(const TunableScenario& scenario, const TuneArguments& arguments, Evaluator& evaluator) {
  const std::vector<Wanted> points = all_points(scenario);
  double least = INFINITY, greatest = 0, objective = 0;
  for (const Evaluation& e : evaluator.evaluate(points)) {
    const double cost = evaluator.cost(e);
    if (cost < least) least = cost, objective = e.objective;
    if (std::isfinite(cost)) greatest = std::max(greatest, cost);
  }
  if (evaluator.interrupted()) throw RunError("weft tune: interrupted");
  if (!std::isfinite(least)) throw RunError(fmt::format("weft tune: all {} evaluations failed", points.size()));
  const int fifth = std::max(1, static_cast<int>(points.size()) / 5);
  std::string out = fmt::format("# weft tune {} --compare: {} points, all simulated: the best has {}, the worst is {:.2f} times as slow\n",
                                scenario.name(), points.size(), objective_text(scenario, objective), greatest / least);
  out += fmt::format("# evaluations until one is within 5 % of the best; {} seeds, at most {} evaluations, a fifth of all points\n",
                     arguments.seeds, fifth);
  out += fmt::format("# {:<12} {:>8} {:>8} {:>8} {:>12}\n", "method", "found", "median", "worst", "worst find");
  for (const std::string& method : tuning_methods()) {
    std::vector<int> needed;
    double worst = 1;  // cost of what was found, over the least
    for (std::int64_t s = 0; s < arguments.seeds; ++s) {
      const TunePlan plan{.settings = {.method = method, .seed = arguments.seed + static_cast<std::uint64_t>(s)},
                          .budget = {.evaluations = fifth, .batch = 1}};
      const TuneRun run = tune(scenario, plan, evaluator, [](const TuneRun&) {});
      const auto hit = std::ranges::find_if(run.evaluations, [&](const Evaluation& e) { return evaluator.cost(e) <= 1.05 * least; });
      needed.push_back(static_cast<int>(hit - run.evaluations.begin()) + 1);
      worst = std::max(worst, run.best ? evaluator.cost(run.evaluations[*run.best]) / least : INFINITY);
    }
    std::ranges::sort(needed);
    const auto found = std::ranges::count_if(needed, [&](int n) { return n <= fifth; });
    const auto shown = [&](int n) { return n <= fifth ? fmt::format("{}", n) : std::string("-"); };
    out += fmt::format("  {:<12} {:>8} {:>8} {:>8} {:>11.1f}%\n", method, fmt::format("{}/{}", found, arguments.seeds),
                       shown(needed[needed.size() / 2]), shown(needed.back()), 100 * (worst - 1));
  }
  return out + "# the last column: how much slower than the best of all points the worst find of a method was\n";
}

}  // namespace weft
