#include "validation/classes.hpp"

#include "sim/scenario/hardware_fields.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/fit/profile_text.hpp"
#include "validation/validate.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft {
namespace {

// A system of a class, ready to be simulated.
struct Member {
  const Reference* reference;
  HardwareProfile profile;
  Simulator simulator;
  std::vector<FitPoint> points;

  explicit Member(const Reference& r) : reference(&r), simulator(scenario_of(r)) {
    profile = simulator.scenario().hardware;
    points = points_of(r, simulator);
  }

  std::vector<double> errors(const HardwareProfile& hardware) {
    std::vector<double> out;
    for (const FitPoint& p : points) out.push_back(simulator.time_us(p.setup, hardware) / p.measured.time_us - 1);
    return out;
  }

 private:
  static Scenario scenario_of(const Reference& r) { return load_cases(r.scenario, settings_of(r)).front().scenario; }
};

using Classes = std::map<std::string, std::vector<const Reference*>>;

Classes classes_of(const std::vector<Reference>& references) {
  Classes out;
  for (const Reference& r : references)
    if (!r.server_class.empty()) out[r.server_class].push_back(&r);
  return out;
}

JudgedClass judge(const std::string& name, std::vector<Member>& members) {
  JudgedClass out{.name = name, .members = {}};
  std::vector<double> all;
  for (Member& member : members) {
    JudgedMember judged{.reference = member.reference->name, .from = {}};
    std::vector<HardwareProfile> others;
    for (const Member& other : members) {
      if (&other == &member) continue;
      others.push_back(other.profile);
      judged.from.push_back(other.reference->name);
    }
    if (!others.empty()) {
      const std::vector<double> errors = member.errors(middle_of(others));
      all.insert(all.end(), errors.begin(), errors.end());
      judged.error = summarise(errors);
    }
    out.members.push_back(std::move(judged));
  }
  out.error = summarise(std::move(all));
  return out;
}

Json error_in(const ErrorSummary& e) {
  const auto four_digits = [](double value) { return std::round(value * 1e4) / 1e4; };
  return {{"points", e.points}, {"median", four_digits(e.median)}, {"p95", four_digits(e.p95)}};
}

}  // namespace

HardwareProfile middle_of(const std::vector<HardwareProfile>& profiles) {
  if (profiles.empty()) throw InputError("a class without a profile");
  HardwareProfile out = profiles.front();
  out.cost_by_size.clear();  // of that one system
  for (const HardwareParameter& parameter : hardware_parameters()) {
    std::vector<double> values;
    for (const HardwareProfile& p : profiles) values.push_back(parameter.get(p));
    std::ranges::sort(values);
    parameter.set(out, values[(values.size() - 1) / 2]);
  }
  return out;
}

std::vector<JudgedClass> judge_classes(const std::vector<Reference>& references) {
  std::vector<JudgedClass> out;
  for (const auto& [name, of_class] : classes_of(references)) {
    std::vector<Member> members;
    for (const Reference* r : of_class) members.emplace_back(*r);
    out.push_back(judge(name, members));
  }
  return out;
}

std::vector<std::pair<std::filesystem::path, std::string>> class_profiles(const std::vector<Reference>& references,
                                                                          const std::vector<JudgedClass>& classes) {
  std::vector<std::pair<std::filesystem::path, std::string>> out;
  const Classes known = classes_of(references);
  for (const JudgedClass& judged : classes) {
    std::vector<HardwareProfile> profiles;
    std::vector<FitPoint> points;
    std::vector<std::string> names;
    for (const Reference* r : known.at(judged.name)) {
      Member member(*r);
      profiles.push_back(member.profile);
      points.insert(points.end(), member.points.begin(), member.points.end());
      names.push_back(r->name);
    }
    const Json values = HardwareForm::write(middle_of(profiles));
    Json text = {{"schema", 1},
                 {"description", fmt::format("Systems of the class \"{}\", for those that nobody has measured: parameter by parameter the "
                                             "middle one of {}.",
                                             judged.name, fmt::join(names, ", "))}};
    for (const auto& [key, value] : values.items())
      if (key != "profile") text[key] = {{"value", value}, {"source", fmt::format("the middle one of the class \"{}\"", judged.name)}};
    text["calibration"] = {{"command", "weft validate --renew"},
                           {"valid_for", valid_range(points)},
                           {"held_out_error", error_in(judged.error)},
                           {"held_out", "each system of the class in turn, predicted from the others"}};
    out.emplace_back(project_scenarios() / "hardware" / (judged.name + ".json"), text.dump(2) + "\n");
  }
  return out;
}

}  // namespace weft
