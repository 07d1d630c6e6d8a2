// What can be fitted: the parameters of a hardware profile by name, and values of the scenario by JSON pointer.
#pragma once

#include "sim/cases/cases.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct MeasuredSetup;

// A parameter of a profile as one number, between bounds within which it is searched.
struct HardwareParameter {
  // A bias is a factor at which a choice changes, as a size may be a threshold. A count says how often something is done.
  enum class Unit { picoseconds, bytes, bits_per_second, fraction, factor, bias, count };
  std::string name;
  Unit unit;
  double low, high;  // a time at the low end is none, a rate at the high end is unlimited
  double (*get)(const HardwareProfile&);
  void (*set)(HardwareProfile&, double);
  bool is_cache = false;  // a size whose every byte counts: what is larger than it is in it in part
};
const std::vector<HardwareParameter>& hardware_parameters();
const HardwareParameter* find_hardware_parameter(std::string_view name);
// The profile with every cost at the end where it is least, and senders that wait for nobody; other sizes at which something else happens,
// and what NCCL chooses, stay.
HardwareProfile with_least_costs(HardwareProfile profile);

// What hosts do, of what points may not tell apart, as a ring alone does not tell its wire from its reductions. The logarithm of a value
// over the usual one, of counts the difference, counts as an error of one point, times the weight.
struct Usual {
  double value, weight;
  std::string_view of = "hosts";
};
std::optional<Usual> usual_of_hosts(std::string_view parameter);  // nothing: of this parameter nothing is usual
std::optional<Usual> usual_of_shared_gpus(std::string_view parameter);
std::optional<Usual> usual_of_nccl(std::string_view parameter);

// Among the names of what is fitted: costs by size, of what the parameters leave (validation/fit/sized_costs.hpp).
inline constexpr std::string_view name_of_sized_costs = "cost_by_size";

// "12.5us", "25Gbps", "0.93": as a profile or scenario would write it.
std::string shown(HardwareParameter::Unit unit, double value);

// One of --fit: a name of the above, or a pointer into the scenario as `weft show` prints it, such as "/fabric/host_link/latency".
// A pointer with "*" for an index ("/fabric/links/*/latency", "/server/links/*/bandwidth") stands for every link, those of one kind
// (between the same kinds of devices, with the same value) having one value.
struct FitParameter {
  std::string name;
  HardwareParameter::Unit unit;
  double low, high;
  double initial;  // the profile's or the scenario's value
  const HardwareParameter* hardware = nullptr;
  std::vector<std::string> places = {};  // where in the scenario, if it is not of the hardware

  // A scale on which simulated times are sums: times in us, rates and fractions by their inverse. Sizes and factors by their logarithm.
  double coordinate(double value) const;
  double value(double coordinate) const;
  double lowest() const;  // bounds of the coordinate
  double highest() const;
  std::string text(double value) const;  // as a profile or a scenario has it
  bool is_at_bound(double value) const;
  bool is_threshold() const;      // searched by trying many
  bool changes_smoothly() const;  // and not only jumps there: searched along its slope
};

// A scenario file with some of its values open.
class OpenScenario {
 public:
  // Throws InputError: a file that is not one case, a name that is no parameter, a pointer to what is no time or rate.
  OpenScenario(std::filesystem::path file, const std::vector<Setting>& settings, const std::vector<std::string>& names);

  const std::vector<FitParameter>& parameters() const { return parameters_; }
  const Scenario& scenario() const { return scenario_; }
  // Where mpi names no library itself, it is this one.
  OpenScenario with_library(MpiLibrary) const;
  OpenScenario without_costs() const;  // by size, which are not fitted then
  // These are as is usual of hosts, unless the scenario's profile says something of them.
  OpenScenario with_usual(const std::vector<std::string>& names) const;
  const std::vector<std::string>& usual() const { return usual_; }  // which have been set so
  // Of the ways between servers these were measured. Where that is one kind, what messages cost on it beside the cables they cost on the
  // other, too, unless the scenario's profile or --fit says something of that.
  OpenScenario with_ways_measured(const std::set<PathClass>& measured) const;
  struct Alike {
    std::string_view parameter, as;
  };
  const std::optional<Alike>& alike() const { return alike_; }  // which has been set so
  // The calls of NCCL that were measured: its choice in others is not known from these.
  OpenScenario with_biases_of(BiasesOf measured) const;
  HardwareProfile hardware(const std::vector<double>& values) const;
  // The scenario with the pointers' values set; the hardware is not touched.
  Scenario scenario(const std::vector<double>& values) const;
  bool has_pointers() const { return has_pointers_; }
  bool fits_rates_of_links() const;
  bool fits_costs() const { return fits_costs_; }          // by size, over what the parameters come to
  Json resolved(const std::vector<double>& values) const;  // the scenario that `scenario` reads
  // The same without what follows from the fabric and the servers: ranks, links and groups can be set in it.
  Json left_open(const std::vector<double>& values) const;

 private:
  std::filesystem::path file_;
  Scenario scenario_;
  Json json_;  // of it, the server described where a pointer leads into it
  std::vector<FitParameter> parameters_;
  std::vector<std::string> usual_;
  std::optional<Alike> alike_;
  bool has_pointers_ = false;
  bool fits_costs_ = false;
};

}  // namespace weft
