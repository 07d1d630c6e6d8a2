#include "validation/classes.hpp"

#include "kernels/files/files.hpp"
#include "models/message_costs.hpp"
#include "models/nccl_tuning.hpp"
#include "sim/scenario/hardware_fields.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/fit/profile_text.hpp"
#include "validation/fit/rounding.hpp"
#include "validation/refit.hpp"
#include "validation/validate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace weft {
namespace {

// A system of a class, ready to be simulated.
struct Member {
  const Reference* reference;
  HardwareProfile profile;
  Simulator simulator;
  std::vector<FitPoint> points;
  std::set<std::string> fitted, undetermined;  // names of parameters
  bool is_on_nvlinks = false;                  // all calls of NCCL

  explicit Member(const Reference& r) : reference(&r), simulator(scenario_of(r)) {
    profile = simulator.scenario().hardware;
    points = points_of(r, simulator);
    std::vector<Problem> problems;
    const Json file = parse_json(read_file(profile_of(r)), problems);
    for (const auto& [key, names] : {std::pair{"/calibration/parameters", &fitted}, {"/calibration/undetermined", &undetermined}})
      for (const Json& name : file.value(Json::json_pointer(key), Json::array())) names->insert(name.get<std::string>());
    // Most of the systems of a class measured two servers only, which do not tell one from the other: two hops, and what is paid once.
    if (profile.nccl_hop > SimTime{}) undetermined.erase("nccl_network");
    profile.nccl_network += profile.nccl_hop + profile.nccl_hop;
    profile.nccl_hop = {};
    std::vector<std::optional<Regime>> regimes;
    for (const FitPoint& p : points) regimes.push_back(simulator.nccl_regime(p.setup, profile));
    is_on_nvlinks = std::ranges::all_of(regimes, [](const auto& of) { return of && of->nvlink; });
    // Where no call was in LL, what calls cost on top of the table is not told from what the other protocols take longer to start.
    const bool is_in_ll = std::ranges::any_of(regimes, [](const auto& of) { return of && of->protocol == NcclProtocol::ll; });
    if (!is_in_ll && std::ranges::all_of(regimes, [](const auto& of) { return of.has_value(); })) {
      profile.call_overhead = HardwareProfile{}.call_overhead;
      undetermined.insert("call_overhead");
    }
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

// The rest are of the calls that were measured.
void keep_costs_of_messages(HardwareProfile& profile) {
  std::vector<CostAtSize> of_messages;
  for (const CostAtSize& cost : profile.cost_by_size)
    if (cost.collective == name_of_message_costs) of_messages.push_back(cost);
  profile.cost_by_size = std::move(of_messages);
}

// Where some systems of a class tell how hosts reduce, those that were measured without a reduction do it as is usual.
HardwareProfile completed(const Member& of, const std::vector<Member>& members) {
  HardwareProfile profile = of.profile;
  const auto as_usual = [&](const char* name) { find_hardware_parameter(name)->set(profile, usual_of_hosts(name)->value); };
  if (std::ranges::none_of(members, [&](const Member& m) { return m.fitted.contains("reduce_rate"); })) return profile;
  if (!of.fitted.contains("reduce_rate"))
    for (const char* name :
         {"reduce_rate", "reduce_cache", "reduce_rate_beyond_cache", "initial_copies", "page_fault_rate", "call_overhead"})
      as_usual(name);
  if (!of.fitted.contains("local_copy")) as_usual("local_copy");
  return profile;
}

// At each size that one of them knows the middle one of their factors.
std::vector<CostAtSize> middle_costs(const std::vector<HardwareProfile>& profiles) {
  std::map<std::int64_t, CostAtSize> by_size;
  for (const HardwareProfile& p : profiles)
    for (const CostAtSize& cost : p.cost_by_size)
      if (cost.collective == name_of_message_costs) by_size[cost.size.count] = cost;
  std::vector<CostAtSize> out;
  for (auto& [size, cost] : by_size) {
    std::vector<double> factors;
    for (const HardwareProfile& p : profiles) factors.push_back(MessageCosts(p).factor(size));
    std::ranges::sort(factors);
    cost.factor = factors[(factors.size() - 1) / 2];
    out.push_back(cost);
  }
  return out;
}

// What stands for systems: what lies between their middle or mean and what is published or usual.
struct Representative {
  HardwareProfile profile;
  std::string what;
};

// Makes the profiles of a class out of those of its systems.
class Representatives {
 public:
  explicit Representatives(const std::vector<Member>& members) : members_(members) {
    for (const Member& of : members) {
      HardwareProfile profile = completed(of, members);
      keep_costs_of_messages(profile);
      profiles_.push_back(std::move(profile));
    }
  }

  // Of the systems without one. Hosts: their mean, what is usual being one more of them, as each of their fits keeps near it too. Others:
  // half of the way from NCCL's table to their middle.
  Representative without(std::size_t left_out) const {
    std::vector<HardwareProfile> profiles;
    Undetermined undetermined;
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (i != left_out) profiles.push_back(profiles_[i]), undetermined.push_back(members_[i].undetermined);
    if (of_hosts()) return with_usual(std::move(profiles));
    HardwareProfile halfway = halfway_from_published(middle_of(profiles, undetermined));
    // There it is known what NCCL expects when it chooses, and biases are of the versions and networks of these systems. Of servers without
    // NVLinks they stand for what its search finds.
    if (std::ranges::all_of(members_, &Member::is_on_nvlinks)) take_choices_of_nccl(halfway);
    return {halfway, "half of the way from NCCL's table to the middle of its systems"};
  }
  Representative of_all() const { return without(members_.size()); }

 private:
  // Of a call of NCCL nothing is usual.
  bool is_of_hosts(const HardwareParameter& p) const {
    const auto fits = [&](const Member& m) { return m.fitted.contains(p.name); };
    return p.name != "call_overhead" && usual_of_hosts(p.name) && std::ranges::any_of(members_, fits);
  }
  bool of_hosts() const {
    return std::ranges::any_of(hardware_parameters(), [&](const HardwareParameter& p) { return is_of_hosts(p); });
  }

  Representative with_usual(std::vector<HardwareProfile> profiles) const {
    HardwareProfile usual = mean_of(profiles);
    for (const HardwareParameter& p : hardware_parameters())
      if (is_of_hosts(p)) p.set(usual, usual_of_hosts(p.name)->value);
    profiles.push_back(std::move(usual));
    HardwareProfile mean = mean_of(profiles);
    for (const char* name : {"copy_rate", "copy_rate_in_memory", "last_level_cache"})  // nearly all of its systems have one rank a host
      find_hardware_parameter(name)->set(mean, usual_of_hosts(name)->value);
    return {mean, "parameter by parameter the geometric mean of its systems and of what is usual of hosts"};
  }

  static void take_choices_of_nccl(HardwareProfile& profile) {
    for (const HardwareParameter& p : hardware_parameters())
      if (p.unit == HardwareParameter::Unit::bias) p.set(profile, p.get(HardwareProfile{}));
  }

  const std::vector<Member>& members_;
  std::vector<HardwareProfile> profiles_;
};

// The cluster, which is all that is known of a system that nobody has measured.
std::string description_of(const Scenario& scenario) {
  Json out = to_json(scenario);
  for (const char* key : {"name", "description", "hardware", "workload"}) out.erase(key);
  return out.dump();
}

std::string call_of(const MeasuredSetup& e) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", e.collective, label(e.algorithm), e.ranks, e.nodes, e.of_each_node,
                     e.size.count, e.from, e.to, e.window, e.back_to_back, e.of_rank_0, e.mean_of_ranks, e.gpus_of_a_process);
}

// Of two times a < b of calls that are predicted alike, one is predicted (b - a) / (b + a) off, or more.
double least_p95(const std::vector<Member>& members) {
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> least_and_most;
  std::size_t points = 0;
  for (const Member& of : members) {
    const std::string description = description_of(of.simulator.scenario());
    points += of.points.size();
    for (const FitPoint& p : of.points) {
      const double us = p.measured.time_us;
      auto& [least, most] = least_and_most.try_emplace({description, call_of(p.setup)}, us, us).first->second;
      least = std::min(least, us), most = std::max(most, us);
    }
  }
  std::vector<double> errors;
  for (const auto& [call, times] : least_and_most) errors.push_back((times.second - times.first) / (times.second + times.first));
  std::ranges::sort(errors, std::greater{});
  const std::size_t above = points - static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(points)));
  return errors.size() > above ? errors[above] : 0;
}

JudgedClass judge(const std::string& name, std::vector<Member>& members) {
  JudgedClass out{.name = name, .members = {}};
  std::vector<double> all;
  const Representatives representatives(members);
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    JudgedMember judged{.reference = member.reference->name, .from = {}};
    for (const Member& other : members)
      if (&other != &member) judged.from.push_back(other.reference->name);
    if (!judged.from.empty()) {
      const std::vector<double> errors = member.errors(representatives.without(i).profile);
      all.insert(all.end(), errors.begin(), errors.end());
      judged.error = summarise(errors);
    }
    out.members.push_back(std::move(judged));
  }
  out.error = summarise(std::move(all));
  out.least_p95 = least_p95(members);
  return out;
}

}  // namespace

HardwareProfile middle_of(const std::vector<HardwareProfile>& profiles, const Undetermined& undetermined) {
  if (profiles.empty()) throw InputError("a class without a profile");
  HardwareProfile out = profiles.front();
  out.biases_of = BiasesOf::all_calls;
  out.cost_by_size = middle_costs(profiles);
  for (const HardwareParameter& parameter : hardware_parameters()) {
    std::vector<double> values, determined;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      values.push_back(parameter.get(profiles[i]));
      if (undetermined.empty() || !undetermined[i].contains(parameter.name)) determined.push_back(values.back());
    }
    if (determined.size() > 1 || (determined.size() == 1 && profiles.size() <= 2)) values = determined;
    std::ranges::sort(values);
    parameter.set(out, values[(values.size() - 1) / 2]);
  }
  return out;
}

HardwareProfile mean_of(const std::vector<HardwareProfile>& profiles) {
  HardwareProfile out = middle_of(profiles);
  const auto mean = [&](const auto& value_of) {
    double sum = 0;
    for (const HardwareProfile& p : profiles) sum += std::log(value_of(p));
    return std::exp(sum / static_cast<double>(profiles.size()));
  };
  std::vector<CostAtSize> costs = out.cost_by_size.all();
  for (CostAtSize& cost : costs) cost.factor = mean([&](const HardwareProfile& p) { return MessageCosts(p).factor(cost.size.count); });
  out.cost_by_size = std::move(costs);
  for (const HardwareParameter& p : hardware_parameters()) {
    const auto has_one = [&](const HardwareProfile& of) {
      return p.unit == HardwareParameter::Unit::picoseconds ? p.get(of) > p.low
                                                            : p.unit != HardwareParameter::Unit::bits_per_second || p.get(of) < p.high;
    };
    if (p.unit != HardwareParameter::Unit::bytes && p.unit != HardwareParameter::Unit::count && std::ranges::all_of(profiles, has_one))
      p.set(out, three_digits(mean([&](const HardwareProfile& of) { return p.get(of); })));
  }
  return out;
}

HardwareProfile halfway_from_published(HardwareProfile profile) {
  const HardwareProfile published;
  for (const HardwareParameter& p : hardware_parameters())
    if (p.unit == HardwareParameter::Unit::factor || p.unit == HardwareParameter::Unit::bias)
      p.set(profile, four_decimals(std::sqrt(p.get(profile) * p.get(published))));
  // A call's overhead comes on top of the table's latency: half of the way is their geometric mean.
  const double table_us = nccl_costs(published, {.protocol = NcclProtocol::ll}).base.microseconds();
  const double measured_us = table_us + profile.call_overhead.microseconds();
  profile.call_overhead = SimTime{std::llround(100 * (std::sqrt(table_us * measured_us) - table_us)) * 10'000};  // to 10 ns
  // The table has no cost of channels nor of the network itself, and there is no mean of nothing: half of what was found.
  for (SimTime* time : {&profile.nccl_channel, &profile.nccl_network}) *time = SimTime{std::llround(50 * time->microseconds()) * 10'000};
  return profile;
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
    std::vector<Member> members;
    std::vector<FitPoint> points;
    std::vector<std::string> names;
    for (const Reference* r : known.at(judged.name)) {
      members.emplace_back(*r);
      points.insert(points.end(), members.back().points.begin(), members.back().points.end());
      names.push_back(r->name);
    }
    std::vector<const Scenario*> clusters;
    std::set<NcclAlgorithm> patterns;
    for (Member& member : members) {
      clusters.push_back(&member.simulator.scenario());
      for (const FitPoint& p : member.points)
        if (const auto regime = member.simulator.nccl_regime(p.setup, member.profile)) patterns.insert(regime->pattern);
    }
    const Representative chosen = Representatives(members).of_all();
    const Json values = HardwareForm::write(chosen.profile);
    Json text = {{"schema", 1},
                 {"description", fmt::format("For systems of the class \"{}\" that nobody has measured: {} ({}).", judged.name, chosen.what,
                                             fmt::join(names, ", "))}};
    const std::string source = fmt::format("of the class \"{}\": {}", judged.name, chosen.what);
    for (const auto& [key, value] : values.items())
      if (key != "profile") text[key] = {{"value", value}, {"source", source}};
    text["calibration"] = {{"command", "weft validate --renew"},
                           {"valid_for", valid_range(points, clusters, patterns)},
                           {"held_out_error", errors_of(judged.error)},
                           {"held_out", "each system of the class in turn, predicted from the others"}};
    out.emplace_back(project_scenarios() / "hardware" / (judged.name + ".json"), text.dump(2) + "\n");
  }
  return out;
}

}  // namespace weft
