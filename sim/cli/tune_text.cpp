#include "sim/cli/tune_text.hpp"

#include "sim/results/version.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr const char* chosen_by = "Chosen by weft tune:";

std::string values_text(const std::vector<std::string>& pointers, const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < pointers.size(); ++i)
    if (!values[i].empty()) parts.push_back(fmt::format("{}={}", pointers[i], values[i]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// File names in a scenario are relative to it.
void move_files(Json& json, const std::filesystem::path& from, const std::filesystem::path& to) {
  for (const char* pointer : {"/workload/model/file", "/server/nccl_topology"}) {
    const Json::json_pointer at(pointer);
    if (!json.contains(at) || !json.at(at).is_string()) continue;
    const std::filesystem::path file = json.at(at).get<std::string>();
    if (file.is_relative()) json[at] = std::filesystem::relative(from / file, to).string();
  }
}

}  // namespace

std::string objective_text(const TunableScenario& scenario, double objective) {
  return scenario.trains() ? fmt::format("{:.1f} samples/s", objective) : fmt::format("{:.2f} us", objective);
}

std::string tune_heading(const TunableScenario& scenario, const TuneArguments& a) {
  std::string out =
      fmt::format("# weft tune {}: {} points, {} of at most {} evaluations, seed {}; {}\n", scenario.name(), scenario.space().size(),
                  a.method, a.evaluations, a.seed, scenario.trains() ? "the more samples/s the better" : "the shorter the better");
  if (scenario.chose_for_itself()) out += "# the scenario sweeps nothing: settings of its engine and its algorithm are chosen\n";
  for (const Choice& choice : scenario.choices()) {
    std::vector<std::string> options;
    for (const auto& option : choice.options) {
      std::vector<std::string> values;
      for (const Setting& setting : option) values.push_back(cell_of(setting.value));
      options.push_back(fmt::format("{}", fmt::join(values, " and ")));
    }
    out += fmt::format("#   {}: {}\n", choice.name, fmt::join(options, ", "));
  }
  return out;
}

std::string tune_table(const TunableScenario& scenario, const TuneRun& run) {
  const std::vector<std::string> pointers = scenario.pointers();
  std::string out = fmt::format("# {:>10}  {:<10}  {:>14}  settings\n", "evaluation", "technique", scenario.trains() ? "samples/s" : "us");
  std::optional<double> best;
  for (std::size_t i = 0; i < run.evaluations.size(); ++i) {
    const Evaluation& e = run.evaluations[i];
    if (!e.failure.empty() || e.share < 1) continue;
    if (best && !(scenario.trains() ? e.objective > *best : e.objective < *best)) continue;
    best = e.objective;
    out += fmt::format("  {:>10}  {:<10}  {:>14.2f}  {}\n", i + 1, e.technique, e.objective, values_text(pointers, e.values));
  }
  const auto failed = std::ranges::count_if(run.evaluations, [](const Evaluation& e) { return !e.failure.empty(); });
  if (failed > 0) {
    const auto first = std::ranges::find_if(run.evaluations, [](const Evaluation& e) { return !e.failure.empty(); });
    out += fmt::format("# {} of {} evaluations failed, the first with {}: {}\n", failed, run.evaluations.size(),
                       values_text(pointers, first->values), first->failure);
  }
  if (run.best)
    out += fmt::format("# best: evaluation {} of {}: {}\n", *run.best + 1, run.evaluations.size(),
                       objective_text(scenario, run.evaluations[*run.best].objective));
  return out;
}

std::string best_scenario(const TunableScenario& scenario, const TuneRun& run, const std::filesystem::path& folder) {
  Json json = scenario.written(run.points[*run.best]);
  move_files(json, scenario.folder(), folder);
  Json out = {{"schema", 1}, {"name", scenario.name()}};
  std::string about = fmt::format("{} {} by evaluation {} of {}.", chosen_by,
                                  objective_text(scenario, run.evaluations[*run.best].objective), *run.best + 1, run.evaluations.size());
  if (json.contains("description") && json["description"].is_string()) about += " " + json["description"].get<std::string>();
  out["description"] = about;
  for (const auto& item : json.items())
    if (!out.contains(item.key()) && item.key() != "$schema") out[item.key()] = item.value();
  return out.dump(2) + "\n";
}

bool is_best_scenario(std::string_view text) { return text.find(chosen_by) != text.npos; }

std::string tune_provenance(const TunableScenario& scenario, const TuneArguments& a) {
  return Json{{"weft_tune", scenario.name()}, {"version", version()}, {"commit", commit()}, {"method", a.method},
              {"evaluations", a.evaluations}, {"batch", a.batch},     {"seed", a.seed},     {"searched", Json::parse(scenario.text())}}
             .dump(2) +
         "\n";
}

bool is_tune_provenance(std::string_view text) { return text.find("\"weft_tune\"") != text.npos; }

std::string scenario_of_tune(std::string_view provenance) {
  const Json json = Json::parse(provenance, nullptr, false);
  const bool is_one = json.is_object() && json.contains("weft_tune") && json.at("weft_tune").is_string();
  return is_one ? json.at("weft_tune").get<std::string>() : std::string();
}

}  // namespace weft
