#include "validation/validate.hpp"

#include "kernels/base/gather.hpp"
#include "kernels/files/files.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"
#include "sim/results/progress.hpp"
#include "sim/results/row.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/hardware_fields.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/calibrate/measured_file.hpp"
#include "validation/classes.hpp"
#include "validation/fit/without_model.hpp"
#include "validation/layer_reference.hpp"
#include "validation/refit.hpp"
#include "validation/validate_text.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <set>

namespace weft {
namespace {

Scenario scenario_with(const std::filesystem::path& file, const std::vector<Setting>& settings) {
  auto cases = load_cases(file, settings);
  if (cases.size() != 1)
    throw InputError(fmt::format("{}: a scenario of one case is needed here, its sweep makes {}", file.string(), cases.size()));
  return std::move(cases.front().scenario);
}

struct Run {
  double time_us = 0, utilization_percent = 0, fairness = 0, scaling_percent = 0;
};

// What a claim is judged on: a message size, or settings of a case.
struct Point {
  const std::filesystem::path& scenario;
  Bytes size;
  std::vector<Setting> set = {};
  std::vector<Setting> last = {};  // after those of the side

  Point with(const std::string& pointer, double value) const {
    Point out = *this;
    out.last.push_back({pointer, value == std::round(value) ? Json(std::llround(value)) : Json(value)});
    return out;
  }
};

Run run(const Claim& claim, const ClaimSide& side, const Point& at) {
  std::vector<Setting> settings = at.set;
  settings.insert(settings.end(), side.set.begin(), side.set.end());
  settings.insert(settings.end(), at.last.begin(), at.last.end());
  Scenario scenario = scenario_with(claim.scenario.empty() ? at.scenario : claim.scenario, settings);
  scenario.workload.collective = *collective_named(claim.collective);
  if (side.ranks > 0) scenario.workload.ranks = side.ranks;
  const AlgorithmChoice algorithm = with_server_defaults(scenario, side.algorithm);
  const Bytes size = scenario.workload.training.given() ? scenario.workload.sizes.front() : side.size.value_or(at.size);
  const Row row = row_from_text(in_child([&] { return to_text(simulate(scenario, algorithm, size)); }));
  return {.time_us = static_cast<double>((row.time + side.besides).ps) / 1e6,
          .utilization_percent = 100 * row.busiest_link_utilization,
          .fairness = fairness(row.jobs),
          .scaling_percent = 100 * row.training.value_or(TrainingResult{}).scaling_efficiency};
}

// The first value of those with the least time.
double best_value(const Claim& claim, const ClaimSide& side, const Point& at) {
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (const double value : claim.values)
    if (const double time = run(claim, side, at.with(claim.over, value)).time_us; time < least) least = time, best = value;
  return best;
}

double value_of(const Claim& claim, const Point& at) {
  const auto time = [&](const ClaimSide& side) { return run(claim, side, at).time_us; };
  switch (claim.quantity) {
    case Claim::Quantity::utilization_percent:
      return run(claim, claim.of, at).utilization_percent;
    case Claim::Quantity::fairness:
      return run(claim, claim.of, at).fairness;
    case Claim::Quantity::samples_per_s:
      return claim.of.samples / (time(claim.of) / 1e6);
    case Claim::Quantity::scaling_percent:
      return run(claim, claim.of, at).scaling_percent;
    case Claim::Quantity::best:
      return best_value(claim, claim.of, at);
    case Claim::Quantity::best_difference:
      return best_value(claim, claim.of, at) - best_value(claim, claim.against.value(), at);
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
  const std::vector<Bytes> sizes = claim.sizes.empty() ? std::vector{Bytes{}} : claim.sizes;
  std::vector<std::vector<Setting>> cases = claim.cases.empty() ? std::vector<std::vector<Setting>>(1) : claim.cases;
  if (!claim.seeds.empty()) {
    std::vector<std::vector<Setting>> each;
    for (const std::vector<Setting>& set : cases)
      for (const int seed : claim.seeds) {
        each.push_back(set);
        each.back().push_back({"/seed", seed});
      }
    cases = std::move(each);
  }
  for (const Bytes size : sizes)
    for (const std::vector<Setting>& set : cases) {
      const double value = value_of(claim, {scenario, size, set});
      out.lowest = std::min(out.lowest, value), out.highest = std::max(out.highest, value);
    }
  const double low = claim.largest_only ? out.highest : out.lowest;
  out.holds = (!claim.at_least || low >= *claim.at_least) && (!claim.at_most || out.highest <= *claim.at_most);
  return out;
}

}  // namespace

std::vector<Setting> settings_of(const Reference& reference) {
  if (reference.profile.empty()) return {};
  if (!std::filesystem::exists(reference.profile))
    throw InputError(
        fmt::format("{}: /profile: there is no {} yet: weft validate --refit fits it", reference.name, reference.profile.string()));
  const std::string name = reference.profile.stem().string();
  std::error_code missing;
  if (std::filesystem::equivalent(ProfileLibrary::beside(reference.scenario).file_of(name), reference.profile, missing))
    return {{"/hardware", Json(name)}};
  Json values = HardwareForm::write(read_profile(reference.profile));  // a scenario does not find it by its name
  values.erase("profile");
  return {{"/hardware", std::move(values)}};
}

namespace {

// What of a list of "hold_out" is none of what was measured.
template <class T>
void find_idle(const std::string& place, const std::vector<T>& wanted, const std::set<T>& there, std::vector<std::string>& problems) {
  for (const T& value : wanted)
    if (!there.contains(value))
      problems.push_back(fmt::format("{}: {} is of no measurement; there are {}", place, Json(value).dump(), Json(there).dump()));
}

void refuse_idle_rule(const Reference& reference, const std::vector<FitPoint>& points) {
  std::set<int> nodes, ranks;
  std::set<std::string> algorithms, collectives, systems;
  for (const FitPoint& p : points) {
    const Measurement& m = p.measured;
    nodes.insert(m.nodes), ranks.insert(m.ranks);
    algorithms.insert(m.algorithm), collectives.insert(m.collective), systems.insert(m.system);
  }
  const HeldOutRule& rule = reference.hold_out;
  const std::string place = reference.name + ": /hold_out/";
  std::vector<std::string> problems;
  find_idle(place + "nodes", rule.nodes, nodes, problems);
  find_idle(place + "ranks", rule.ranks, ranks, problems);
  find_idle(place + "algorithms", rule.algorithms, algorithms, problems);
  find_idle(place + "collectives", rule.collectives, collectives, problems);
  for (const std::string& part : rule.systems)
    if (std::ranges::none_of(systems, [&](const std::string& system) { return system.find(part) != system.npos; }))
      find_idle(place + "systems", {part}, systems, problems);
  if (!problems.empty()) throw InputError(std::move(problems));
}

}  // namespace

std::vector<FitPoint> points_of(const Reference& reference, Simulator& simulator, std::vector<std::string>* skipped) {
  const bool by_size = reference.held_out.empty() && !reference.hold_out.given();
  const bool rates_are_fitted = reference.fit && std::ranges::any_of(reference.fit->parameters, [](const std::string& name) {
                                  return name.starts_with('/') && name.ends_with("bandwidth");
                                });
  const Selection selection{.renames = reference.select.rename, .hold_out = by_size, .wire_is_known = !rates_are_fitted};
  std::vector<FitPoint> points;
  const auto add = [&](const std::vector<std::filesystem::path>& files, bool fitted) {
    std::vector<Measurement> rows;
    for (const MeasuredFile& file : measured_files({files.begin(), files.end()})) {
      const Measurements read = read_measurements(file, {.skip_bad = reference.skip_bad, .select = reference.select.rows});
      rows.insert(rows.end(), read.rows.begin(), read.rows.end());
      if (skipped) skipped->insert(skipped->end(), read.skipped.begin(), read.skipped.end());
    }
    for (FitPoint& point : usable(rows, simulator, selection).points) {
      if (!by_size) point.fitted = fitted && !reference.hold_out.holds_out(point.measured);
      points.push_back(std::move(point));
    }
  };
  add(reference.measurements, true);
  add(reference.held_out, false);
  refuse_idle_rule(reference, points);
  return points;
}

namespace {

Judgement summarised(Judgement out) {
  std::vector<double> fitted, held_out;
  for (std::size_t i = 0; i < out.points.size(); ++i)
    (out.points[i].fitted ? fitted : held_out).push_back(out.simulated_us[i] / out.points[i].measured.time_us - 1);
  out.fitted = summarise(std::move(fitted));
  out.held_out = summarise(std::move(held_out));
  return out;
}

Judgement judge_layers(const Reference& reference) {
  const DeviceProfile device = device_of(reference);
  Judgement out{reference, {}};
  for (const MeasuredBackward& pass : passes_of(reference)) {
    const std::vector<FitPoint> points = points_of(pass);
    const std::vector<double> simulated = ready_us(pass, device);
    out.points.insert(out.points.end(), points.begin(), points.end());
    out.simulated_us.insert(out.simulated_us.end(), simulated.begin(), simulated.end());
  }
  return summarised(std::move(out));
}

}  // namespace

Judgement judge(const Reference& reference) {
  if (!reference.layers.empty()) return judge_layers(reference);
  Simulator simulator(scenario_with(reference.scenario, settings_of(reference)));
  Judgement out{reference, {}};
  out.points = points_of(reference, simulator, &out.skipped);
  for (const FitPoint& point : out.points) out.simulated_us.push_back(simulator.time_us(point.setup, simulator.scenario().hardware));
  out = summarised(std::move(out));
  const bool holds_out_sizes = !reference.hold_out.given() && reference.held_out.empty();
  out.without_model = holds_out_sizes ? interpolation_errors(out.points) : kept_bandwidth_errors(out.points);
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
  std::vector<Reference> references;
  std::vector<std::string> problems;
  for (const auto& file : files)
    gather(problems, [&] {
      references.push_back(read_reference(file));
      references.back().skip_bad = a.skip_bad;
    });
  if (!problems.empty()) throw InputError(std::move(problems));
  if (a.refit)
    for (const Reference& reference : references)
      if (reference.fit) refit(reference, out, err);
  Progress progress(references.size(), true);
  for (const Reference& reference : references) {
    progress.under_way(reference.name);
    gather(problems, [&] { judgements.push_back(judge(reference)); });
    progress.done(reference.name);
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  progress.under_way("each system predicted from the others of its class");
  const std::vector<JudgedClass> classes = judge_classes(references);
  progress.clear();
  for (const Judgement& judgement : judgements)
    for (const std::string& line : judgement.skipped) err << "weft: skipped " << line << "\n";
  out << table_of(judgements, a.points) << table_of(classes);

  if (!a.check && !a.renew) return 0;
  const auto folder = validation_folder(), first_page = folder.parent_path() / "README.md";
  const std::vector<std::pair<std::filesystem::path, std::string>> documents = {
      {folder / "results.md", results_page(judgements)},
      {folder / "README.md", with_summary(read_file(folder / "README.md"), judgements, classes)},
      {first_page, with_short_summary(read_file(first_page), judgements, classes)}};
  const auto baseline = folder / "baseline.json";
  const auto profiles = class_profiles(references, classes);
  if (a.renew) {
    for (const auto& [file, text] : documents) write_file(file, text);
    for (const auto& [file, text] : profiles) write_file(file, text);
    write_file(baseline, baseline_text(judgements));
  }
  if (!a.check) return 0;
  std::vector<std::string> failures = grown_errors(judgements, read_file(baseline));
  auto written = documents;
  written.insert(written.end(), profiles.begin(), profiles.end());
  for (const auto& [file, text] : written)
    if (read_file(file) != text) failures.push_back(fmt::format("{}: is not what `weft validate --renew` writes", file.string()));
  for (const std::string& failure : failures) err << "weft: " << failure << "\n";
  return failures.empty() ? 0 : 1;
}

}  // namespace weft
