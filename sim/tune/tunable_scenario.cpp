#include "sim/tune/tunable_scenario.hpp"

#include "kernels/files/files.hpp"
#include "sim/cases/text_key.hpp"
#include "sim/json/pointer.hpp"
#include "sim/json/value_range.hpp"
#include "sim/scenario/hardware_fields.hpp"
#include "sim/scenario/profiles.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

const Json& schema() {
  static const Json it = scenario_schema();
  return it;
}

bool is_ordered(const std::vector<Json>& values) {
  double last = -INFINITY;
  auto kind = Magnitude::Kind::none;
  for (const Json& value : values) {
    const Magnitude now = magnitude_of(value);
    if (now.kind == Magnitude::Kind::none || (kind != Magnitude::Kind::none && kind != now.kind) || now.value < last) return false;
    kind = now.kind;
    last = now.value;
  }
  return true;
}

Choice choice_of(const std::string& pointer, const std::vector<Json>& values) {
  Choice out{.name = pointer, .options = {}, .ordered = is_ordered(values)};
  for (const Json& value : values) out.options.push_back({{pointer, value}});
  return out;
}

std::vector<Choice> swept_choices(const Json& sweep, const JsonPath& where, Input& in) {
  std::vector<Choice> out;
  if (sweep.is_object()) {
    for (const SweepAxis& axis : axes_of(sweep, where, in)) out.push_back(choice_of(axis.pointer, axis.values));
  } else if (!sweep.is_null()) {
    if (auto cases = settings_of(sweep, where, in); !cases.empty()) out.push_back({.name = "case", .options = std::move(cases)});
  }
  return out;
}

// All settings of a point's options.
std::vector<Setting> together(const std::vector<Choice>& choices, const Point& point) {
  std::vector<Setting> out;
  for (std::size_t i = 0; i < choices.size(); ++i)
    for (const Setting& setting : choices[i].options[static_cast<std::size_t>(point[i])]) out.push_back(setting);
  return out;
}

// Sizes of units and numbers of streams that AIACC's own search covers, and about the same range for the others' settings.
struct EngineSetting {
  const char* key;
  std::vector<Json> values;
};
const std::vector<EngineSetting>& engine_settings() {
  static const std::vector<EngineSetting> all = {
      {"granularity", {"1MiB", "2MiB", "4MiB", "8MiB", "16MiB", "32MiB", "64MiB"}},
      {"streams", {1, 2, 4, 6, 8, 12, 16, 20, 24}},
      {"bucket", {"1MiB", "5MiB", "10MiB", "25MiB", "50MiB", "100MiB"}},
      {"first_bucket", {"256KiB", "1MiB", "4MiB", "16MiB"}},
      {"cycle_time", {"500us", "1ms", "2ms", "3.5ms", "5ms", "10ms"}},
      {"fusion_threshold", {"1MiB", "4MiB", "16MiB", "32MiB", "64MiB", "128MiB"}},
      {"partition", {"512KiB", "1MiB", "2MiB", "4MiB", "8MiB", "16MiB"}},
  };
  return all;
}

}  // namespace

std::vector<Choice> TunableScenario::listed_choices() const {
  std::vector<Choice> out;
  for (const char* pointer : {"/workload/engine", "/workload/compression", "/workload/algorithm"}) {
    const Json::json_pointer at(pointer);
    const auto swept = [&](const Choice& c) {
      return std::ranges::any_of(c.options, [&](const auto& settings) {
        return std::ranges::any_of(settings, [&](const Setting& s) { return covers(s.pointer, pointer); });
      });
    };
    if (!base_.contains(at) || !base_.at(at).is_array() || base_.at(at).empty() || std::ranges::any_of(choices_, swept)) continue;
    out.push_back({.name = pointer, .options = {}, .picks = true});
    for (std::size_t i = 0; i < base_.at(at).size(); ++i) out.back().options.push_back({{pointer, base_.at(at)[i]}});
  }
  return out;
}

// The settings of the one engine that is given, and the algorithm with one, two and four channels, plain and by servers.
std::vector<Choice> TunableScenario::engine_choices() const {
  std::vector<Choice> out;
  const Json engine = to_json(at({}).scenario).at("workload").at("engine").at(0);
  for (const EngineSetting& setting : engine_settings())
    if (engine.contains(setting.key)) out.push_back(choice_of(std::string("/workload/engine/") + setting.key, setting.values));
  if (engine.contains("server_hosts")) return out;  // it pushes gradients to servers of its own, whatever the algorithm
  std::vector<Json> algorithms;
  for (const char* name : {"ring", "hierarchical_ring"})
    for (const int channels : {1, 2, 4}) {
      Json json = base_;
      Json algorithm = channels > 1 ? Json{{"name", name}, {"channels", channels}} : Json(name);
      json["workload"]["algorithm"] = algorithm;
      if (Input in; reads(json, in)) algorithms.push_back(std::move(algorithm));
    }
  if (algorithms.size() > 1) out.push_back(choice_of("/workload/algorithm", algorithms));
  return out;
}

bool TunableScenario::reads(const Json& json, Input& in) const {
  const ProfileLibrary profiles = ProfileLibrary::beside(file_);
  in.profiles = &profiles;
  in.folder = file_.parent_path();
  expand(json, {}, name_, in);
  in.profiles = nullptr;
  return in.problems.empty();
}

// The sweep's settings in their order, then what is picked from lists.
Json TunableScenario::applied(const Point& point, Input& in) const {
  const JsonPath of_sweep = JsonPath{nullptr, "/sweep"};
  Json json = base_;
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < choices_.size(); ++i)
    if (!choices_[i].picks)
      for (const Setting& setting : choices_[i].options[static_cast<std::size_t>(point[i])]) settings.push_back(setting);
  keeps_settings(settings, of_sweep, in);
  for (const Setting& setting : settings) {
    if (setting.pointer == "/workload/size")
      in.problem(of_sweep, "\"/workload/size\" is what is run, not a setting to choose; give the size or sizes in the workload");
    if (const auto problem = set_at(json, setting.pointer, setting.value, schema())) in.problem(of_sweep, *problem);
  }
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (!choices_[i].picks) continue;
    Json& list = json[Json::json_pointer(choices_[i].name)];
    list = Json(list.at(static_cast<std::size_t>(point[i])));
  }
  return json;
}

// Where the file has a place of a scenario in which one of each list has been picked.
std::string TunableScenario::place_in_lists(std::string where, const Point& point) const {
  for (std::size_t i = 0; i < choices_.size(); ++i)
    if (const std::string& list = choices_[i].name; choices_[i].picks && covers(list, where))
      where.insert(list.size(), fmt::format("/{}", static_cast<std::size_t>(point[i])));
  return where;
}

// Each option with the first of the others.
void TunableScenario::check_options(std::vector<Problem>& problems) const {
  const auto add = [&](Problem found, const Point& point) {
    found.where = place_in_lists(std::move(found.where), point);
    if (std::ranges::find(problems, found) == problems.end()) problems.push_back(std::move(found));
  };
  for (std::size_t i = 0; i < choices_.size(); ++i)
    for (std::size_t option = i == 0 ? 0 : 1; option < choices_[i].options.size(); ++option) {
      Point point(choices_.size(), 0.0);
      point[i] = static_cast<double>(option);
      Input in;
      const Json json = applied(point, in);
      reads(json, in);
      for (Problem& problem : in.problems) add(std::move(problem), point);
    }
}

TunableScenario TunableScenario::load(const std::filesystem::path& file, const std::vector<Setting>& settings) {
  TunableScenario out;
  out.file_ = file;
  Input in;
  out.base_ = parse_json(read_file(file), in.problems);
  const auto stop_if_wrong = [&] {
    if (!in.problems.empty()) throw InputError(lines_of(file.string(), in.problems));
  };
  if (!out.base_.is_object() && in.problems.empty()) in.unwanted(JsonPath{}, "an object", out.base_);
  stop_if_wrong();
  for (const Setting& setting : settings)
    if (const auto wrong = set_at(out.base_, setting.pointer, setting.value, schema())) in.problem({nullptr, "--set"}, *wrong);
  const Json sweep = out.base_.value("sweep", Json());
  out.base_.erase("sweep");
  out.name_ = out.base_.contains("name") && out.base_["name"].is_string() ? out.base_["name"].get<std::string>() : file.stem().string();
  const JsonPath root;
  out.choices_ = swept_choices(sweep, root.in("sweep"), in);
  std::vector<std::vector<Setting>> swept;
  for (const Choice& choice : out.choices_) swept.insert(swept.end(), choice.options.begin(), choice.options.end());
  refuse_swept(settings, swept, in);
  for (Choice& choice : out.listed_choices()) out.choices_.push_back(std::move(choice));
  if (out.choices_.empty())
    out.reads(out.base_, in);
  else
    out.check_options(in.problems);
  stop_if_wrong();
  out.trains_ = out.at(Point(out.choices_.size(), 0.0)).scenario.workload.training.given();
  if (out.choices_.empty() && out.trains_) {
    out.choices_ = out.engine_choices();
    out.chose_for_itself_ = true;
    out.check_options(in.problems);
  }
  if (out.choices_.empty())
    in.problem(root.in("sweep"),
               "there is nothing to choose: sweep at least one key, such as {\"/workload/algorithm\": [\"ring\", "
               "\"halving_doubling\"]}, or give a list of algorithms, engines or compressions");
  stop_if_wrong();
  return out;
}

Space TunableScenario::space() const {
  std::vector<Axis> axes;
  for (const Choice& choice : choices_)
    axes.push_back({.name = choice.name, .choices = static_cast<int>(choice.options.size()), .ordered = choice.ordered});
  return Space(std::move(axes));
}

std::vector<std::string> TunableScenario::pointers() const {
  std::vector<std::string> out;
  for (const Choice& choice : choices_)
    for (const auto& option : choice.options)
      for (const Setting& setting : option)
        if (std::ranges::find(out, setting.pointer) == out.end()) out.push_back(setting.pointer);
  return out;
}

std::vector<Json> TunableScenario::values(const Point& point) const {
  const auto settings = together(choices_, point);
  std::vector<Json> out;
  for (const std::string& pointer : pointers()) {
    const auto at = std::ranges::find(settings, pointer, &Setting::pointer);
    out.push_back(at == settings.end() ? Json() : at->value);
  }
  return out;
}

Json TunableScenario::written(const Point& point) const {
  Input in;
  Json json = applied(point, in);
  if (!in.problems.empty()) throw InputError(lines_of(file_.string(), in.problems));
  return json;
}

Case TunableScenario::at(const Point& point) const {
  const ProfileLibrary profiles = ProfileLibrary::beside(file_);
  Input in{.profiles = &profiles, .folder = file_.parent_path()};
  std::vector<Case> cases = expand(written(point), {}, name_, in);
  for (Problem& problem : in.problems) problem.where = place_in_lists(std::move(problem.where), point);
  if (!in.problems.empty()) throw InputError(lines_of(file_.string(), in.problems));
  cases.front().axes = together(choices_, point);
  return std::move(cases.front());
}

Point TunableScenario::nearest(const std::vector<Setting>& wanted) const {
  Point out;
  for (const Choice& choice : choices_) {
    std::size_t best = 0;
    double least = INFINITY;
    for (std::size_t i = 0; i < choice.options.size(); ++i) {
      double distance = 0;
      for (const Setting& setting : choice.options[i]) {
        const auto at = std::ranges::find(wanted, setting.pointer, &Setting::pointer);
        if (at == wanted.end() || at->value == setting.value) continue;
        const Magnitude a = magnitude_of(at->value), b = magnitude_of(setting.value);
        const bool comparable = a.kind != Magnitude::Kind::none && a.kind == b.kind && a.value > 0 && b.value > 0;
        distance += comparable ? std::abs(std::log(a.value / b.value)) : 1e6;
      }
      if (distance < least) best = i, least = distance;
    }
    out.push_back(static_cast<double>(best));
  }
  return out;
}

std::string TunableScenario::text() const {
  Json all = Json::array();
  for (const Choice& choice : choices_) {
    Json options = Json::array();
    for (const auto& option : choice.options) {
      Json one = Json::object();
      for (const Setting& setting : option) one[setting.pointer] = setting.value;
      options.push_back(std::move(one));
    }
    all.push_back(std::move(options));
  }
  std::string held;  // by the profile and the files that it names
  try {
    const Scenario first = at(Point(choices_.size(), 0.0)).scenario;
    held = key_of(first.read_from + HardwareForm::write(first.hardware).dump());
  } catch (const InputError&) {  // its first options do not go together
  }
  return Json{{"scenario", base_}, {"choices", all}, {"held", held}}.dump();
}

}  // namespace weft
