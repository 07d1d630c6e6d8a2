#include "sim/library/run_scenario.hpp"

#include "kernels/files/files.hpp"
#include "models/fabric/drawing/fabric_export.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/runner.hpp"
#include "sim/experiment.hpp"
#include "sim/results/result_fields.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/profiles.hpp"

namespace weft {
namespace {

constexpr const char* unnamed = "scenario";

// The program's fabric, as a scenario may describe one; what the scenario says of ECMP stays.
void describe_fabric(Json& scenario, const Fabric& fabric, Input& in) {
  if (scenario.contains("server")) {
    in.problems.push_back({"/server", "must not be given beside a fabric that the program has built: that holds its servers"});
    return;
  }
  Json described = graph_json(fabric);
  if (scenario.contains("fabric") && scenario["fabric"].is_object() && scenario["fabric"].contains("ecmp"))
    described["ecmp"] = scenario["fabric"]["ecmp"];
  scenario["fabric"] = std::move(described);
}

// A sweep may change how paths are chosen on the program's fabric, and nothing else of it.
void refuse_swept_fabric(const std::vector<Case>& cases, Input& in) {
  for (const Case& one : cases)
    for (const Setting& axis : one.axes)
      if (axis.pointer.starts_with("/fabric") && !axis.pointer.starts_with("/fabric/ecmp"))
        in.problems.push_back({"/sweep", fmt::format("{} cannot be swept: the program has built the fabric", axis.pointer)});
}

std::vector<Case> cases_of(Json scenario, const ScenarioSettings& settings) {
  const ProfileLibrary profiles = ProfileLibrary::beside(settings.folder / unnamed);
  Input in{.profiles = &profiles, .folder = settings.folder};
  if (settings.fabric && scenario.is_object()) describe_fabric(scenario, *settings.fabric, in);
  std::vector<Case> cases = expand(std::move(scenario), settings.set, unnamed, in);
  if (settings.fabric) refuse_swept_fabric(cases, in);
  if (!in.problems.empty()) throw InputError(lines_of(unnamed, in.problems));
  refuse_beyond_limits(cases);
  return cases;
}

void refuse_failed(const std::vector<Result>& results, const std::vector<Case>& cases) {
  std::vector<std::string> failures;
  std::size_t not_run = 0;
  bool bad_input = true;
  for (const Result& result : results) {
    if (result.row) continue;
    if (result.failure == interrupted_row) {
      ++not_run;
      continue;
    }
    failures.push_back(fmt::format("{}: {}", label(result.request, cases), result.failure));
    bad_input &= result.bad_input;
  }
  if (not_run > 0) throw Interrupted(fmt::format("interrupted; {} of {} rows were not simulated", not_run, results.size()));
  if (failures.empty()) return;
  if (bad_input) throw InputError(failures);
  throw RunError(fmt::format("{}", fmt::join(failures, "\n")));
}

}  // namespace

std::vector<ScenarioRow> run_scenario(const Json& scenario, const ScenarioSettings& settings) {
  const std::vector<Case> cases = cases_of(scenario, settings);
  const auto simulated = [&](const RowRequest& request, Timeline*) {
    return Experiment(scenario_of(request), *request.algorithm, settings.fabric)
        .run(request.size, {.around = Around::engine, .find_path = true});
  };
  const std::vector<Result> results = run_rows(rows_of(cases), cases, simulated, {.workers = settings.workers});
  refuse_failed(results, cases);
  std::vector<ScenarioRow> out;
  for (const Result& result : results) out.push_back({cases[result.request.case_index].axes, *result.row});
  return out;
}

Json columns(const ScenarioRow& row) {
  Json out = Json::object();
  for (const ResultField<Row>& field : fields_of<Row>())
    if (field.where != Shown::json_only) out[field.name] = field.show(row.row);
  for (const Setting& axis : row.axes) out[axis.pointer] = axis.value;
  return out;
}

Schedule schedule_of(const Json& scenario, const ScenarioSettings& settings) {
  const std::vector<Case> cases = cases_of(scenario, settings);
  const Scenario& first = cases.front().scenario;
  const AlgorithmChoice& algorithm = first.workload.algorithms.front();
  if (is_in_network(algorithm.name))
    throw InputError(
        fmt::format("/workload/algorithm: \"{}\" is made of agents in hosts and switches, and has no schedule", algorithm.name));
  const Request request = request_of(first, algorithm);
  Schedule out = build(request);
  Prover().require_correct(out, request);
  return out;
}

}  // namespace weft
