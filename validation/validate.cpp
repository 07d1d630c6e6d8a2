#include "validation/validate.hpp"

#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"
#include "sim/results/row.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/files.hpp"
#include "validation/validate_text.hpp"

#include <algorithm>
#include <iostream>
#include <limits>
#include <sstream>

namespace weft {
namespace {

Scenario scenario_with(const std::filesystem::path& file, const std::vector<Setting>& settings) {
  auto cases = load_cases(file, settings);
  if (cases.size() != 1)
    throw InputError(fmt::format("{}: a scenario of one case is needed here, its sweep makes {}", file.string(), cases.size()));
  return std::move(cases.front().scenario);
}

std::vector<FitPoint> points_of(const Reference& reference, Simulator& simulator) {
  const ReadOptions options{.skip_bad = false, .collective = {}, .select = reference.select.rows};
  const Selection selection{.renames = reference.select.rename, .hold_out = reference.held_out.empty()};
  std::vector<FitPoint> points;
  const auto add = [&](const std::vector<std::filesystem::path>& files, bool fitted, bool by_rule) {
    std::vector<Measurement> rows;
    for (const auto& file : files) {
      const Measurements read = read_measurements(file, options);
      rows.insert(rows.end(), read.rows.begin(), read.rows.end());
    }
    for (FitPoint& point : usable(rows, simulator, selection).points) {
      if (!by_rule) point.fitted = fitted;
      points.push_back(std::move(point));
    }
  };
  add(reference.measurements, true, reference.held_out.empty());
  add(reference.held_out, false, false);
  return points;
}

struct Run {
  double time_us = 0, utilization_percent = 0, fairness = 0;
};

Run run(const Claim& claim, const ClaimSide& side, const std::filesystem::path& scenario_file, Bytes size, std::optional<int> seed) {
  std::vector<Setting> set = side.set;
  if (seed) set.push_back({"/seed", *seed});
  Scenario scenario = scenario_with(claim.scenario.empty() ? scenario_file : claim.scenario, set);
  scenario.workload.collective = *collective_named(claim.collective);
  if (side.ranks > 0) scenario.workload.ranks = side.ranks;
  const AlgorithmChoice algorithm = with_server_defaults(scenario, side.algorithm);
  std::istringstream text(in_child([&] {
    const Outcome out = simulate(scenario, algorithm, side.size.value_or(size));
    return fmt::format("{} {} {}", static_cast<double>((out.time + side.besides).ps) / 1e6, 100 * out.busiest_link_utilization,
                       fairness(out.jobs));
  }));
  Run out;
  text >> out.time_us >> out.utilization_percent >> out.fairness;
  return out;
}

double value_of(const Claim& claim, const std::filesystem::path& scenario, Bytes size, std::optional<int> seed) {
  const auto time = [&](const ClaimSide& side) { return run(claim, side, scenario, size, seed).time_us; };
  switch (claim.quantity) {
    case Claim::Quantity::utilization_percent:
      return run(claim, claim.of, scenario, size, seed).utilization_percent;
    case Claim::Quantity::fairness:
      return run(claim, claim.of, scenario, size, seed).fairness;
    case Claim::Quantity::difference_us:
      return time(claim.against.value()) - time(claim.of);
    case Claim::Quantity::ratio:
      break;
  }
  const double ratio = time(claim.against.value()) / time(claim.of);
  return claim.than_of ? ratio / (time(claim.than_against.value()) / time(*claim.than_of)) : ratio;
}

JudgedClaim judge(const Claim& claim, const std::filesystem::path& scenario) {
  JudgedClaim out{claim, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  std::vector<std::optional<int>> seeds(claim.seeds.begin(), claim.seeds.end());
  if (seeds.empty()) seeds.emplace_back();
  for (const Bytes size : claim.sizes)
    for (const std::optional<int> seed : seeds) {
      const double value = value_of(claim, scenario, size, seed);
      out.lowest = std::min(out.lowest, value), out.highest = std::max(out.highest, value);
    }
  const double low = claim.largest_only ? out.highest : out.lowest;
  out.holds = (!claim.at_least || low >= *claim.at_least) && (!claim.at_most || out.highest <= *claim.at_most);
  return out;
}

}  // namespace

Judgement judge(const Reference& reference) {
  Simulator simulator(scenario_with(reference.scenario, {}));
  Judgement out{reference, points_of(reference, simulator)};
  std::vector<double> fitted, held_out;
  for (const FitPoint& point : out.points) {
    out.simulated_us.push_back(simulator.time_us(point.setup, simulator.scenario().hardware));
    (point.fitted ? fitted : held_out).push_back(out.simulated_us.back() / point.measured.time_us - 1);
  }
  out.fitted = summarise(std::move(fitted));
  out.held_out = summarise(std::move(held_out));
  for (const Claim& claim : reference.claims) out.claims.push_back(judge(claim, reference.scenario));
  return out;
}

int validate_command(const ValidateArguments& a, std::ostream& out, std::ostream& err) {
  std::vector<std::filesystem::path> files(a.references.begin(), a.references.end());
  if (files.empty())
    files = shipped_references();
  else if (a.check || a.renew)
    throw InputError("--check and --renew are about all references that ship; name none");
  std::vector<Judgement> judgements;
  for (const auto& file : files) judgements.push_back(judge(read_reference(file)));
  out << table_of(judgements, a.points);

  const auto folder = validation_folder();
  const std::vector<std::pair<std::filesystem::path, std::string>> documents = {
      {folder / "results.md", results_page(judgements)}, {folder / "README.md", with_summary(read_file(folder / "README.md"), judgements)}};
  const auto baseline = folder / "baseline.json";
  if (a.renew) {
    for (const auto& [file, text] : documents) write_file(file, text);
    write_file(baseline, baseline_text(judgements));
  }
  if (!a.check) return 0;
  std::vector<std::string> failures = grown_errors(judgements, read_file(baseline));
  for (const auto& [file, text] : documents)
    if (read_file(file) != text) failures.push_back(fmt::format("{}: is not what `weft validate --renew` writes", file.string()));
  for (const std::string& failure : failures) err << "weft: " << failure << "\n";
  return failures.empty() ? 0 : 1;
}

}  // namespace weft
