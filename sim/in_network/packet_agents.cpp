#include "sim/in_network/packet_agents.hpp"

#include "collectives/in_network/deployment.hpp"
#include "sim/in_network/agent_rounds.hpp"
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

std::vector<PlacedTask> placed(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs) {
  return place_tasks(clusters_of(site, jobs), site, jobs);
}

}  // namespace

// The pool outlives the agents, which outlive the datagram network.
class PacketAgents::Agents {
 public:
  Agents(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs, SharedNetwork<PacketNetwork>& network)
      : site_(site),
        jobs_(jobs),
        tasks_(placed(site, jobs)),
        deployment_(deploy(tasks_of(tasks_), programmable_nodes(site.switches, site.routes.fabric()))),
        pool_(deployment_.values_per_packet),
        network_(network.model()),
        datagrams_(network.model(), site.routes, &pool_, site.wire_share),
        driver_(datagrams_, network),
        rounds_(datagrams_) {
    for (const Seat& seat : deployment_.seats) attach(seat);
    for (const InNetworkDeployment::Group& group : deployment_.groups) datagrams_.group(group.self, group.members);
    rounds_.set_jobs(open_jobs());
    if (std::ranges::any_of(jobs_, [](const PlacedAggregation& job) { return job.owner != nullptr; }))
      driver_.while_idle([this] { return rounds_.owners(); });
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (jobs_[j].owner) continue;
      std::vector<Address> workers;
      for (const Seat& seat : deployment_.seats)
        if (seat.role == Role::worker && seat.job == static_cast<int>(j)) workers.push_back(seat.self);
      driver_.add_job(std::move(workers), jobs_[j].repetition, jobs_[j].first_start(), site_.hardware.send_overhead,
                      site_.hardware.receive_overhead, jobs_[j].name);
    }
  }

  OpenJobs& rounds() { return rounds_; }

  InNetworkRun result() const {
    std::int64_t wrong = 0;
    for (const KnownValues& v : values_) wrong += v.wrong();
    if (wrong > 0) throw RunError(fmt::format("{} sums are wrong", wrong));
    InNetworkRun out{.jobs = std::vector<InNetworkRun::OfJob>(jobs_.size()), .summary = {.places = deployment_.places}};
    std::vector<InNetworkStatistics> counted(jobs_.size());
    std::map<std::pair<int, int>, std::int64_t> sent_by;  // job and endpoint
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      const Seat& seat = deployment_.seats[i];
      const InNetworkStatistics s = agents_[i]->counted();
      if (s.overflows > 0) throw RunError(fmt::format("{}: a sum does not fit into 32 bits", name()));
      if (seat.role == Role::program) {
        out.summary.switches.push_back({.name = site_.routes.fabric().device(seat.at).name,
                                        .places = deployment_.places,
                                        .most_in_use = static_cast<int>(s.most_in_use),
                                        .packets = s.seen,
                                        .added = s.aggregated,
                                        .collided = s.collisions});
        continue;
      }
      const auto j = static_cast<std::size_t>(seat.job);
      counted[j].add(s);
      const DatagramNetwork::Sent sent = datagrams_.sent(seat.self);
      out.jobs[j].messages += sent.datagrams;
      out.jobs[j].max_sent = std::max(out.jobs[j].max_sent, sent_by[{seat.job, endpoint_of(seat)}] += sent.bytes);
    }
    const std::vector<InNetworkCluster> clusters = clusters_of(site_, jobs_);
    std::size_t repeated = 0;  // of those that are not open
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      InNetworkDeployment::Job job = deployment_.jobs[j];
      if (jobs_[j].owner)
        job.packets = rounds_.packets(j);
      else
        out.jobs[j].iterations = driver_.iterations(repeated++);
      out.jobs[j].between_switches = busiest_between_switches(clusters[j], tasks_[j], site_);
      const InNetworkStatistics& s = counted[j];
      out.summary.jobs.push_back(
          {.servers = job.servers,
           .slots = job.slots,
           .packets = job.packets,
           .aggregated = job.servers == 0 || job.packets == 0 ? 1 : static_cast<double>(s.whole) / static_cast<double>(job.packets),
           .sent = s.sent,
           .resent = s.resent,
           .timeouts = s.timeouts,
           .marked = s.marks,
           .largest_window = static_cast<int>(s.largest_window)});
    }
    return out;
  }

 private:
  using Role = InNetworkDeployment::Role;
  using Seat = InNetworkDeployment::Seat;

  std::string_view name() const { return protocol_of(jobs_.front().settings).name; }
  int endpoint_of(const Seat& seat) const {
    const auto j = static_cast<std::size_t>(seat.job), number = static_cast<std::size_t>(seat.number);
    return seat.role == Role::worker ? jobs_[j].workers[number] : tasks_[j].servers[number];
  }
  std::vector<AgentRounds::Job> open_jobs() const {
    std::vector<AgentRounds::Job> out;
    for (const PlacedAggregation& job : jobs_)
      out.push_back({.owner = job.owner,
                     .workers = std::vector<std::vector<AgentRounds::Member>>(job.workers.size()),
                     .values_per_packet = deployment_.values_per_packet});
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      const Seat& seat = deployment_.seats[i];
      if (seat.role == Role::program) continue;
      AgentRounds::Job& job = out[static_cast<std::size_t>(seat.job)];
      if (seat.role == Role::server)
        job.servers.push_back(agents_[i].get());
      else
        job.workers[static_cast<std::size_t>(seat.number)].push_back({seat.self, agents_[i].get()});
    }
    return out;
  }
  void attach(const Seat& seat) {
    KnownValues* values = nullptr;
    if (seat.role == Role::worker)
      values = &values_.emplace_back(seat.number, static_cast<int>(jobs_[static_cast<std::size_t>(seat.job)].workers.size()),
                                     seat.first_value, deployment_.values_per_packet);
    InNetworkAgent& agent = *agents_.emplace_back(seat.agent(values));
    if (seat.role == Role::program) {
      if (const Bytes queued = site_.switches.mark_above; queued.count > 0) network_.mark_from(seat.at, queued);
      return datagrams_.program(seat.self, seat.at, agent,
                                {.delay = site_.switches.delay, .packets_per_second = site_.switches.packets_per_second});
    }
    SimTime start;
    if (seat.role == Role::worker)
      start = jobs_[static_cast<std::size_t>(seat.job)].start_of(static_cast<std::size_t>(seat.number)) + site_.hardware.send_overhead;
    datagrams_.attach(seat.self, endpoint_of(seat), agent, start,
                      {.host = host_of(tasks_[static_cast<std::size_t>(seat.job)].task.settings)});
  }

  const InNetworkSite& site_;
  const std::vector<PlacedAggregation>& jobs_;
  std::vector<PlacedTask> tasks_;
  InNetworkDeployment deployment_;
  PayloadPool pool_;
  PacketNetwork& network_;
  std::deque<KnownValues> values_;
  std::vector<std::unique_ptr<InNetworkAgent>> agents_;  // by address
  DatagramNetwork datagrams_;
  AgentDriver driver_;
  AgentRounds rounds_;
};

PacketAgents::PacketAgents(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs, SharedNetwork<PacketNetwork>& network)
    : agents_(std::make_unique<Agents>(site, jobs, network)) {}

PacketAgents::~PacketAgents() = default;

OpenJobs& PacketAgents::open_jobs() { return agents_->rounds(); }

InNetworkRun PacketAgents::result() const { return agents_->result(); }

}  // namespace weft
