// On the packet network: the agents of collectives/in_network/ at their places.
#include "sim/in_network/packet_agents.hpp"

#include "collectives/in_network/atp_server.hpp"
#include "collectives/in_network/atp_switch.hpp"
#include "collectives/in_network/atp_worker.hpp"
#include "collectives/in_network/switchml.hpp"
#include "sim/packet/agent_driver.hpp"

#include <algorithm>
#include <deque>

namespace weft {
namespace {

// Worker w's value i is (w + 1) (i mod 1000), so that every sum is known: nothing is stored.
class KnownValues final : public PacketValues {
 public:
  KnownValues(int worker, int workers, std::int64_t first, int each)
      : own_(worker + 1), sum_(static_cast<std::int64_t>(workers) * (workers + 1) / 2), first_(first), each_(each) {}
  void read(std::uint32_t packet, std::span<std::int32_t> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(own_ * base(packet, i));
  }
  void write(std::uint32_t packet, std::span<const std::int32_t> sums) override {
    for (std::size_t i = 0; i < sums.size(); ++i) wrong_ += sums[i] != sum_ * base(packet, i);
  }
  std::int64_t wrong() const { return wrong_; }

 private:
  std::int64_t base(std::uint32_t packet, std::size_t i) const {
    return (first_ + static_cast<std::int64_t>(packet) * each_ + static_cast<std::int64_t>(i)) % 1000;
  }
  std::int64_t own_, sum_, first_;
  int each_;
  std::int64_t wrong_ = 0;
};

void require_right(const std::deque<KnownValues>& values) {
  std::int64_t wrong = 0;
  for (const KnownValues& v : values) wrong += v.wrong();
  if (wrong > 0) throw RunError(fmt::format("{} sums are wrong", wrong));
}

std::uint32_t packets_of(std::int64_t values, int each) { return static_cast<std::uint32_t>((values + each - 1) / each); }

// One network with agents on it. The pool outlives the agents, which outlive this.
class AgentRun {
 public:
  AgentRun(const InNetworkCase& all, PayloadPool& pool)
      : all_(all),
        network_(all.fabric, link_rates(all.fabric), all.packet),
        datagrams_(network_.model(), all.routes, &pool),
        driver_(datagrams_, network_) {}

  DatagramNetwork& datagrams() { return datagrams_; }

  NetworkRun run(PacketReport& report) {
    run_to_end(network_, all_.around);
    report = network_.model().report();
    NetworkRun out{.finish = network_.model().now(), .bytes_on_link = report.wire_bytes};
    out.messages = datagrams_.sent();
    out.events = network_.model().events();
    return out;
  }

 private:
  const InNetworkCase& all_;
  SharedNetwork<PacketNetwork> network_;
  DatagramNetwork datagrams_;
  AgentDriver driver_;
};

SimTime start_of(const InNetworkTenant& tenant, std::size_t worker) { return tenant.starts.empty() ? SimTime{} : tenant.starts[worker]; }

template <class Set>
bool holds(const Set& set, NodeId one) {
  return std::ranges::find(set, one) != set.end();
}

// One flow of one tenant: its parameter server, and the addresses of its agents.
struct AtpFlow {
  std::size_t tenant;
  AtpWalk walk;
  ServerShare share;
  Address first_worker, server, group = nobody;
  std::uint32_t packets;
};

std::vector<AtpFlow> flows_of(const InNetworkCase& all, const AtpChoice& choice, const AtpSettings& settings, Address& next) {
  std::vector<AtpFlow> out;
  for (std::size_t t = 0; t < all.tenants.size(); ++t) {
    const std::vector<ServerShare> shares = all.clusters[t].servers(choice.servers, all.tenants[t].elements);
    const auto workers = static_cast<Address>(all.tenants[t].workers.size());
    for (std::size_t s = 0; s < shares.size(); ++s) {
      const AtpWalk walk = atp_walk(settings, static_cast<int>(t), static_cast<int>(s), static_cast<int>(shares.size()));
      out.push_back({t, walk, shares[s], next, next + workers, nobody, packets_of(shares[s].values, settings.values_per_packet)});
      next += workers + 1;
    }
  }
  return out;
}

}  // namespace

InNetworkRun run_atp_agents(const InNetworkCase& all, const AtpChoice& choice, PacketReport& report) {
  const AtpSettings settings = settings_of(choice);
  Address next = 0;
  std::vector<AtpFlow> flows = flows_of(all, choice, settings, next);
  std::vector<int> programmable;  // every edge switch that sees a worker or a server
  const auto program = [&](NodeId at) {
    if (!holds(programmable, at)) programmable.push_back(at);
  };
  for (const InNetworkCluster& cluster : all.clusters)
    for (const NodeId at : cluster.edge_switches()) program(at);
  for (const AtpFlow& flow : flows) program(all.clusters[flow.tenant].edge_switch(flow.share.endpoint));
  const Address first_switch = next, first_group = first_switch + static_cast<Address>(programmable.size());

  PayloadPool pool(settings.values_per_packet);
  std::deque<AtpTree> trees;
  std::deque<KnownValues> values;
  std::deque<AtpWorker> worker_agents;
  std::deque<AtpServer> server_agents;
  std::deque<AtpSwitch> switch_agents;
  AgentRun run(all, pool);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    AtpFlow& flow = flows[f];
    flow.group = first_group + static_cast<Address>(f);
    const InNetworkCluster& cluster = all.clusters[flow.tenant];
    const auto n = static_cast<int>(cluster.workers().size());
    std::vector<int> worker_switch;
    for (const int e : cluster.workers()) worker_switch.push_back(cluster.edge_switch(e));
    trees.push_back(plan_atp_tree(worker_switch, cluster.edge_switch(flow.share.endpoint), programmable));
    for (int w = 0; w < n; ++w) {
      const auto i = static_cast<std::size_t>(w);
      values.emplace_back(w, n, flow.share.first_value, settings.values_per_packet);
      worker_agents.emplace_back(
          settings, AtpWorker::Place{flow.first_worker + w, flow.server, static_cast<int>(f), trees.back().members[i], flow.packets},
          &values.back());
      run.datagrams().place(flow.first_worker + w, cluster.workers()[i], worker_agents.back(), start_of(all.tenants[flow.tenant], i));
    }
    server_agents.emplace_back(settings, trees.back(), AtpServer::Place{flow.server, flow.group, static_cast<int>(f), flow.packets});
    run.datagrams().place(flow.server, flow.share.endpoint, server_agents.back());
  }
  std::vector<AtpWalk> walks;
  for (const AtpFlow& flow : flows) walks.push_back(flow.walk);
  for (std::size_t i = 0; i < programmable.size(); ++i) {
    std::vector<Address> attached;
    for (const AtpFlow& flow : flows)
      if (all.clusters[flow.tenant].edge_switch(flow.share.endpoint) == programmable[i]) attached.push_back(flow.server);
    switch_agents.emplace_back(settings, walks, attached);
    run.datagrams().program(first_switch + static_cast<Address>(i), programmable[i], switch_agents.back(), {.delay = choice.switch_delay});
  }
  for (const AtpFlow& flow : flows) {
    std::vector<Address> members;
    for (Address w = flow.first_worker; w < flow.server; ++w) members.push_back(w);
    run.datagrams().group(flow.group, members);
  }

  InNetworkRun out{.network = run.run(report), .finish = std::vector<SimTime>(all.tenants.size())};
  require_right(values);
  AtpSwitch::Statistics switches;
  for (const AtpSwitch& s : switch_agents) {
    switches.gradients += s.statistics().gradients;
    switches.collisions += s.statistics().collisions;
    switches.most_in_use = std::max(switches.most_in_use, s.statistics().most_in_use);
  }
  std::int64_t whole = 0, packets = 0, sent = 0, resent = 0, timeouts = 0, marks = 0;
  int largest = 0;
  std::size_t worker = 0;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    whole += server_agents[f].statistics().whole;
    packets += flows[f].packets;
    for (Address w = flows[f].first_worker; w < flows[f].server; ++w, ++worker) {
      const AtpWorker::Statistics& s = worker_agents[worker].statistics();
      sent += s.sent, resent += s.resent, timeouts += s.timeouts, marks += s.marks;
      largest = std::max(largest, s.largest_window);
      if (s.overflow) throw RunError("atp: a sum does not fit into 32 bits");
      SimTime& finish = out.finish[flows[f].tenant];
      finish = std::max(finish, SimTime{s.finished_ps});
    }
  }
  out.notes.push_back(fmt::format(
      "{} servers; {:.2f} % of {} packets wholly aggregated by switches, {:.2f} % of what they saw collided; most aggregators in use {} of "
      "{}; windows up to {}; {} of {} packets sent again, {} timeouts, {} marked",
      flows.size(), packets ? 100.0 * static_cast<double>(whole) / static_cast<double>(packets) : 100.0, packets,
      switches.gradients ? 100.0 * static_cast<double>(switches.collisions) / static_cast<double>(switches.gradients) : 0.0,
      switches.most_in_use, settings.aggregators, largest, resent, sent, timeouts, marks));
  return out;
}

// Each job adds up in the switch of its first worker; jobs that meet there share its slots evenly.
InNetworkRun run_switchml_agents(const InNetworkCase& all, const SwitchmlChoice& choice, PacketReport& report) {
  const SwitchmlSettings settings = settings_of(choice);
  std::vector<NodeId> at;  // by tenant
  std::vector<NodeId> programmed;
  Address workers = 0;
  for (std::size_t t = 0; t < all.tenants.size(); ++t) {
    at.push_back(all.clusters[t].edge_switch(all.tenants[t].workers.front()));
    if (!holds(programmed, at.back())) programmed.push_back(at.back());
    workers += static_cast<Address>(all.tenants[t].workers.size());
  }
  const Address first_group = workers + static_cast<Address>(programmed.size());
  const auto share = [&](std::size_t t) { return settings.slots / static_cast<int>(std::ranges::count(at, at[t])); };

  PayloadPool pool(settings.values_per_packet);
  std::deque<KnownValues> values;
  std::deque<SwitchmlWorker> worker_agents;
  std::deque<SwitchmlSwitch> switch_agents;
  AgentRun run(all, pool);
  std::vector<std::vector<Address>> members(all.tenants.size());
  Address next = 0;
  for (std::size_t t = 0; t < all.tenants.size(); ++t) {
    const InNetworkTenant& tenant = all.tenants[t];
    const auto n = static_cast<int>(tenant.workers.size());
    const auto of = static_cast<Address>(std::ranges::find(programmed, at[t]) - programmed.begin());
    for (int w = 0; w < n; ++w, ++next) {
      const auto i = static_cast<std::size_t>(w);
      values.emplace_back(w, n, 0, settings.values_per_packet);
      worker_agents.emplace_back(settings,
                                 SwitchmlWorker::Place{next, workers + of, static_cast<int>(t), w, share(t),
                                                       packets_of(tenant.elements, settings.values_per_packet)},
                                 &values.back());
      run.datagrams().place(next, tenant.workers[i], worker_agents.back(), start_of(tenant, i));
      members[t].push_back(next);
    }
  }
  for (std::size_t p = 0; p < programmed.size(); ++p) {
    std::vector<SwitchmlPool> pools;
    for (std::size_t t = 0; t < all.tenants.size(); ++t)
      pools.push_back({.workers = static_cast<int>(members[t].size()),
                       .slots = at[t] == programmed[p] ? share(t) : 0,
                       .group = first_group + static_cast<Address>(t)});
    switch_agents.emplace_back(settings, workers + static_cast<Address>(p), std::move(pools));
    run.datagrams().program(workers + static_cast<Address>(p), programmed[p], switch_agents.back(), {.delay = choice.switch_delay});
  }
  for (std::size_t t = 0; t < members.size(); ++t) run.datagrams().group(first_group + static_cast<Address>(t), members[t]);

  InNetworkRun out{.network = run.run(report), .finish = std::vector<SimTime>(all.tenants.size())};
  require_right(values);
  std::size_t worker = 0;
  for (std::size_t t = 0; t < members.size(); ++t) {
    std::int64_t sent = 0, resent = 0;
    for (std::size_t i = 0; i < members[t].size(); ++i, ++worker) {
      const SwitchmlWorker::Statistics& s = worker_agents[worker].statistics();
      sent += s.sent, resent += s.resent;
      if (s.overflow) throw RunError("switchml: a sum does not fit into 32 bits");
      out.finish[t] = std::max(out.finish[t], SimTime{s.finished_ps});
    }
    out.notes.push_back(fmt::format("{}adds up in {} with {} slots; {} of {} packets sent again",
                                    members.size() > 1 ? fmt::format("job {} ", t) : "", all.fabric.device(at[t]).name, share(t), resent,
                                    sent));
  }
  return out;
}

}  // namespace weft
