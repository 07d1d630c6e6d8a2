#include "validation/lab/steps.hpp"

#include "sim/cases/cases.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/sized.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/runner.hpp"
#include "validation/lab/measuring.hpp"
#include "validation/workload/for_real.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace weft::lab {
namespace {

// The steps of one scenario, as rows of a run.
struct Rows {
  explicit Rows(Scenario scenario) : cases{{std::move(scenario), {}}} {
    compress_on_core(cases);
    requests = rows_of(cases);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  std::vector<Case> cases;
  std::vector<RowRequest> requests;
};

std::vector<Row> predict(const Rows& rows) {
  std::vector<Row> out;
  for (const Result& result : run_rows(rows.requests, rows.cases, simulated_row, {})) {
    if (!result.row) throw RunError(result.failure);
    out.push_back(*result.row);
  }
  return out;
}

double mean_us(const std::vector<Row>& rows) {
  const auto add = [](double sum, const Row& row) { return sum + row.time.microseconds(); };
  return std::accumulate(rows.begin(), rows.end(), 0.0, add) / static_cast<double>(rows.size());
}

}  // namespace

std::optional<Scenario> steps_to_run(const std::string& file, const std::vector<Setting>& settings) {
  std::vector<Case> cases = load_cases(file, settings);
  if (!cases.front().scenario.workload.training.given()) return {};
  if (cases.size() > 1)
    throw InputError(fmt::format("{}: /sweep: the lab runs one case, got {}; write --set '/sweep={{}}'", file, cases.size()));
  return std::move(cases.front().scenario);
}

std::vector<Setting> allreduces_instead_of_steps(const Scenario& scenario, const std::vector<Setting>& settings) {
  const Workload& w = scenario.workload;
  const std::vector<Bytes> gradients = step_work(scenario).gradients;
  const Bytes all = std::accumulate(gradients.begin(), gradients.end(), Bytes{0});
  const std::set<std::string> sizes = {to_string(std::ranges::min(gradients)), to_string(all)};
  const Json algorithm = to_json(scenario).at("workload").at("algorithm");
  std::vector<Setting> out = settings;
  out.push_back({"/workload",
                 {{"collective", "allreduce"},
                  {"algorithm", algorithm.is_array() ? algorithm.front() : algorithm},
                  {"size", sizes},
                  {"dtype", std::string(name_of(w.dtype))},
                  {"ranks", w.ranks}}});
  return out;
}

std::vector<Problem> problems_of_steps(const Scenario& scenario) {
  const Rows rows(scenario);
  const auto same = [](const Problem& a, const Problem& b) { return a.where == b.where && a.what == b.what; };
  std::vector<Problem> out;
  const auto refuse = [&](Problem p) {
    if (std::ranges::none_of(out, [&](const Problem& known) { return same(known, p); })) out.push_back(std::move(p));
  };
  for (const RowRequest& request : rows.requests)
    for (Problem& p : problems_for_real(request)) refuse(std::move(p));
  if (scenario.workload.training.stragglers.spread > 0)
    refuse({"/workload/stragglers",
            "every step draws anew, and the lab compares one step: leave it out, or measure with weft bench --workload"});
  const std::vector<AlgorithmChoice>& algorithms = scenario.workload.algorithms;
  for (std::size_t i = 1; i < algorithms.size() && out.empty(); ++i) {
    if (depends_on_size(scenario, algorithms[i]))
      refuse({fmt::format("/workload/algorithm/{}", i), "its schedule depends on the size, which `weft bench` does not follow"});
    if (placement_of_workload(scenario, algorithms[i]) != placement_of_workload(scenario, algorithms.front()))
      refuse({fmt::format("/workload/algorithm/{}", i),
              fmt::format("the steps of one lab have one placement, but {} places ranks otherwise than {}", label(algorithms[i]),
                          label(algorithms.front()))});
  }
  return out;
}

std::vector<ComparedStep> compare_steps(const LabArguments& arguments, const Scenario& scenario, const Scenario& fitted, const Plan& plan) {
  Scenario known = scenario;
  known.fabric = fitted.fabric;
  known.server = fitted.server;
  known.hardware = fitted.hardware;
  const Rows rows(std::move(known));
  const std::vector<Row> predicted = predict(rows);
  const auto fabric = build(scenario.fabric.spec);
  const Measuring measuring(arguments, scenario, *fabric, plan);
  const std::vector<MeasuredStep> measured = measuring.measure_steps(predicted.size(), mean_us(predicted));
  std::vector<ComparedStep> out;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    out.push_back({name_of(rows.requests[i]), rows.requests[i].size, measured[i].step_us, measured[i].step_us - measured[i].compute_us,
                   predicted[i].time.microseconds(), predicted[i].training->exposed.microseconds()});
  return out;
}

std::vector<Compared> times_of(const std::vector<ComparedStep>& steps) {
  std::vector<Compared> out;
  for (const ComparedStep& step : steps) out.push_back({step.label, step.gradients, step.measured_us, step.predicted_us});
  return out;
}

std::string exposed_table(const std::vector<ComparedStep>& steps) {
  std::size_t width = 9;
  for (const ComparedStep& step : steps) width = std::max(width, step.label.size());
  std::string out = fmt::format("# {:<{}} {:>14} {:>14}\n", "exposed", width, "measured (us)", "predicted (us)");
  for (const ComparedStep& step : steps)
    out += fmt::format("# {:<{}} {:>14.1f} {:>14.1f}\n", step.label, width, step.measured_exposed_us, step.predicted_exposed_us);
  return out;
}

}  // namespace weft::lab
