#include "validation/fit/parameters.hpp"

#include "kernels/base/gather.hpp"
#include "kernels/files/files.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/training_check.hpp"
#include "sim/json/form.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/hardware_fields.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/fit/pointers.hpp"
#include "validation/fit/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

namespace weft {
namespace {

using Unit = HardwareParameter::Unit;

// NCCL's channels take 0.2 to 2.6 us each (validation/data/public_*): what grows faster with the size of a call is something else.
constexpr SimTime max_of_channel = 4_us;

// 8 to 23 us on five kinds of servers (simple_base).
constexpr SimTime max_of_simple = 60_us;

// What is paid once for the network was told from hops by several numbers of servers at 0 to 6 us (validation/data/abci2_nccl).
constexpr SimTime max_of_network = 8_us;

// Hops that take longer than NCCL's table says are a slow network's, in any protocol (nccl_hop); a factor is of faster ones.
constexpr double most_of_network_hops = 1;

constexpr double smallest_cache = 32 << 10;  // the first level's, of processors of servers

template <SimTime HardwareProfile::*member>
HardwareParameter time_parameter(std::string name, SimTime most = 10_ms) {
  return {std::move(name),
          Unit::picoseconds,
          1e3,
          static_cast<double>(most.ps),
          [](const HardwareProfile& p) { return static_cast<double>((p.*member).ps); },
          [](HardwareProfile& p, double ps) { (p.*member).ps = ps <= 1.001e3 ? 0 : std::llround(ps); }};
}
template <BitsPerSecond HardwareProfile::*member>
HardwareParameter rate_parameter(std::string name) {
  static constexpr double unlimited = 1e14;
  return {std::move(name),
          Unit::bits_per_second,
          1e8,
          unlimited,
          [](const HardwareProfile& p) { return (p.*member).count == 0 ? unlimited : static_cast<double>((p.*member).count); },
          [](HardwareProfile& p, double rate) { (p.*member).count = rate >= 0.999 * unlimited ? 0 : std::llround(rate); }};
}
template <Bytes HardwareProfile::*member>
HardwareParameter size_parameter(std::string name, double least = 1) {
  static constexpr double never = 1e12;
  return {std::move(name),
          Unit::bytes,
          least,
          never,
          [](const HardwareProfile& p) { return std::min(never, static_cast<double>((p.*member).count)); },
          [](HardwareProfile& p, double bytes) { (p.*member).count = bytes >= 0.999 * never ? INT64_MAX : std::llround(bytes); }};
}
template <Bytes HardwareProfile::*member>
HardwareParameter cache_parameter(std::string name) {
  HardwareParameter out = size_parameter<member>(std::move(name), smallest_cache);
  out.is_cache = true;
  return out;
}
template <double HardwareProfile::*member>
HardwareParameter fraction_parameter(std::string name) {
  return {std::move(name),
          Unit::fraction,
          0.05,
          1,
          [](const HardwareProfile& p) { return p.*member; },
          [](HardwareProfile& p, double value) { p.*member = value; }};
}

// Of costs that are known up to a factor: none below the low end.
template <double HardwareProfile::*member>
HardwareParameter factor_parameter(std::string name, double low, double high, Unit unit = Unit::factor) {
  return {std::move(name),
          unit,
          low,
          high,
          [](const HardwareProfile& p) { return p.*member; },
          [](HardwareProfile& p, double value) { p.*member = value; }};
}

}  // namespace

const std::vector<HardwareParameter>& hardware_parameters() {
  using H = HardwareProfile;
  static const std::vector<HardwareParameter> all = {
      time_parameter<&H::send_overhead>("send_overhead"), time_parameter<&H::receive_overhead>("receive_overhead"),
      time_parameter<&H::first_use>("first_use"), time_parameter<&H::rendezvous>("rendezvous"),
      size_parameter<&H::rendezvous_threshold>("rendezvous_threshold"), time_parameter<&H::reduce_launch>("reduce_launch"),
      rate_parameter<&H::reduce_rate>("reduce_rate"), cache_parameter<&H::reduce_cache>("reduce_cache"),
      rate_parameter<&H::reduce_rate_beyond_cache>("reduce_rate_beyond_cache"), fraction_parameter<&H::wire_efficiency>("wire_efficiency"),
      fraction_parameter<&H::eager_efficiency>("eager_efficiency"), rate_parameter<&H::stream_rate>("stream_rate"),
      rate_parameter<&H::staging_rate>("staging_rate"), fraction_parameter<&H::message_efficiency>("message_efficiency"),
      time_parameter<&H::call_overhead>("call_overhead"), size_parameter<&H::eager_threshold>("eager_threshold"),
      size_parameter<&H::inline_threshold>("inline_threshold"), time_parameter<&H::beyond_inline>("beyond_inline"),
      time_parameter<&H::nvlink_overhead>("nvlink_overhead"), time_parameter<&H::pcie_overhead>("pcie_overhead"),
      time_parameter<&H::sockets_overhead>("sockets_overhead"), time_parameter<&H::rail_overhead>("rail_overhead"),
      time_parameter<&H::network_overhead>("network_overhead"), cache_parameter<&H::last_level_cache>("last_level_cache"),
      rate_parameter<&H::reduce_rate_in_memory>("reduce_rate_in_memory"), rate_parameter<&H::copy_rate>("copy_rate"),
      rate_parameter<&H::copy_rate_beyond_cache>("copy_rate_beyond_cache"), rate_parameter<&H::copy_rate_in_memory>("copy_rate_in_memory"),
      rate_parameter<&H::copy_rate_of_socket>("copy_rate_of_socket"), rate_parameter<&H::host_eager_copy_rate>("host_eager_copy_rate"),
      time_parameter<&H::host_handshake>("host_handshake"), size_parameter<&H::fresh_buffer>("fresh_buffer"),
      rate_parameter<&H::page_fault_rate>("page_fault_rate"), time_parameter<&H::local_copy>("local_copy"),
      factor_parameter<&H::initial_copies>("initial_copies", 0, max_initial_copies, Unit::count),
      rate_parameter<&H::eager_copy_rate>("eager_copy_rate"), time_parameter<&H::handshake>("handshake"),
      size_parameter<&H::handshake_threshold>("handshake_threshold"), rate_parameter<&H::unpipelined_rate>("unpipelined_rate"),
      fraction_parameter<&H::sender_share>("sender_share"), factor_parameter<&H::nccl_base>("nccl_base", 0.05, 20),
      factor_parameter<&H::ll_hops>("ll_hops", 0.05, 20), factor_parameter<&H::ll128_hops>("ll128_hops", 0.05, 20),
      factor_parameter<&H::simple_hops>("simple_hops", 0.05, 20),
      factor_parameter<&H::network_hops>("network_hops", 0.05, most_of_network_hops),
      factor_parameter<&H::nccl_launch>("nccl_launch", 0.05, 20), factor_parameter<&H::nccl_peer>("nccl_peer", 0.05, 20),
      time_parameter<&H::nccl_channel>("nccl_channel", max_of_channel), time_parameter<&H::simple_base>("simple_base", max_of_simple),
      time_parameter<&H::nccl_network>("nccl_network", max_of_network), time_parameter<&H::nccl_hop>("nccl_hop"),
      rate_parameter<&H::nccl_own_rate>("nccl_own_rate"), time_parameter<&H::process_launch>("process_launch"),
      factor_parameter<&H::ll_efficiency>("ll_efficiency", 0.01, 1), factor_parameter<&H::ll128_efficiency>("ll128_efficiency", 0.05, 1),
      factor_parameter<&H::simple_efficiency>("simple_efficiency", 0.05, 1),
      factor_parameter<&H::tree_efficiency>("tree_efficiency", 0.2, 1), factor_parameter<&H::nvls_efficiency>("nvls_efficiency", 0.2, 1),
      factor_parameter<&H::ll_bias>("ll_bias", bias_of_none, 5, Unit::bias),
      // Below what LL128's latencies are over LL's, so that few bytes are LL's on any number of servers.
      factor_parameter<&H::ll128_bias>("ll128_bias", bias_of_none, std::numbers::sqrt2, Unit::bias),
      factor_parameter<&H::tree_bias>("tree_bias", 0.2, 5, Unit::bias), factor_parameter<&H::nvls_bias>("nvls_bias", 0.2, 5, Unit::bias)};
  return all;
}

const HardwareParameter* find_hardware_parameter(std::string_view name) {
  for (const HardwareParameter& parameter : hardware_parameters())
    if (parameter.name == name) return &parameter;
  return nullptr;
}

HardwareProfile with_least_costs(HardwareProfile profile) {
  for (const HardwareParameter& p : hardware_parameters()) {
    if (p.unit == Unit::bytes || p.unit == Unit::bias) continue;
    const bool is_cost =
        p.unit == Unit::picoseconds || p.unit == Unit::count || (p.unit == Unit::factor && !p.name.ends_with("efficiency"));
    p.set(profile, is_cost ? p.low : p.high);
  }
  profile.eager_threshold = profile.rendezvous_threshold = HardwareProfile{}.rendezvous_threshold;  // nobody waits for anybody
  profile.cost_by_size = {};
  return profile;
}

std::optional<Usual> usual_of_hosts(std::string_view parameter) {
  // Of a wire what headers leave. What messages cost by their size: on the four RDMA hosts of validation/data/llnl_cloud_osu a latency is
  // longer than the wire's by 1 to 4 us at 8 KiB, 4 to 11 us at 64 KiB and 5 to 14 us (EFA: 43 us) at 256 KiB, from 0.1 to 0.7 of it keeps
  // a sender from its next message, and three of them send 2.4 to 4 messages of a byte in a microsecond. Pages
  // were touched for the first time by a core of an AMD EPYC, 256 MiB of them of 4 KiB. It summed int32 at 400 Gb/s in its cache and 150
  // beyond, as g++ vectorised them; MPI libraries do so at 226 (ABCI, float), 114 (Leonardo), 29 (LUMI) and 771 (Oracle, noisy), beyond the
  // cache at 113 (MareNostrum 5) and 168 (Oracle), in memory at 67 (MareNostrum 5), each fitted to all-reduces: the geometric means, those
  // of the slow ones in cache being theirs beyond it, too. Twice as much or half of a rate counts as an error of 20 %. What a call of MPI
  // costs besides its messages: the geometric mean of 10 us (MareNostrum 5), 13 (Leonardo), 1.2 (LUMI; HLC-Lab/pico 413bc5d, by several
  // algorithms), 0.1 and 0.5 (ABCI with 8 and 4 ranks a host; aistabci/abci2.0benchmark), 2.5 (ORFEO), 20 (CloudLab), 0.5, 0.9 and 0.1
  // (Google; converged-computing), each fitted to all-reduces or broadcasts on several numbers of hosts. What a core copies of messages
  // within its host, while all others do so too, likewise: 9 Gb/s (AlaSKA) and 15 (CSD3; stackhpc/hpc-tests), 19 and 47 (ABCI), 21 (Azure
  // HB120, Google c2d), 26 (ORFEO), 30 and 92 (Alps). In memory all-gathers of 32 ranks on each of two hosts received 0.7 GB/s a rank of
  // more than 8 MiB, 90 Gb/s a socket (AlaSKA, CSD3), ring all-reduces of 36 on each of four passed 1.1 to 1.3 GB/s, their sums included
  // (Oracle BM.Optimized3.36, Open MPI, a single noisy series), 173 Gb/s a socket, and of 8 ranks on each of 2 to 16 hosts 45 Gb/s, 180 a
  // socket (ABCI), while 4 a host, of 22 Gb/s each, were no slower in memory: the geometric mean of the four. Two hosts of 32 ranks each
  // pack, unpack and sort 190 pieces in an all-to-all of Bruck, and what it takes of few bytes longer than its messages comes to 65 ns
  // (CSD3) and 130 ns (AlaSKA, older processors) of each.
  static const std::map<std::string_view, Usual> all = {
      {"wire_efficiency", {0.9, 0.3}},        {"reduce_rate", {190e9, 0.3}},       {"reduce_rate_beyond_cache", {100e9, 0.3}},
      {"reduce_rate_in_memory", {90e9, 0.3}}, {"reduce_cache", {1 << 20, 0.15}},   {"last_level_cache", {32 << 20, 0.15}},
      {"page_fault_rate", {24e9, 0.3}},       {"send_overhead", {0.3e6, 0.15}},    {"initial_copies", {1, 0.3}},
      {"eager_copy_rate", {24e9, 0.15}},      {"handshake", {8e6, 0.15}},          {"sender_share", {0.3, 0.15}},
      {"call_overhead", {1.3e6, 0.05}},       {"copy_rate", {24e9, 0.3}},          {"copy_rate_in_memory", {125e9, 0.3}},
      {"local_copy", {0.09e6, 0.15}},         {"sockets_overhead", {0.8e6, 0.15}}, {"copy_rate_of_socket", {130e9, 0.1}},
      {"host_eager_copy_rate", {8e9, 0.15}},  {"host_handshake", {0.8e6, 0.15}}};
  const auto known = all.find(parameter);
  return known == all.end() ? std::nullopt : std::optional{known->second};
}

std::optional<Usual> usual_of_shared_gpus(std::string_view parameter) {
  // Of an H100 and an H200. In memory: what kernels took of 256 MiB (validation/data/h100_single and h200_single, output/kernels.txt):
  // copies 1.49 and 2.08 TB/s, sums of float32 1.00 and 1.41, the geometric means. A copy in the cache reads and writes 5120 bytes a clock
  // (NVIDIA A100 whitepaper, 2020), and so copies 4.5 TB/s at 1.755 GHz; a sum reads two and writes one. The cache is of 50 MB.
  static const std::map<std::string_view, Usual> all = {{"copy_rate", {36e12, 0.3, "GPUs"}},
                                                        {"copy_rate_in_memory", {14.1e12, 0.3, "GPUs"}},
                                                        {"reduce_rate", {24e12, 0.3, "GPUs"}},
                                                        {"reduce_rate_in_memory", {9.5e12, 0.3, "GPUs"}},
                                                        {"last_level_cache", {50e6, 0.15, "GPUs"}}};
  const auto known = all.find(parameter);
  return known == all.end() ? std::nullopt : std::optional{known->second};
}

std::optional<Usual> usual_of_nccl(std::string_view parameter) {
  // On one number of GPUs it is not told from what links carry. Of all-gathers, reduce-scatters and rings' all-reduces of 4 to 512 MiB on
  // 2, 4 and 8 GPUs: 660 GB/s (A100), 780 (H100, H200), 1240 (B200) and 1260 (B300; ai-dynamo/aiconfigurator), the geometric mean.
  if (parameter == "nccl_own_rate") return Usual{7.3e12, 0.3, "GPUs"};
  return {};
}

std::string shown(Unit unit, double value) {
  switch (unit) {
    case Unit::picoseconds:
      return value <= 1.001e3 ? "0s" : to_string(SimTime{std::llround(value)});
    case Unit::bytes:
      return value >= 0.999e12 ? "never" : to_string(Bytes{std::llround(value)});
    case Unit::bits_per_second:
      return value >= 0.999e14 ? "unlimited" : to_string(BitsPerSecond{std::llround(value)});
    case Unit::fraction:
    case Unit::factor:
    case Unit::bias:
    case Unit::count:
      return fmt::format("{:.4g}", value);
  }
  return {};
}

// A link's rate is a number, whatever is large for a profile's.
std::string FitParameter::text(double value) const {
  const bool of_link = unit == Unit::bits_per_second && hardware == nullptr;
  return of_link ? to_string(BitsPerSecond{std::llround(value)}) : shown(unit, value);
}

double FitParameter::coordinate(double v) const {
  v = std::clamp(v, low, high);
  switch (unit) {
    case Unit::picoseconds:
      return v <= 1.001e3 ? 0 : v * 1e-6;
    case Unit::bits_per_second:
      return v >= 0.999e14 ? 0 : 8e9 / v;  // ns a byte
    case Unit::fraction:
      return 1 / v;
    case Unit::bytes:
    case Unit::factor:
    case Unit::bias:
      return std::log2(v);
    case Unit::count:
      return v;
  }
  return 0;
}

double FitParameter::value(double c) const {
  c = std::clamp(c, lowest(), highest());
  switch (unit) {
    case Unit::picoseconds:
      return std::max(low, c * 1e6);
    case Unit::bits_per_second:
      return c <= 0 ? high : std::clamp(8e9 / c, low, high);
    case Unit::fraction:
      return std::clamp(1 / c, low, high);
    case Unit::bytes:
    case Unit::factor:
    case Unit::bias:
      return std::exp2(c);
    case Unit::count:
      return c;
  }
  return 0;
}

double FitParameter::lowest() const { return std::min(coordinate(low), coordinate(high)); }
double FitParameter::highest() const { return std::max(coordinate(low), coordinate(high)); }

bool FitParameter::is_threshold() const { return unit == Unit::bytes || unit == Unit::bias; }
bool FitParameter::changes_smoothly() const { return !is_threshold() || (hardware && hardware->is_cache); }
bool FitParameter::is_at_bound(double v) const { return v <= low * 1.001 || v >= high * 0.999; }

namespace {

// Without what follows from the fabric and the servers, so that a scenario of others may be made of it: the ranks where they are all,
// groups and NICs where they are those of the servers, kinds of links where they are alike.
void leave_open(const Scenario& scenario, Json& json) {
  Json &fabric = json["fabric"], &workload = json["workload"];
  if (scenario.workload.ranks == endpoints(scenario.fabric.spec, scenario.server)) workload["ranks"] = "all";
  for (std::size_t i = 0; i < scenario.workload.algorithms.size(); ++i) {
    Json& written = workload["algorithm"][i];
    const AlgorithmSettings open = without_server_defaults(scenario, scenario.workload.algorithms[i]).settings;
    if (!written.is_object()) continue;
    if (open.group == 0) written.erase("group");
    if (open.nics == 0) written.erase("nics");
  }
  if (!fabric.contains("host_link")) return;
  const Json link = fabric["host_link"];
  const auto kinds = {"host_link", "fabric_link", "global_link"};
  if (!std::ranges::all_of(kinds, [&](const char* kind) { return !fabric.contains(kind) || fabric[kind] == link; })) return;
  for (const char* kind : kinds) fabric.erase(kind);
  fabric["link"] = link;
}

}  // namespace

OpenScenario::OpenScenario(std::filesystem::path file, const std::vector<Setting>& settings, const std::vector<std::string>& names)
    : file_(std::move(file)) {
  auto cases = load_cases(file_, settings);
  scenario_ = std::move(cases.front().scenario);
  std::vector<std::string> problems;
  if (cases.size() > 1)
    problems.push_back(fmt::format("{}: a scenario of one case is needed here, its sweep makes {}", file_.string(), cases.size()));
  gather(problems, [&] { refuse_training(file_.string(), scenario_); });
  if (scenario_.repeat) problems.push_back(file_.string() + ": /repeat: a fit simulates each point once: leave it out");
  json_ = to_json(scenario_);
  std::set<std::string> named;
  for (const std::string& name : names) {
    if (!named.insert(name).second) {
      problems.push_back(fmt::format("--fit: {} is named twice", name));
    } else if (name == name_of_sized_costs) {
      fits_costs_ = true;
    } else if (name.starts_with('/')) {
      if (name.starts_with("/server/") && !scenario_.server.is_sub_node()) json_["server"] = described(scenario_.server);
      has_pointers_ = true;
      gather(problems, [&] {
        for (FitParameter& parameter : open_pointer(name, json_)) parameters_.push_back(std::move(parameter));
      });
    } else if (const HardwareParameter* hardware = find_hardware_parameter(name)) {
      parameters_.push_back({name, hardware->unit, hardware->low, hardware->high, hardware->get(scenario_.hardware), hardware});
    } else {
      std::vector<std::string> allowed;
      for (const HardwareParameter& parameter : hardware_parameters()) allowed.push_back(parameter.name);
      allowed.emplace_back(name_of_sized_costs);
      problems.push_back("--fit: " + unknown_name("parameter", name, allowed));
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
}

bool OpenScenario::fits_rates_of_links() const {
  return std::ranges::any_of(parameters_, [](const FitParameter& p) { return !p.hardware && p.unit == Unit::bits_per_second; });
}

OpenScenario OpenScenario::with_library(MpiLibrary library) const {
  OpenScenario out = *this;
  out.scenario_.hardware.mpi_library = library;
  out.scenario_.hardware.sources["mpi_library"] = "the rules that fit the measurements best";
  out.json_["hardware"]["mpi_library"] = name_of(library);
  return out;
}

OpenScenario OpenScenario::without_costs() const {
  OpenScenario out = *this;
  out.fits_costs_ = false;
  return out;
}

OpenScenario OpenScenario::with_usual(const std::vector<std::string>& names) const {
  OpenScenario out = *this;
  const HardwareProfile none;
  for (const std::string& name : names) {
    const HardwareParameter& parameter = *find_hardware_parameter(name);
    if (parameter.get(scenario_.hardware) != parameter.get(none)) continue;
    parameter.set(out.scenario_.hardware, usual_of_hosts(name)->value);
    out.json_["hardware"][name] = HardwareForm::write(out.scenario_.hardware).at(name);
    out.usual_.push_back(name);
  }
  return out;
}

OpenScenario OpenScenario::with_ways_measured(const std::set<PathClass>& measured) const {
  constexpr std::string_view over_one = "rail_overhead", over_several = "network_overhead";
  OpenScenario out = *this;
  if (measured.size() != 1) return out;
  const bool is_one = measured.contains(PathClass::rail);
  const Alike alike{.parameter = is_one ? over_several : over_one, .as = is_one ? over_one : over_several};
  const auto fits = [&](std::string_view name) { return std::ranges::any_of(parameters_, [&](const auto& p) { return p.name == name; }); };
  const HardwareParameter& unmeasured = *find_hardware_parameter(alike.parameter);
  if (fits(alike.as) && !fits(alike.parameter) && unmeasured.get(scenario_.hardware) == unmeasured.get(HardwareProfile{}))
    out.alike_ = alike;
  return out;
}

OpenScenario OpenScenario::with_biases_of(BiasesOf measured) const {
  OpenScenario out = *this;
  if (std::ranges::none_of(parameters_, [](const FitParameter& p) { return p.unit == Unit::bias; })) return out;
  out.scenario_.hardware.biases_of = measured;
  out.scenario_.hardware.sources["biases_of"] = "the calls that were measured";
  out.json_["hardware"]["biases_of"] = name_of(measured);
  return out;
}

HardwareProfile OpenScenario::hardware(const std::vector<double>& values) const {
  HardwareProfile profile = scenario_.hardware;
  if (fits_costs_) profile.cost_by_size = {};
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].hardware) parameters_[i].hardware->set(profile, values[i]);
  if (alike_) find_hardware_parameter(alike_->parameter)->set(profile, find_hardware_parameter(alike_->as)->get(profile));
  return profile;
}

Json OpenScenario::resolved(const std::vector<double>& values) const {
  Json out = json_;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    for (const std::string& place : parameters_[i].places) set_at(out, place, parameters_[i].text(values[i]));
  return out;
}

Json OpenScenario::left_open(const std::vector<double>& values) const {
  Json out = resolved(values);
  leave_open(scenario_, out);
  return out;
}

Scenario OpenScenario::scenario(const std::vector<double>& values) const {
  if (!has_pointers_) return scenario_;
  const ProfileLibrary profiles = ProfileLibrary::beside(file_);
  Input in{.profiles = &profiles};
  auto cases = expand(resolved(values), {}, scenario_.name, in);
  if (!in.problems.empty()) throw InputError(lines_of(file_.string(), in.problems));
  return std::move(cases.front().scenario);
}

}  // namespace weft
