#include "validation/lab/in_network.hpp"

#include "collectives/transports/udp/udp_format.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/in_network/cluster.hpp"

#include <algorithm>

namespace weft::lab {
namespace {

constexpr std::int64_t header_bytes = udp_overhead_bytes + ethernet_header_bytes;  // of what a link carries for a datagram
constexpr SimTime longest_timeout = 60_s;

SimTime timeout_of(const AtpSettings& s) { return s.timeout; }
SimTime timeout_of(const SwitchmlSettings& s) { return s.resend_after(); }
SimTime timeout_of(const InNetworkSettings& settings) {
  return std::visit([](const auto& s) { return timeout_of(s); }, settings);
}

Bytes framing_of(const InNetworkSettings& settings) {
  return std::visit([](const auto& s) { return s.framing; }, settings);
}

void find_problems(const InNetworkSettings& a, const std::string& at, std::int64_t packet_limit, std::vector<Problem>& out) {
  const std::int64_t payload = payload_of(a).count, most = (packet_limit - udp_overhead_bytes) / 4 * 4;
  if (payload % 4 != 0 || payload > most)
    out.push_back({at + "/payload", fmt::format("packets of this lab hold at most {} bytes of values, a multiple of 4, got {}", most,
                                                to_string(payload_of(a)))});
  else if (packet_of(a).count != payload + header_bytes)
    out.push_back({at + "/packet", fmt::format("a link of the lab carries {} bytes of headers with the {} of values: write \"{}B\", got {}",
                                               header_bytes, payload, payload + header_bytes, to_string(packet_of(a)))});
  const auto real = [&](bool given, const char* where, const char* why) {
    if (given) out.push_back({at + where, why});
  };
  real(host_of(a).any(), "/host", "the lab's hosts take the time they take");
  real(framing_of(a).count > 0, "/framing", "links of the lab count packets without it");
  if (const auto* atp = std::get_if<AtpSettings>(&a)) {
    real(atp->forwarded > 0, "/forwarded", "weft bench forwards what it has no room for, nothing else");
    real(!atp->congestion_control, "/congestion_control", "weft bench has it always");
  }
  if (timeout_of(a) > longest_timeout)
    out.push_back(
        {at + "/timeout", fmt::format("must be at most {} in the lab, got {}", to_string(longest_timeout), to_string(timeout_of(a)))});
}

// The switches of a run, numbered as they are first met: those of ranks, then of servers.
class Switches {
 public:
  explicit Switches(std::vector<NodeId> programmable) : programmable_(std::move(programmable)) {}

  int number(NodeId at) {
    const auto found = std::ranges::find(met_, at);
    if (found == met_.end()) {
      met_.push_back(at);
      return static_cast<int>(met_.size()) - 1;
    }
    return static_cast<int>(found - met_.begin());
  }
  const std::vector<NodeId>& met() const { return met_; }
  std::vector<int> passing() const {
    std::vector<int> out;
    for (std::size_t i = 0; i < met_.size(); ++i)
      if (std::ranges::find(programmable_, met_[i]) == programmable_.end()) out.push_back(static_cast<int>(i));
    return out;
  }

 private:
  std::vector<NodeId> programmable_, met_;
};

using Flags = std::vector<std::string>;
void add(Flags& out, const char* flag, const std::string& value) { out.insert(out.end(), {flag, value}); }

void add_own(const AtpSettings& s, Flags& out) {
  add(out, "--aggregators", std::to_string(s.places()));
  add(out, "--window", std::to_string(s.window_limit()));
  add(out, "--initial-window", std::to_string(s.initial_window));
  add(out, "--mtu", std::to_string(s.mtu.count));
}
void add_own(const SwitchmlSettings& s, Flags& out) { add(out, "--slots", std::to_string(s.places())); }

void add_settings(const InNetworkSettings& settings, Flags& out) {
  const std::int64_t payload = payload_of(settings).count;
  add(out, "--algorithm", std::string(protocol_of(settings).name));
  add(out, "--payload", std::to_string(payload));
  add(out, "--packet", std::to_string(payload + udp_overhead_bytes));
  add(out, "--timeout", fmt::format("{}", timeout_of(settings).microseconds() / 1e3));
  std::visit([&](const auto& s) { add_own(s, out); }, settings);
}

}  // namespace

Programs programs_of(const Scenario& s) {
  const bool any = std::ranges::any_of(s.workload.algorithms, [](const AlgorithmChoice& a) { return is_in_network(a.name); });
  return any ? Programs::yes : Programs::no;
}

std::vector<Problem> in_network_problems(const Scenario& s, const Fabric& fabric) {
  std::vector<Problem> out;
  if (programs_of(s) == Programs::no) return out;
  const std::vector<AlgorithmChoice>& all = s.workload.algorithms;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (is_in_network(all[i].name))
      find_problems(in_network_settings(all[i], s.fabric.programmable),
                    all.size() > 1 ? fmt::format("/workload/algorithm/{}", i) : "/workload/algorithm", packet_bytes(fabric), out);
  const ProgrammableSwitches& switches = s.fabric.programmable;
  if (switches.delay != SimTime{}) out.push_back({"/fabric/programmable/delay", "software switches take the time they take"});
  if (switches.packets_per_second > 0)
    out.push_back({"/fabric/programmable/packets_per_second", "software switches are as fast as they are"});
  if (s.packet && (s.packet->faults.corruption > 0 || !s.packet->faults.failures.empty()))
    out.push_back({"/packet/faults", "the lab can lose datagrams, nothing else"});
  return out;
}

InNetworkBench in_network_bench(const Scenario& s, const AlgorithmChoice& a, const Fabric& fabric, const Plan& plan) {
  Routes routes(fabric, s.fabric.ecmp);
  const InNetworkCluster cluster(fabric, placement_of_workload(s, a));
  const InNetworkSite site{.routes = routes, .hardware = s.hardware, .switches = s.fabric.programmable};
  InNetworkBench out;
  Switches switches(programmable_nodes(s.fabric.programmable, fabric));
  std::vector<int> below;
  const auto seat = [&](int endpoint) {
    out.nodes.push_back(plan.hosts[static_cast<std::size_t>(endpoint)]);
    below.push_back(switches.number(cluster.edge_switch(endpoint)));
  };
  std::ranges::for_each(cluster.workers(), seat);
  const PlacedTask placed = place_task(cluster, site, in_network_settings(a, s.fabric.programmable));
  std::ranges::for_each(placed.servers, seat);
  if (placed.task.meets_at >= 0) switches.number(placed.task.meets_at);  // the first that adds, here as there
  for (const NodeId at : switches.met()) out.nodes.push_back(plan.programs.at(at));

  Flags& flags = out.arguments;
  add_settings(placed.task.settings, flags);
  if (!placed.servers.empty()) add(flags, "--servers", std::to_string(placed.servers.size()));
  add(flags, "--switches", std::to_string(switches.met().size()));
  add(flags, "--below", fmt::format("{}", fmt::join(below, ",")));
  if (const auto passing = switches.passing(); !passing.empty()) add(flags, "--passing", fmt::format("{}", fmt::join(passing, ",")));
  if (s.packet && s.packet->faults.loss > 0) {
    add(flags, "--loss", fmt::format("{}", s.packet->faults.loss));
    add(flags, "--seed", std::to_string(s.packet->seed));
  }
  return out;
}

}  // namespace weft::lab
