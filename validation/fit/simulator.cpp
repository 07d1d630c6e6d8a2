#include "validation/fit/simulator.hpp"

#include "sim/network/flow_network.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/shared_run.hpp"
#include "sim/simulate.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace weft {
namespace {

bool is_point_to_point(std::string_view collective) {
  return collective == "latency" || collective == "bandwidth" || collective == "bidirectional_bandwidth";
}
// Messages of one measurement that are on their way at once.
int messages_of(std::string_view collective) {
  return collective == "bandwidth" ? bandwidth_window : collective == "bidirectional_bandwidth" ? 2 * bandwidth_window : 1;
}

// Rank 0 sends once, or a window full that rank 1 then answers; or both send a window full at once. A chunk is a byte.
Schedule point_to_point(std::string_view collective, std::int64_t bytes) {
  const int count = static_cast<int>(bytes);
  Schedule s{.name = "point_to_point", .collective = Collective::broadcast, .ranks = 2, .chunks = std::max(1, count)};
  Step& step = s.add_step();
  const int each_way = collective == "latency" ? 1 : bandwidth_window;
  for (int i = 0; i < each_way; ++i) {
    step.copy({.from = 0, .to = 1, .chunk = 0, .count = count});
    if (collective == "bidirectional_bandwidth") step.copy({.from = 1, .to = 0, .chunk = 0, .count = count});
  }
  if (collective == "bandwidth") s.add_step().copy({.from = 1, .to = 0, .chunk = 0, .count = std::min(count, 4)});
  return s;
}

}  // namespace

// A schedule ready to run, and its routes.
struct Simulator::Prepared {
  Schedule schedule;
  std::vector<int> placement;
  std::int64_t element_bytes = 1;
  Routes routes;
};

Simulator::Simulator(Scenario scenario) : scenario_(std::move(scenario)), fabric_(build(scenario_.fabric.spec)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

Simulator::Prepared& Simulator::prepared(const Experiment& e) {
  const bool pair = is_point_to_point(e.collective);
  const std::string key = fmt::format("{} {} {} {}", e.collective, label(e.algorithm), e.ranks, pair ? e.size.count : 0);
  auto& slot = prepared_[key];
  if (slot) return *slot;
  if (pair) {
    if (e.size.count > std::numeric_limits<int>::max())
      throw InputError(fmt::format("a message of {} is larger than this test goes", to_string(e.size)));
    slot.reset(new Prepared{point_to_point(e.collective, e.size.count), {0, 1}, 1, Routes(*fabric_, scenario_.fabric.ecmp)});
    return *slot;
  }
  Scenario asked = scenario_;
  asked.workload.collective = *collective_named(e.collective);
  asked.workload.ranks = e.ranks;
  AlgorithmChoice algorithm = e.algorithm;
  if (algorithm.name == "hdrm" && e.ranks < endpoints(asked.fabric.spec)) {  // on a smaller BiGraph within the fabric
    algorithm = {"halving_doubling"};
    asked.placement = {.policy = PlacementPolicy::hdrm};
  }
  const Request request = request_of(asked, algorithm);
  Schedule schedule = build(request);
  require_correct(schedule, request);
  slot.reset(new Prepared{std::move(schedule), placement_of(asked, algorithm), static_cast<std::int64_t>(size_of(asked.workload.dtype)),
                          Routes(*fabric_, scenario_.fabric.ecmp)});
  return *slot;
}

double Simulator::in_network_us(const Experiment& e, const HardwareProfile& hardware) const {
  Routes routes(*fabric_, scenario_.fabric.ecmp);
  Scenario asked = scenario_;
  asked.workload.ranks = e.ranks;
  const Tenant workload{
      .name = label(e.algorithm),
      .job = InNetworkJob{.algorithm = e.algorithm, .workers = placement_of(asked, e.algorithm), .elements = e.size.count / 4}};
  const SharedSite site{.routes = routes,
                        .hardware = hardware,
                        .switches = scenario_.fabric.programmable,
                        .packet = scenario_.packet.value_or(PacketSettings{})};
  const SharedRun run = scenario_.network == NetworkKind::packet ? run_shared_packet({&workload, 1}, {}, site, nullptr, Around::nothing)
                                                                 : run_shared_flow({&workload, 1}, {}, {}, site, Around::nothing);
  return run.jobs.front().iterations.front().time().microseconds();
}

double Simulator::time_us(const Experiment& e, const HardwareProfile& hardware) {
  if (is_in_network(e.algorithm.name)) return in_network_us(e, hardware);
  Prepared& p = prepared(e);
  const Job job{.schedule = p.schedule,
                .placement = p.placement,
                .elements = e.size.count / p.element_bytes,
                .element_bytes = p.element_bytes,
                .hardware = hardware};
  const double us = run_flow_bare(job, *fabric_, p.routes).finish.microseconds();
  return us / messages_of(e.collective);
}

double Simulator::wire_limit_us(const Experiment& e) const {
  const double n = e.ranks;
  double share = 1;  // of the message, that some rank must send or receive
  if (e.collective == "allreduce" && extra_servers(e.algorithm.settings) == 0) share = 2 * (n - 1) / n;
  if (e.collective == "reduce_scatter" || e.collective == "allgather" || e.collective == "alltoall") share = (n - 1) / n;
  if (e.collective == "bidirectional_bandwidth") share = 0.5;
  if (e.ranks < 2 || e.collective == "barrier") return 0;
  // The fastest way out of the slowest endpoint.
  double slowest = std::numeric_limits<double>::infinity();
  for (int endpoint = 0; endpoint < std::min(e.ranks, fabric_->endpoints()); ++endpoint) {
    double out = 0;
    for (LinkId link = 0; link < fabric_->links(); ++link)
      if (fabric_->from(link) == fabric_->node_of(endpoint)) out += fabric_->link(link).bandwidth.bytes_per_second();
    slowest = std::min(slowest, out);
  }
  return share * static_cast<double>(e.size.count) / slowest * 1e6;
}

std::optional<AlgorithmChoice> algorithm_measured(const Measurement& m, const Renames& renames,
                                                  const std::vector<AlgorithmChoice>& otherwise) {
  if (is_point_to_point(m.collective)) return AlgorithmChoice{m.collective};
  const auto collective = collective_named(m.collective);
  if (!collective) return {};
  const auto known = [&](const std::string& name) { return find_algorithm(*collective, name) != nullptr; };
  const auto with_settings = [&](const AlgorithmChoice& choice) -> std::optional<AlgorithmChoice> {
    if (!known(choice.name)) return {};
    const auto same = std::ranges::find(otherwise, choice.name, &AlgorithmChoice::name);
    return choice == AlgorithmChoice{choice.name} && same != otherwise.end() ? *same : choice;
  };
  if (const auto renamed = renames.find(m.algorithm); renamed != renames.end()) return with_settings(renamed->second);
  if (m.algorithm.empty()) {
    for (const AlgorithmChoice& choice : otherwise)
      if (known(choice.name)) return choice;
    return {};
  }
  std::string name = m.algorithm;
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const std::string_view library : {"_ompi", "_mpich", "_mpi", "_over", "_nccl"})
    if (name.ends_with(library)) name.erase(name.size() - library.size());
  constexpr std::array synonyms = {std::pair{"rabenseifner", "halving_doubling"}, std::pair{"tree", "double_binary_tree"}};
  for (const auto& [other, ours] : synonyms)
    if (name == other) name = ours;
  return with_settings({name});
}

}  // namespace weft
