#include "sim/in_network/packet_agents.hpp"

#include "collectives/in_network/atp_server.hpp"
#include "collectives/in_network/atp_switch.hpp"
#include "collectives/in_network/atp_worker.hpp"
#include "collectives/in_network/deployment.hpp"
#include "collectives/in_network/switchml.hpp"
#include "sim/in_network/cluster.hpp"
#include "sim/packet/agent_driver.hpp"

#include <algorithm>
#include <deque>
#include <map>

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

}  // namespace

// The pool outlives the agents, which outlive the datagram network: what derives from this holds agents.
class PacketAgents::Protocol {
 public:
  Protocol(const InNetworkSite& site, const std::vector<InNetworkJob>& jobs, int values_per_packet)
      : site_(site), jobs_(jobs), pool_(values_per_packet) {}
  virtual ~Protocol() = default;
  virtual InNetworkRun result() const = 0;

 protected:
  class Network {
   public:
    Network(const Protocol& of, PayloadPool& pool, SharedNetwork<PacketNetwork>& network)
        : of_(of), datagrams(network.model(), of.site_.routes, &pool, of.site_.wire_share), driver_(datagrams, network) {}

    void place_worker(const InNetworkJob& job, std::size_t worker, Address self, Agent& agent) {
      endpoint_of_[self] = job.workers[worker];
      datagrams.place(self, job.workers[worker], agent, job.start_of(worker) + of_.site_.hardware.send_overhead);
    }
    void place_server(int endpoint, Address self, Agent& agent) {
      endpoint_of_[self] = endpoint;
      datagrams.place(self, endpoint, agent);
    }
    void program(Address self, NodeId at, Agent& agent) {
      datagrams.program(self, at, agent, {.delay = of_.site_.switches.delay, .packets_per_second = of_.site_.switches.packets_per_second});
    }
    void add_job(const InNetworkJob& job, std::vector<Address> workers, std::vector<Address> servers) {
      servers.insert(servers.end(), workers.begin(), workers.end());
      agents_of_.push_back(std::move(servers));
      driver_.add_job(std::move(workers), job.repetition, job.first_start(), of_.site_.hardware.send_overhead,
                      of_.site_.hardware.receive_overhead, job.name);
    }

    InNetworkRun result() const {
      InNetworkRun out;
      for (std::size_t j = 0; j < agents_of_.size(); ++j) {
        InNetworkRun::OfJob& job = out.jobs.emplace_back(InNetworkRun::OfJob{.iterations = driver_.iterations(j)});
        std::map<int, std::int64_t> by_endpoint;
        for (const Address a : agents_of_[j]) {
          const DatagramNetwork::Sent sent = datagrams.sent(a);
          job.messages += sent.datagrams;
          job.most_sent = std::max(job.most_sent, by_endpoint[endpoint_of_.at(a)] += sent.bytes);
        }
      }
      return out;
    }

   private:
    const Protocol& of_;

   public:
    DatagramNetwork datagrams;

   private:
    AgentDriver driver_;
    std::map<Address, int> endpoint_of_;
    std::vector<std::vector<Address>> agents_of_;  // by job
  };

  void require_right() const {
    std::int64_t wrong = 0;
    for (const KnownValues& v : values_) wrong += v.wrong();
    if (wrong > 0) throw RunError(fmt::format("{} sums are wrong", wrong));
  }

  const InNetworkSite& site_;
  const std::vector<InNetworkJob>& jobs_;
  PayloadPool pool_;
  std::deque<KnownValues> values_;
};

class PacketAgents::Atp final : public Protocol {
 public:
  Atp(const InNetworkSite& site, const std::vector<InNetworkJob>& jobs, SharedNetwork<PacketNetwork>& network)
      : Protocol(site, jobs, settings_of(jobs.front().algorithm.atp, site.switches).values_per_packet) {
    const std::vector<InNetworkCluster> clusters = clusters_of(site, jobs);
    std::vector<AtpJob> deployed;
    std::vector<int> server_endpoints;  // by flow
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      AtpJob& job = deployed.emplace_back();
      job.workers_at = clusters[j].worker_switches();
      job.rounds = static_cast<std::uint32_t>(jobs[j].repetition.iterations);
      const std::vector<ServerShare> shares = clusters[j].servers(jobs[j].algorithm.atp, jobs[j].elements);
      settings_.push_back(atp_settings(clusters[j], shares, site, jobs[j].algorithm.atp));
      for (const ServerShare& share : shares) {
        job.shares.push_back({clusters[j].edge_switch(share.endpoint), share.first_value, share.values});
        server_endpoints.push_back(share.endpoint);
      }
    }
    const std::vector<NodeId> programmable = programmable_nodes(site.switches, site.routes.fabric());
    const std::int64_t aggregators = static_cast<std::int64_t>(programmable.size()) * settings_.front().aggregators;
    constexpr std::int64_t most = std::int64_t{1} << 26;  // 2.5 GiB
    if (aggregators > most)
      throw InputError(fmt::format("aggregators: {} switches of {} have {} together, at most {} are simulated on \"packet\"",
                                   programmable.size(), settings_.front().aggregators, aggregators, most));
    deployment_ = deploy_atp(settings_.front(), deployed, programmable);
    network_.emplace(*this, pool_, network);
    place(server_endpoints);
  }

  InNetworkRun result() const override {
    require_right();
    InNetworkRun out = network_->result();
    out.summary = summary();
    return out;
  }

 private:
  void place(const std::vector<int>& server_endpoints) {
    std::vector<std::vector<Address>> workers_of(jobs_.size()), servers_of(jobs_.size());
    for (const AtpFlow& flow : deployment_.flows) {
      const auto j = static_cast<std::size_t>(flow.job);
      for (int w = 0; w < flow.workers(); ++w) {
        values_.emplace_back(w, flow.workers(), flow.share.first_value, settings_[j].values_per_packet);
        const AtpWorker::Place place = flow.worker_place(w);
        workers_.emplace_back(settings_[j], place, &values_.back());
        network_->place_worker(jobs_[j], static_cast<std::size_t>(w), place.self, workers_.back());
        workers_of[j].push_back(place.self);
      }
      servers_.emplace_back(settings_[j], flow.tree, flow.server_place());
      network_->place_server(server_endpoints[static_cast<std::size_t>(flow.number)], flow.server, servers_.back());
      servers_of[j].push_back(flow.server);
    }
    for (const AtpSwitchPlace& place : deployment_.switches) {
      switches_.emplace_back(settings_.front(), deployment_.walks(), place.attached);
      network_->program(place.self, place.at, switches_.back());
    }
    for (const AtpFlow& flow : deployment_.flows) network_->datagrams.group(flow.group, flow.members());
    for (std::size_t j = 0; j < jobs_.size(); ++j) network_->add_job(jobs_[j], workers_of[j], servers_of[j]);
  }

  InNetworkSummary summary() const {
    InNetworkSummary out{.jobs = std::vector<JobInNetwork>(jobs_.size()), .places = settings_.front().aggregators};
    std::vector<std::int64_t> whole(jobs_.size());
    auto worker = workers_.begin();
    auto server = servers_.begin();
    for (const AtpFlow& flow : deployment_.flows) {
      JobInNetwork& job = out.jobs[static_cast<std::size_t>(flow.job)];
      ++job.servers;
      job.packets += std::int64_t{flow.rounds} * flow.packets;
      whole[static_cast<std::size_t>(flow.job)] += server++->statistics().whole;
      for (int w = 0; w < flow.workers(); ++w) {
        const AtpWorker::Statistics& s = worker++->statistics();
        if (s.overflow) throw RunError("atp: a sum does not fit into 32 bits");
        job.sent += s.sent, job.resent += s.resent, job.timeouts += s.timeouts, job.marked += s.marks;
        job.largest_window = std::max(job.largest_window, s.largest_window);
      }
    }
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      if (JobInNetwork& job = out.jobs[j]; job.packets > 0)
        job.aggregated = static_cast<double>(whole[j]) / static_cast<double>(job.packets);
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const AtpSwitch::Statistics& s = switches_[i].statistics();
      out.switches.push_back({.name = site_.routes.fabric().device(deployment_.switches[i].at).name,
                              .places = out.places,
                              .most_in_use = s.most_in_use,
                              .packets = s.gradients,
                              .added = s.aggregated,
                              .collided = s.collisions});
    }
    return out;
  }

  std::deque<AtpSettings> settings_;  // by job
  AtpDeployment deployment_;
  std::deque<AtpWorker> workers_;
  std::deque<AtpServer> servers_;
  std::deque<AtpSwitch> switches_;
  std::optional<Network> network_;
};

class PacketAgents::Switchml final : public Protocol {
 public:
  Switchml(const InNetworkSite& site, const std::vector<InNetworkJob>& jobs, SharedNetwork<PacketNetwork>& network)
      : Protocol(site, jobs, settings_of(jobs.front().algorithm.switchml).values_per_packet) {
    const std::vector<InNetworkCluster> clusters = clusters_of(site, jobs);
    const std::vector<NodeId> programmable = programmable_nodes(site.switches, site.routes.fabric());
    std::vector<SwitchmlJob> deployed;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const NodeId at = switchml_switch(clusters[j], programmable);
      settings_.push_back(switchml_settings(clusters[j], at, site, jobs[j].algorithm.switchml));
      deployed.push_back({.workers = static_cast<int>(jobs[j].workers.size()),
                          .at = at,
                          .values = jobs[j].elements,
                          .rounds = static_cast<std::uint32_t>(jobs[j].repetition.iterations)});
    }
    deployment_ = deploy_switchml(settings_.front(), deployed);
    network_.emplace(*this, pool_, network);
    place();
  }

  InNetworkRun result() const override {
    require_right();
    InNetworkRun out = network_->result();
    out.summary.places = settings_.front().slots;
    auto worker = workers_.begin();
    for (const SwitchmlJobPlace& place : deployment_.jobs) {
      JobInNetwork& job = out.summary.jobs.emplace_back();
      job.slots = place.slots;
      job.packets = std::int64_t{jobs_[static_cast<std::size_t>(place.number)].repetition.iterations} * place.packets;
      for (int w = 0; w < place.workers; ++w) {
        const SwitchmlWorker::Statistics& s = worker++->statistics();
        if (s.overflow) throw RunError("switchml: a sum does not fit into 32 bits");
        job.sent += s.sent, job.resent += s.resent, job.timeouts += s.resent;
      }
    }
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const SwitchmlSwitch::Statistics& s = switches_[i].statistics();
      out.summary.switches.push_back({.name = site_.routes.fabric().device(deployment_.switches[i].at).name,
                                      .places = out.summary.places,
                                      .most_in_use = s.most_in_use,
                                      .packets = s.aggregated,
                                      .added = s.aggregated});
    }
    return out;
  }

 private:
  void place() {
    for (const SwitchmlJobPlace& job : deployment_.jobs) {
      const auto j = static_cast<std::size_t>(job.number);
      for (int w = 0; w < job.workers; ++w) {
        values_.emplace_back(w, job.workers, 0, settings_[j].values_per_packet);
        const SwitchmlWorker::Place place = job.worker_place(w);
        workers_.emplace_back(settings_[j], place, &values_.back());
        network_->place_worker(jobs_[j], static_cast<std::size_t>(w), place.self, workers_.back());
      }
    }
    for (const SwitchmlSwitchPlace& place : deployment_.switches) {
      switches_.emplace_back(settings_.front(), place.self, place.pools);
      network_->program(place.self, place.at, switches_.back());
    }
    for (const SwitchmlJobPlace& job : deployment_.jobs) network_->datagrams.group(job.group, job.members());
    for (const SwitchmlJobPlace& job : deployment_.jobs) network_->add_job(jobs_[static_cast<std::size_t>(job.number)], job.members(), {});
  }

  std::deque<SwitchmlSettings> settings_;  // by job
  SwitchmlDeployment deployment_;
  std::deque<SwitchmlWorker> workers_;
  std::deque<SwitchmlSwitch> switches_;
  std::optional<Network> network_;
};

PacketAgents::PacketAgents(const InNetworkSite& site, const std::vector<InNetworkJob>& jobs, SharedNetwork<PacketNetwork>& network) {
  if (jobs.front().algorithm.name == "atp")
    protocol_ = std::make_unique<Atp>(site, jobs, network);
  else
    protocol_ = std::make_unique<Switchml>(site, jobs, network);
}

PacketAgents::~PacketAgents() = default;

InNetworkRun PacketAgents::result() const { return protocol_->result(); }

}  // namespace weft
