#include "validation/fit/objective.hpp"

#include "models/nccl_tuning.hpp"
#include "validation/fit/call_overhead.hpp"
#include "validation/fit/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace weft {
namespace {

using Unit = HardwareParameter::Unit;

constexpr std::int64_t work_of_building = 8000;  // what places and proves it, where a pointer has changed the cluster
constexpr double weight_of_published = 1;        // of factors of it: a tenth more counts as an error of a tenth of one point
// Or of one in so many, as points of one number of ranks are off together, whether it is by what a call costs or by its hops. Several
// numbers of ranks within a server tell these apart, so factors count as much less. Between servers hops are of more kinds the more servers
// there are, and fits that lean less on the table predict other numbers of servers worse (Alps, 4 to 16: 10 % for 5.5).
constexpr double points_of_a_weight = 24;
constexpr double weight_of_launch = 0.3;    // NCCL has twice as long for AMD's processors as for Intel's: an error of 20 %
constexpr double weight_of_overhead = 0.4;  // of overheads over the published ones, where the network's hops may be meant
constexpr double weight_of_time = 0.1;      // of other times over those that were measured elsewhere
constexpr double weight_of_bias = 0.1;      // of when NCCL changes its protocol, which its versions see differently
constexpr double weight_of_choice = 1;      // the time over that of the best choice counts as an error
constexpr std::size_t max_simulators = 24;  // pointers are differentiated one by one, so a round asks for each again

// Of the networks that NCCL runs on none was seen to make handshakes for less (scenarios/nccl.md). What all messages take longer is a
// hop's.
constexpr double min_rendezvous = 2 << 10;

// Nothing is faster out of the cache than in it (but a socket's memory than one of its cores), and a nearer cache is no larger than the one
// behind it.
void keep_physical(HardwareProfile& hardware) {
  const auto not_above = [](BitsPerSecond& rate, BitsPerSecond nearer) {
    if (rate.count > 0 && nearer.count > 0) rate = std::min(rate, nearer);
  };
  not_above(hardware.reduce_rate_beyond_cache, hardware.reduce_rate);
  not_above(hardware.reduce_rate_in_memory, hardware.reduce_rate_beyond_cache);
  not_above(hardware.copy_rate_beyond_cache, hardware.copy_rate);
  if (hardware.reduce_cache < HardwareProfile{}.reduce_cache)
    hardware.reduce_cache = std::min(hardware.reduce_cache, hardware.last_level_cache);
}

}  // namespace

Objective::Objective(const OpenScenario& open, std::vector<const FitPoint*> points, std::shared_ptr<Simulators> simulators,
                     Precision precision)
    : open_(open), points_(std::move(points)), parameters_(open.parameters()), simulators_(std::move(simulators)), precision_(precision) {
  double largest = 1;
  for (const FitPoint* p : points_) largest = std::max(largest, static_cast<double>(p->measured.size_bytes));
  int max_on_a_host = 1;
  for (const FitPoint* p : points_)
    if (p->setup.nodes > 0) max_on_a_host = std::max(max_on_a_host, p->setup.ranks / p->setup.nodes);
  const bool of_nccl = std::ranges::any_of(points_, [](const FitPoint* p) { return p->setup.algorithm.name == "nccl"; });
  constexpr double repeats_within = 1.05;  // calls that are made again
  for (FitParameter& p : parameters_) {    // a threshold outside of what was measured makes no difference
    if (p.unit == Unit::bytes) p.low = std::max(16.0, p.low), p.high = 2 * std::max(p.low, largest);
    if (p.hardware && p.name == "process_launch") p.high = std::min(p.high, 1e6 * repeats_within * max_launch_us(points_));
    if (p.name == "last_level_cache") p.high *= max_on_a_host;
    if (p.name == "rendezvous_threshold" && of_nccl) p.low = min_rendezvous, p.high = std::max(p.low, p.high);
  }
  std::set<int> numbers_of_ranks;
  for (const FitPoint* p : points_) numbers_of_ranks.insert(p->setup.ranks);
  const bool in_a_server = std::ranges::all_of(points_, [](const FitPoint* p) { return p->setup.nodes == 1; });
  if (in_a_server && !numbers_of_ranks.empty()) numbers_of_ranks_ = static_cast<double>(numbers_of_ranks.size());
  if (of_nccl) keep_biases_to_what_is_taken();
}

void Objective::keep_biases_to_what_is_taken() {
  using Takes = bool (*)(const Regime&);
  static const std::map<std::string, Takes> taken = {
      {"ll_bias", [](const Regime& r) { return r.protocol == NcclProtocol::ll; }},
      {"ll128_bias", [](const Regime& r) { return r.protocol == NcclProtocol::ll128 && r.between_servers; }},
      {"tree_bias", [](const Regime& r) { return r.pattern == NcclAlgorithm::tree; }},
      {"nvls_bias", [](const Regime& r) { return nvswitches_add(r); }}};
  std::vector<double> initial;
  for (const FitParameter& p : parameters_) initial.push_back(p.initial);
  for (FitParameter& p : parameters_) {
    if (p.unit != Unit::bias || p.high <= p.initial) continue;
    const bool is_taken = std::ranges::any_of(nccl_regimes(initial),
                                              [&](const std::optional<Regime>& regime) { return regime && taken.at(p.name)(*regime); });
    if (!is_taken) p.high = std::max(p.low, p.initial);
  }
}

Simulator& Simulators::at(const std::vector<double>& values) {
  std::vector<double> pointers;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!open_->parameters()[i].hardware) pointers.push_back(values[i]);
  const auto at = std::ranges::find(
      known_, pointers, [](const auto& s) -> const auto& { return s.first; });
  if (at != known_.end()) {
    std::rotate(at, at + 1, known_.end());
    return known_.back().second;
  }
  if (known_.size() == max_simulators) {
    work_besides_ += known_.front().second.work();
    known_.erase(known_.begin());
  }
  work_besides_ += work_of_building;
  Simulator& out = known_.emplace_back(pointers, Simulator(open_->scenario(values))).second;
  out.tell_beyond(max_messages_);
  return out;
}

void Simulators::tell_beyond(std::int64_t messages) {
  max_messages_ = messages;
  for (auto& [pointers, simulator] : known_) simulator.tell_beyond(messages);
}

std::int64_t Simulators::work() const {
  std::int64_t out = work_besides_;
  for (const auto& [pointers, simulator] : known_) out += simulator.work();
  return out;
}

std::vector<double> Objective::physical(std::vector<double> values) const {
  HardwareProfile hardware = open_.hardware(values);
  keep_physical(hardware);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const HardwareParameter* p = parameters_[i].hardware)
      values[i] = std::clamp(p->get(hardware), parameters_[i].low, parameters_[i].high);
  return values;
}

HardwareProfile Objective::hardware_at(const std::vector<double>& values) const {
  HardwareProfile hardware = open_.hardware(values);
  hardware.sources.clear();  // each simulation copies it
  keep_physical(hardware);
  return hardware;
}

std::vector<CostAtSize> Objective::calls(const std::vector<double>& values) {
  Simulator& simulator = simulators_->at(values);
  const HardwareProfile hardware = hardware_at(values);
  std::vector<CostAtSize> out;
  for (const FitPoint* p : points_) out.push_back(simulator.call_of(p->setup, hardware));
  return out;
}

std::vector<std::optional<Regime>> Objective::nccl_regimes(const std::vector<double>& values) {
  Simulator& simulator = simulators_->at(values);
  const HardwareProfile hardware = hardware_at(values);
  std::vector<std::optional<Regime>> out;
  for (const FitPoint* p : points_) out.push_back(simulator.nccl_regime(p->setup, hardware));
  return out;
}

std::vector<std::vector<std::int64_t>> Objective::message_sizes(const std::vector<double>& values) {
  Simulator& simulator = simulators_->at(values);
  const HardwareProfile hardware = hardware_at(values);
  std::vector<std::vector<std::int64_t>> out;
  for (const FitPoint* p : points_) out.push_back(simulator.message_sizes(p->setup, hardware));
  return out;
}

std::vector<double> Objective::simulated(const std::vector<double>& values, const std::vector<CostAtSize>& costs) {
  return simulated_with(hardware_at(values), values, costs);
}

std::vector<double> Objective::simulated_besides_launches(const std::vector<double>& values, const std::vector<CostAtSize>& costs) {
  HardwareProfile hardware = hardware_at(values);
  hardware.process_launch = {};
  return simulated_with(std::move(hardware), values, costs);
}

std::vector<double> Objective::launched_us(const std::vector<double>& values) const {
  const HardwareProfile hardware = hardware_at(values);
  std::vector<double> out;
  for (const FitPoint* point : points_) out.push_back(min_launched_us(point->setup, hardware));
  return out;
}

std::vector<double> Objective::simulated_with(HardwareProfile hardware, const std::vector<double>& values,
                                              const std::vector<CostAtSize>& costs) {
  ++evaluations_;
  Simulator& simulator = simulators_->at(values);
  if (!costs.empty()) hardware.cost_by_size = costs;
  std::vector<double> out;
  for (const FitPoint* point : points_)
    out.push_back(precision_ == Precision::told ? simulator.told_us(point->setup, hardware) : simulator.about_us(point->setup, hardware));
  return out;
}

std::optional<Usual> Objective::usual(std::size_t parameter) const {
  const std::string& name = parameters_[parameter].name;
  if (open_.scenario().server.ranks > 0) return usual_of_shared_gpus(name);
  if (const auto known = usual_of_nccl(name)) return known;
  if (name == "call_overhead" && fits_nccl()) return {};
  if (name == "sockets_overhead" && open_.scenario().server.cores == 0) return {};  // of GPUs nothing is usual
  return usual_of_hosts(name);
}

std::vector<double> Objective::errors(const std::vector<double>& values) {
  std::vector<double> out = simulated(values);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::log(std::max(out[i], 1e-6) / points_[i]->wanted_us());
  const double of_many = std::sqrt(std::max(1.0, static_cast<double>(points_.size()) / points_of_a_weight)) / numbers_of_ranks_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const FitParameter& p = parameters_[i];
    const bool is_bias = p.unit == Unit::bias;
    if (is_bias || p.unit == Unit::factor) {
      const double weight = is_bias ? weight_of_bias : of_many * (p.name == "nccl_launch" ? weight_of_launch : weight_of_published);
      out.push_back(weight * std::log(values[i] / std::clamp(p.initial, p.low, p.high)));
    }
    if (const auto known = usual(i))
      out.push_back(known->weight *
                    (p.unit == Unit::count ? values[i] - known->value : std::log(std::clamp(values[i], p.low, p.high) / known->value)));
  }
  if (!fits_nccl()) return out;
  out.push_back(weight_of_choice * regret(values));
  // A handshake many times as long as those that were measured (handshakes_of in models/nccl_as_run.cpp) is something else that larger
  // calls take longer for, and as a constant is soon nothing beyond their sizes; and most networks have none. So is a cost of channels many
  // times as long as those that were measured, above all where all calls were between servers; there what hops cost beyond the table looks
  // like a call's overhead, too, but grows with the servers.
  const bool between = all_between_servers();
  const auto beyond = [](double us, double usual_us) { return std::log1p(us / usual_us); };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].hardware) continue;
    const double us = 1e-6 * (values[i] - parameters_[i].low);
    if (parameters_[i].name == "rendezvous") out.push_back(weight_of_overhead * beyond(us, 8));
    if (parameters_[i].name == "nccl_network")
      out.push_back(weight_of_time * beyond(us, nccl_costs({}, {.protocol = NcclProtocol::ll}).base.microseconds()));
    if (parameters_[i].name == "simple_base") out.push_back(weight_of_time * beyond(us, 8));
    if (parameters_[i].name == "nccl_hop") out.push_back(weight_of_time * beyond(us, 1));
    if (parameters_[i].name == "nccl_channel") out.push_back((between ? weight_of_overhead : weight_of_time) * beyond(us, 1));
    if (parameters_[i].name == "call_overhead" && between) {
      HardwareProfile hardware;
      parameters_[i].hardware->set(hardware, values[i]);
      const SimTime published = nccl_costs(hardware, {.protocol = NcclProtocol::ll}).base;
      out.push_back(weight_of_overhead * beyond(hardware.call_overhead.microseconds(), published.microseconds()));
    }
  }
  return out;
}

bool Objective::all_between_servers() const {
  return std::ranges::all_of(points_, [](const FitPoint* p) { return p->setup.nodes > 1; });
}

bool Objective::fits_nccl() const {
  return std::ranges::any_of(parameters_, [](const FitParameter& p) { return p.unit == Unit::factor || p.unit == Unit::bias; });
}

double Objective::regret(const std::vector<double>& values) {
  Simulator& simulator = simulators_->at(values);
  const HardwareProfile hardware = hardware_at(values);
  double sum = 0;
  for (const FitPoint* p : points_) sum = std::hypot(sum, simulator.regret(p->setup, hardware));
  return sum;
}

double Objective::loss(const std::vector<double>& values) { return robust_loss(errors(values), error_knee); }

std::vector<std::int64_t> Objective::work_of_points() {
  std::vector<double> initial;
  for (const FitParameter& p : parameters_) initial.push_back(p.initial);
  Simulator& simulator = simulators_->at(initial);
  std::vector<std::int64_t> out;
  for (const FitPoint* p : points_) out.push_back(simulator.work_of(p->setup));
  return out;
}

std::vector<const FitPoint*> Objective::cheapest(double share, std::size_t fewest) {
  const std::vector<std::int64_t> works = work_of_points();
  std::vector<std::size_t> order(points_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return works[i]; });
  std::map<std::string, int> taken;
  std::vector<int> turn(points_.size());  // of those of a point's collective, how many are cheaper
  for (const std::size_t i : order) turn[i] = taken[points_[i]->setup.collective]++;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return turn[i]; });
  const double limit = share * static_cast<double>(std::accumulate(works.begin(), works.end(), std::int64_t{0}));
  double sum = 0;
  std::vector<const FitPoint*> out;
  for (const std::size_t i : order) {
    sum += static_cast<double>(works[i]);
    if (sum > limit && out.size() >= fewest) break;
    out.push_back(points_[i]);
  }
  return out;
}

std::vector<const FitPoint*> Objective::thinned(std::int64_t max_work) {
  std::vector<std::int64_t> works = work_of_points();
  for (std::size_t i = 0; i < works.size(); ++i)
    if (points_[i]->setup.algorithm.name == "nccl") works[i] = 0;  // they share their times, once simulated (Simulator::about_us)
  if (std::accumulate(works.begin(), works.end(), std::int64_t{0}) <= max_work) return points_;
  struct Series {
    std::vector<std::size_t> by_size = {};
    std::int64_t work = 0;
  };
  std::map<std::tuple<std::string, std::string, int>, Series> found;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const MeasuredSetup& e = points_[i]->setup;
    Series& series = found[{e.collective, e.algorithm.name, e.ranks}];
    series.by_size.push_back(i), series.work += works[i];
  }
  std::vector<Series> cheapest_first;
  for (auto& [of, series] : found) cheapest_first.push_back(std::move(series));
  std::ranges::stable_sort(cheapest_first, {}, &Series::work);
  std::vector<const FitPoint*> out;
  std::int64_t left = max_work, series_left = std::ssize(cheapest_first);
  for (Series& series : cheapest_first) {
    std::ranges::stable_sort(series.by_size, {}, [&](std::size_t i) { return points_[i]->setup.size; });
    const std::int64_t share = std::max<std::int64_t>(1, left / series_left--);
    const auto stride = static_cast<std::size_t>((series.work + share - 1) / share);
    for (std::size_t k = 0; k < series.by_size.size(); k += std::max<std::size_t>(1, stride)) {
      out.push_back(points_[series.by_size[k]]);
      left -= works[series.by_size[k]];
    }
  }
  return out;
}

double Objective::shortest_us() const {
  double out = std::numeric_limits<double>::infinity();
  for (const FitPoint* p : points_) out = std::min(out, p->measured.time_us);
  return points_.empty() ? 1 : out;
}

double Objective::fastest_ns_per_byte() const {
  double out = std::numeric_limits<double>::infinity();
  for (const FitPoint* p : points_)
    if (p->measured.size_bytes > 0) out = std::min(out, 1e3 * p->measured.time_us / static_cast<double>(p->measured.size_bytes));
  return std::isfinite(out) ? out : 0;
}

}  // namespace weft
