// Evaluations of a tuning run: points of an open scenario, simulated by worker processes as the rows of `weft run` are.
#pragma once

#include "sim/farm/farm.hpp"
#include "sim/tune/evaluations.hpp"
#include "sim/tune/tunable_scenario.hpp"
#include "sim/tune/tuner.hpp"

#include <functional>
#include <map>
#include <span>

namespace weft {

struct Wanted {
  Point point;
  double share = 1;  // of the scenario's iterations
};

class Evaluator {
 public:
  // `on_done` is called for each evaluation, as they end. With a farm all its ranks evaluate the same points, each simulating some of
  // them, so many at once.
  Evaluator(const TunableScenario& scenario, std::function<void(const std::string&)> on_done, Farm* farm = nullptr, unsigned workers = 0)
      : scenario_(scenario), on_done_(std::move(on_done)), farm_(farm), workers_(workers) {}

  // In the order of the points. What is known is not simulated again. Once interrupted() the rest has no rows and no failure.
  std::vector<Evaluation> evaluate(std::span<const Wanted> wanted);
  void remember(const Evaluation& evaluation);
  bool interrupted() const { return interrupted_; }
  int simulated() const { return simulated_; }  // evaluations that were not known

  // To be minimised: infinite where the evaluation failed.
  double cost(const Evaluation& evaluation) const;

 private:
  using Key = std::pair<double, std::vector<std::string>>;
  struct Work;
  void simulate(std::vector<Work>& work);
  Evaluation started(const Wanted& wanted) const;

  const TunableScenario& scenario_;
  std::function<void(const std::string&)> on_done_;
  Farm* farm_;
  unsigned workers_;
  std::map<Key, Evaluation> known_;
  bool interrupted_ = false;
  int simulated_ = 0;
};

struct TuneRun {
  std::vector<Evaluation> evaluations;
  std::vector<Point> points;             // of the evaluations
  std::optional<std::size_t> best = {};  // among full evaluations that succeeded
};

struct TunePlan {
  TunerSettings settings;
  TuneBudget budget;
  std::optional<Point> first = {};  // tried before the tuner is asked, as technique "cache"
};

// Evaluates until the budget is spent, the space exhausted or the run interrupted. `on_batch` sees what there is so far.
TuneRun tune(const TunableScenario& scenario, const TunePlan& plan, Evaluator& evaluator,
             const std::function<void(const TuneRun&)>& on_batch);

// The share of a full evaluation that is one iteration: as short as an evaluation can be.
double min_share(const TunableScenario& scenario);

}  // namespace weft
