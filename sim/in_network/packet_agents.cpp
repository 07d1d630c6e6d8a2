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

// One network with agents on it, from the first start to the last end.
class AgentRun {
 public:
  // The pool outlives the agents, which outlive this.
  AgentRun(const InNetworkJob& job, PayloadPool& pool)
      : job_(job),
        network_(job.fabric, link_rates(job.fabric), job.packet),
        datagrams_(network_.model(), job.routes, &pool),
        driver_(datagrams_, network_) {}

  DatagramNetwork& datagrams() { return datagrams_; }
  SimTime start_of(std::size_t worker) const { return job_.starts.empty() ? SimTime{} : job_.starts[worker]; }

  NetworkRun run(PacketReport& report) {
    run_to_end(network_, Around::engine);
    report = network_.model().report();
    NetworkRun out{.finish = network_.model().now(), .bytes_on_link = report.wire_bytes};
    out.messages = datagrams_.sent();
    out.events = network_.model().events();
    return out;
  }

 private:
  const InNetworkJob& job_;
  SharedNetwork<PacketNetwork> network_;
  DatagramNetwork datagrams_;
  AgentDriver driver_;
};

}  // namespace

InNetworkRun run_atp_agents(const InNetworkJob& job, const AtpChoice& choice, PacketReport& report) {
  const AtpSettings settings = settings_of(choice);
  const std::vector<int>& workers = job.cluster.workers();
  const auto n = static_cast<int>(workers.size());
  const std::vector<ServerShare> shares = job.cluster.servers(choice.servers, job.elements);
  std::vector<int> worker_switch, programmable;
  for (const int e : workers) worker_switch.push_back(job.cluster.edge_switch(e));
  for (const NodeId at : job.cluster.edge_switches()) programmable.push_back(at);
  for (const ServerShare& s : shares)
    if (std::ranges::find(programmable, job.cluster.edge_switch(s.endpoint)) == programmable.end())
      programmable.push_back(job.cluster.edge_switch(s.endpoint));

  // Addresses: the workers of each flow and its server, flow by flow; the switches; the groups. Agents outlive the network.
  PayloadPool pool(settings.values_per_packet);
  std::deque<AtpTree> trees;
  std::deque<KnownValues> values;
  std::deque<AtpWorker> worker_agents;
  std::deque<AtpServer> server_agents;
  std::deque<AtpSwitch> switch_agents;
  AgentRun run(job, pool);
  const auto flows = static_cast<int>(shares.size());
  const Address first_switch = flows * (n + 1), first_group = first_switch + static_cast<Address>(programmable.size());
  const AgentCost at_switch{.delay = choice.switch_delay};
  for (int f = 0; f < flows; ++f) {
    const ServerShare& share = shares[static_cast<std::size_t>(f)];
    const Address first = f * (n + 1), server = first + n;
    const std::uint32_t packets = packets_of(share.values, settings.values_per_packet);
    trees.push_back(plan_atp_tree(worker_switch, job.cluster.edge_switch(share.endpoint), programmable));
    for (int w = 0; w < n; ++w) {
      values.emplace_back(w, n, share.first_value, settings.values_per_packet);
      const auto i = static_cast<std::size_t>(w);
      worker_agents.emplace_back(settings, AtpWorker::Place{first + w, server, f, trees.back().members[i], packets}, &values.back());
      run.datagrams().place(first + w, workers[i], worker_agents.back(), run.start_of(i));
    }
    server_agents.emplace_back(settings, trees.back(), AtpServer::Place{server, first_group + f, f, packets});
    run.datagrams().place(server, share.endpoint, server_agents.back());
  }
  for (std::size_t i = 0; i < programmable.size(); ++i) {
    std::vector<Address> attached;
    for (int f = 0; f < flows; ++f)
      if (job.cluster.edge_switch(shares[static_cast<std::size_t>(f)].endpoint) == programmable[i]) attached.push_back(f * (n + 1) + n);
    switch_agents.emplace_back(settings, flows, attached);
    run.datagrams().program(first_switch + static_cast<Address>(i), programmable[i], switch_agents.back(), at_switch);
  }
  for (int f = 0; f < flows; ++f) {
    std::vector<Address> members;
    for (int w = 0; w < n; ++w) members.push_back(f * (n + 1) + w);
    run.datagrams().group(first_group + f, members);
  }

  InNetworkRun out{.network = run.run(report), .notes = {}};
  require_right(values);
  AtpSwitch::Statistics switches;
  for (const AtpSwitch& s : switch_agents) {
    switches.gradients += s.statistics().gradients;
    switches.collisions += s.statistics().collisions;
    switches.most_in_use = std::max(switches.most_in_use, s.statistics().most_in_use);
  }
  std::int64_t whole = 0, packets = 0, sent = 0, resent = 0, marks = 0;
  int largest = 0;
  for (std::size_t f = 0; f < server_agents.size(); ++f) {
    whole += server_agents[f].statistics().whole;
    packets += packets_of(shares[f].values, settings.values_per_packet);
  }
  for (const AtpWorker& w : worker_agents) {
    sent += w.statistics().sent, resent += w.statistics().resent, marks += w.statistics().marks;
    largest = std::max(largest, w.statistics().largest_window);
    if (w.statistics().overflow) throw RunError("atp: a sum does not fit into 32 bits");
  }
  out.notes.push_back(fmt::format(
      "{} servers; {:.2f} % of {} packets wholly aggregated by switches, {:.2f} % of what they saw collided; most aggregators in use {} of "
      "{}; windows up to {}; {} of {} packets sent again, {} marked",
      flows, packets ? 100.0 * static_cast<double>(whole) / static_cast<double>(packets) : 100.0, packets,
      switches.gradients ? 100.0 * static_cast<double>(switches.collisions) / static_cast<double>(switches.gradients) : 0.0,
      switches.most_in_use, settings.aggregators, largest, resent, sent, marks));
  return out;
}

InNetworkRun run_switchml_agents(const InNetworkJob& job, const SwitchmlChoice& choice, PacketReport& report) {
  const SwitchmlSettings settings = settings_of(choice);
  const std::vector<int>& workers = job.cluster.workers();
  const auto n = static_cast<int>(workers.size());
  const std::uint32_t packets = packets_of(job.elements, settings.values_per_packet);
  std::deque<KnownValues> values;
  std::deque<SwitchmlWorker> worker_agents;
  PayloadPool pool(settings.values_per_packet);
  SwitchmlSwitch program(settings, n, {{.workers = n, .slots = settings.slots, .group = n + 1}});
  AgentRun run(job, pool);
  std::vector<Address> members;
  for (int w = 0; w < n; ++w) {
    values.emplace_back(w, n, 0, settings.values_per_packet);
    worker_agents.emplace_back(settings, SwitchmlWorker::Place{w, n, 0, w, settings.slots, packets}, &values.back());
    run.datagrams().place(w, workers[static_cast<std::size_t>(w)], worker_agents.back(), run.start_of(static_cast<std::size_t>(w)));
    members.push_back(w);
  }
  run.datagrams().program(n, job.cluster.edge_switch(workers.front()), program, {.delay = choice.switch_delay});
  run.datagrams().group(n + 1, members);
  InNetworkRun out{.network = run.run(report), .notes = {}};
  require_right(values);
  std::int64_t sent = 0, resent = 0;
  for (const SwitchmlWorker& w : worker_agents) {
    sent += w.statistics().sent, resent += w.statistics().resent;
    if (w.statistics().overflow) throw RunError("switchml: a sum does not fit into 32 bits");
  }
  out.notes.push_back(fmt::format("adds up in {} with {} slots; {} of {} packets sent again",
                                  job.fabric.device(job.cluster.edge_switch(workers.front())).name, settings.slots, resent, sent));
  return out;
}

}  // namespace weft
