// On the packet network: the agents of collectives/in_network/ at their places.
#include "sim/in_network/packet_agents.hpp"

#include "collectives/in_network/atp_switch.hpp"
#include "collectives/in_network/deployment.hpp"
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

// Every edge switch that sees a worker or a server, each once.
std::vector<int> edge_switches(const InNetworkCase& all, std::span<const AtpJob> jobs) {
  std::vector<int> out;
  const auto add = [&](NodeId at) {
    if (std::ranges::find(out, at) == out.end()) out.push_back(at);
  };
  for (const InNetworkCluster& cluster : all.clusters)
    for (const NodeId at : cluster.edge_switches()) add(at);
  for (const AtpJob& job : jobs)
    for (const AtpShare& share : job.shares) add(share.at);
  return out;
}

}  // namespace

InNetworkRun run_atp_agents(const InNetworkCase& all, const AtpChoice& choice, PacketReport& report) {
  const AtpSettings settings = settings_of(choice);
  std::vector<AtpJob> jobs;
  std::vector<int> server_endpoints;  // by flow
  for (std::size_t t = 0; t < all.tenants.size(); ++t) {
    const InNetworkCluster& cluster = all.clusters[t];
    AtpJob& job = jobs.emplace_back();
    for (const int e : cluster.workers()) job.workers_at.push_back(cluster.edge_switch(e));
    for (const ServerShare& share : cluster.servers(choice.servers, all.tenants[t].elements)) {
      job.shares.push_back({cluster.edge_switch(share.endpoint), share.first_value, share.values});
      server_endpoints.push_back(share.endpoint);
    }
  }
  const AtpDeployment deployed = deploy_atp(settings, jobs, edge_switches(all, jobs));
  const std::vector<AtpFlow>& flows = deployed.flows;

  PayloadPool pool(settings.values_per_packet);
  std::deque<KnownValues> values;
  std::deque<AtpWorker> worker_agents;
  std::deque<AtpServer> server_agents;
  std::deque<AtpSwitch> switch_agents;
  AgentRun run(all, pool);
  for (const AtpFlow& flow : flows) {
    const auto tenant = static_cast<std::size_t>(flow.job);
    for (int w = 0; w < flow.workers(); ++w) {
      const auto i = static_cast<std::size_t>(w);
      values.emplace_back(w, flow.workers(), flow.share.first_value, settings.values_per_packet);
      const AtpWorker::Place place = flow.worker_place(w);
      worker_agents.emplace_back(settings, place, &values.back());
      run.datagrams().place(place.self, all.tenants[tenant].workers[i], worker_agents.back(), start_of(all.tenants[tenant], i));
    }
    server_agents.emplace_back(settings, flow.tree, flow.server_place());
    run.datagrams().place(flow.server, server_endpoints[static_cast<std::size_t>(flow.number)], server_agents.back());
  }
  for (const AtpSwitchPlace& place : deployed.switches) {
    switch_agents.emplace_back(settings, deployed.walks(), place.attached);
    run.datagrams().program(place.self, place.at, switch_agents.back(), {.delay = choice.switch_delay});
  }
  for (const AtpFlow& flow : flows) run.datagrams().group(flow.group, flow.members());

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
    for (int w = 0; w < flows[f].workers(); ++w, ++worker) {
      const AtpWorker::Statistics& s = worker_agents[worker].statistics();
      sent += s.sent, resent += s.resent, timeouts += s.timeouts, marks += s.marks;
      largest = std::max(largest, s.largest_window);
      if (s.overflow) throw RunError("atp: a sum does not fit into 32 bits");
      SimTime& finish = out.finish[static_cast<std::size_t>(flows[f].job)];
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
  std::vector<SwitchmlJob> jobs;
  for (std::size_t t = 0; t < all.tenants.size(); ++t)
    jobs.push_back({.workers = static_cast<int>(all.tenants[t].workers.size()),
                    .at = all.clusters[t].edge_switch(all.tenants[t].workers.front()),
                    .values = all.tenants[t].elements});
  const SwitchmlDeployment deployed = deploy_switchml(settings, jobs);

  PayloadPool pool(settings.values_per_packet);
  std::deque<KnownValues> values;
  std::deque<SwitchmlWorker> worker_agents;
  std::deque<SwitchmlSwitch> switch_agents;
  AgentRun run(all, pool);
  for (const SwitchmlJobPlace& job : deployed.jobs) {
    const InNetworkTenant& tenant = all.tenants[static_cast<std::size_t>(job.number)];
    for (int w = 0; w < job.workers; ++w) {
      const auto i = static_cast<std::size_t>(w);
      values.emplace_back(w, job.workers, 0, settings.values_per_packet);
      const SwitchmlWorker::Place place = job.worker_place(w);
      worker_agents.emplace_back(settings, place, &values.back());
      run.datagrams().place(place.self, tenant.workers[i], worker_agents.back(), start_of(tenant, i));
    }
  }
  for (const SwitchmlSwitchPlace& place : deployed.switches) {
    switch_agents.emplace_back(settings, place.self, place.pools);
    run.datagrams().program(place.self, place.at, switch_agents.back(), {.delay = choice.switch_delay});
  }
  for (const SwitchmlJobPlace& job : deployed.jobs) run.datagrams().group(job.group, job.members());

  InNetworkRun out{.network = run.run(report), .finish = std::vector<SimTime>(all.tenants.size())};
  require_right(values);
  std::size_t worker = 0;
  for (std::size_t t = 0; t < deployed.jobs.size(); ++t) {
    const SwitchmlJobPlace& job = deployed.jobs[t];
    std::int64_t sent = 0, resent = 0;
    for (int w = 0; w < job.workers; ++w, ++worker) {
      const SwitchmlWorker::Statistics& s = worker_agents[worker].statistics();
      sent += s.sent, resent += s.resent;
      if (s.overflow) throw RunError("switchml: a sum does not fit into 32 bits");
      out.finish[t] = std::max(out.finish[t], SimTime{s.finished_ps});
    }
    out.notes.push_back(fmt::format("{}adds up in {} with {} slots; {} of {} packets sent again",
                                    deployed.jobs.size() > 1 ? fmt::format("job {} ", t) : "", all.fabric.device(jobs[t].at).name,
                                    job.slots, resent, sent));
  }
  return out;
}

}  // namespace weft
