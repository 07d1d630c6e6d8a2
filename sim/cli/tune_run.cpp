#include "sim/cli/tune_run.hpp"

#include "sim/cli/commands.hpp"
#include "sim/cli/runner.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

std::vector<std::string> cells_of(const std::vector<Json>& values) {
  std::vector<std::string> out;
  for (const Json& value : values) out.push_back(cell_of(value));
  return out;
}

// samples/s, or microseconds; of several rows the geometric mean.
double objective_of(const std::vector<Row>& rows) {
  double sum = 0;
  const auto of_row = [](const Row& row) { return row.training ? row.training->samples_per_s : static_cast<double>(row.time.ps) / 1e6; };
  for (const Row& row : rows) sum += std::log(of_row(row));
  return rows.size() == 1 ? of_row(rows.front()) : std::exp(sum / static_cast<double>(rows.size()));
}

}  // namespace

struct Evaluator::Work {
  std::size_t at;  // in what is wanted
  Evaluation evaluation;
};

Evaluation Evaluator::started(const Wanted& wanted) const {
  return {.values = cells_of(scenario_.values(wanted.point)), .share = wanted.share};
}

void Evaluator::remember(const Evaluation& evaluation) { known_[{evaluation.share, evaluation.values}] = evaluation; }

double Evaluator::cost(const Evaluation& e) const {
  if (!e.failure.empty() || !std::isfinite(e.objective)) return INFINITY;
  return scenario_.trains() ? 1 / e.objective : e.objective;
}

std::vector<Evaluation> Evaluator::evaluate(std::span<const Wanted> wanted) {
  std::vector<Evaluation> out;
  std::vector<Case> cases;
  std::vector<std::size_t> of_case;  // what is wanted of each case
  for (const Wanted& one : wanted) {
    out.push_back(started(one));
    const std::size_t i = out.size() - 1;
    if (known_.contains({one.share, out[i].values})) continue;
    if (std::ranges::any_of(of_case,
                            [&](std::size_t other) { return out[other].values == out[i].values && out[other].share == one.share; }))
      continue;
    try {
      Case here = scenario_.at(one.point);
      int& iterations = here.scenario.workload.iterations;
      iterations = std::max(1, static_cast<int>(std::lround(iterations * one.share)));
      cases.push_back(std::move(here));
      of_case.push_back(i);
    } catch (const InputError& error) {  // options that do not go together
      out[i].failure = error.problems().front();
      remember(out[i]);
      on_done_(out[i].failure);
    }
  }
  const std::vector<RowRequest> requests = rows_of(cases);
  std::vector<std::size_t> left(cases.size());
  for (const RowRequest& request : requests) ++left[request.case_index];
  const auto on_done = [&](const Result& last, const std::vector<Result>&) {
    if (--left[last.request.case_index] == 0) on_done_(label(last.request, cases));
  };
  const std::vector<Result> results =
      run_rows(requests, cases, simulated_row, {.workers = workers_, .on_done = on_done, .farm = farm_, .share_results = true});
  for (std::size_t c = 0; c < cases.size(); ++c) {
    Evaluation& evaluation = out[of_case[c]];
    std::vector<Row> rows;
    bool stopped = false;
    for (const Result& result : results) {
      if (result.request.case_index != c) continue;
      if (result.row)
        rows.push_back(*result.row);
      else if (result.failure == interrupted_row)
        stopped = true;
      else
        evaluation.failure = result.failure.substr(0, result.failure.find('\n'));
    }
    interrupted_ |= stopped;
    if (stopped) continue;
    ++simulated_;
    if (evaluation.failure.empty()) {
      evaluation.objective = objective_of(rows);
      for (const Row& row : rows) evaluation.rows.push_back(row_cells(row));
    }
    remember(evaluation);
  }
  for (Evaluation& evaluation : out)
    if (const auto at = known_.find({evaluation.share, evaluation.values}); at != known_.end()) evaluation = at->second;
  return out;
}

namespace {

bool is_known(const Evaluation& e) { return !e.failure.empty() || !e.rows.empty(); }

void add(TuneRun& run, const Evaluator& evaluator, Evaluation evaluation, const Point& point) {
  const double cost = evaluator.cost(evaluation);
  if (evaluation.share >= 1 && std::isfinite(cost) && (!run.best || cost < evaluator.cost(run.evaluations[*run.best])))
    run.best = run.evaluations.size();
  run.evaluations.push_back(std::move(evaluation));
  run.points.push_back(point);
}

}  // namespace

double min_share(const TunableScenario& scenario) {
  return 1.0 / scenario.at(Point(scenario.choices().size(), 0.0)).scenario.workload.iterations;
}

TuneRun tune(const TunableScenario& scenario, const TunePlan& plan, Evaluator& evaluator,
             const std::function<void(const TuneRun&)>& on_batch) {
  Tuner tuner(scenario.space(), plan.settings);
  TuneRun run;
  const auto left = [&] { return plan.budget.evaluations - static_cast<int>(run.evaluations.size()); };
  if (plan.first) {
    const Wanted wanted{*plan.first};
    Evaluation first = evaluator.evaluate({&wanted, 1}).front();
    first.technique = "cache";
    if (is_known(first)) {
      tuner.remember(*plan.first, evaluator.cost(first));
      add(run, evaluator, std::move(first), *plan.first);
    }
    on_batch(run);
  }
  while (left() > 0 && !evaluator.interrupted()) {
    const std::vector<Trial> trials = tuner.ask(std::min(left(), plan.budget.batch));
    if (trials.empty()) break;
    std::vector<Wanted> wanted;
    for (const Trial& trial : trials) wanted.push_back({trial.point, trial.fidelity});
    std::vector<Evaluation> evaluations = evaluator.evaluate(wanted);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (!is_known(evaluations[i])) continue;
      evaluations[i].technique = trials[i].technique;
      tuner.tell(trials[i].id, evaluator.cost(evaluations[i]));
      add(run, evaluator, std::move(evaluations[i]), trials[i].point);
    }
    on_batch(run);
  }
  return run;
}

}  // namespace weft
