#include "validation/refit.hpp"

#include "kernels/base/plural.hpp"
#include "kernels/files/files.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/fit/defaults.hpp"
#include "validation/fit/library_that_ran.hpp"
#include "validation/fit/profile_text.hpp"
#include "validation/layer_reference.hpp"
#include "validation/validate.hpp"

#include <ostream>

namespace weft {
namespace {

// What was fitted of the scenario goes into it; its hardware stays a name.
void write_scenario(const Reference& reference, const OpenScenario& open, const FitResult& result) {
  std::vector<Problem> problems;
  const Json before = parse_json(read_file(reference.scenario), problems);
  std::vector<double> values;
  for (const FittedParameter& p : result.parameters) values.push_back(p.value);
  Json out = open.resolved(values);
  out["hardware"] = before.at("hardware");
  write_file(reference.scenario, out.dump(2) + "\n");
}

}  // namespace

std::filesystem::path profile_of(const Reference& reference) {
  if (!reference.profile.empty()) return reference.profile;
  std::vector<Problem> problems;
  const Json scenario = parse_json(read_file(reference.scenario), problems);
  if (!problems.empty() || !scenario.contains("hardware") || !scenario.at("hardware").is_string())
    throw InputError(fmt::format("{}: /hardware: must be a profile's name where validate is to fit it", reference.scenario.string()));
  return project_scenarios() / "hardware" / (scenario.at("hardware").get<std::string>() + ".json");
}

void refit(const Reference& reference, std::ostream& out, std::ostream& err) {
  if (!reference.layers.empty()) return refit_device(reference, out);
  const std::vector<Setting> start = {{"/hardware", reference.fit->start}};
  const OpenScenario asked(reference.scenario, start, reference.fit->parameters);
  Simulator simulator(asked.scenario());
  const std::vector<FitPoint> points = points_of(reference, simulator);
  FitOptions options{.folds = 0};
  const OpenScenario told = open_for(reference.scenario, start, reference.fit->parameters, points, simulator);
  const OpenScenario open = with_library_that_ran(told, libraries_that_may_have_run(told, points, options));
  options.say = [&](const std::string& text) { err << fmt::format("weft: {}: {}\n", reference.name, text); };
  const FitResult result = fit(open, points, options);
  const std::string command = fmt::format("weft validate --refit validation/references/{}.json", reference.name);
  const std::filesystem::path profile = profile_of(reference);
  make_folder_of(profile);
  write_file(profile, profile_text(open, points, result, {.command = command, .what = reference.about}));
  if (open.has_pointers()) write_scenario(reference, open, result);
  out << fmt::format("# {}: fitted again to {}, median {:.1f} %, 95th percentile {:.1f} %", reference.name,
                     counted(result.fitted.points, "point"), 100 * result.fitted.median, 100 * result.fitted.p95);
  if (const SpreadOfStarts& s = result.spread; s.starts > 1)
    out << fmt::format("; {} starts by their parameters alone: median {:.1f} to {:.1f} %, 95th percentile {:.1f} to {:.1f} %", s.starts,
                       100 * s.min_median, 100 * s.max_median, 100 * s.min_p95, 100 * s.max_p95);
  out << "\n";
}

}  // namespace weft
