#include "sim/shared_run.hpp"

#include "sim/cases/jobs.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/flow/link_faults.hpp"
#include "sim/in_network/cluster.hpp"
#include "sim/in_network/flow_trees.hpp"
#include "sim/in_network/packet_agents.hpp"
#include "sim/network/background_flows.hpp"
#include "sim/packet/packet_network.hpp"
#include "sim/reference/ns3_network.hpp"
#include "sim/reference/s4u_network.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <type_traits>

namespace weft {
namespace {

// Into the fabric, by the NIC that sent most; an endpoint without a server is its own.
std::int64_t max_sent(const NetworkRun& run, const Fabric& fabric) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(fabric.devices()));
  for (int e = 0; e < fabric.endpoints(); ++e)
    sent[static_cast<std::size_t>(fabric.port_of(e))] += run.bytes_from[static_cast<std::size_t>(e)];
  return sent.empty() ? 0 : std::ranges::max(sent);
}

SimTime mean_of(const std::vector<SimTime>& times) {
  double sum = 0;
  for (const SimTime t : times) sum += static_cast<double>(t.ps);
  return times.empty() ? SimTime{} : SimTime{std::llround(sum / static_cast<double>(times.size()))};
}

// The traffic of a scenario: a stream for each pair.
template <class Network>
class BackgroundTraffic {
 public:
  BackgroundTraffic(std::span<const TrafficSpec> traffic, const SharedSite& site, SharedNetwork<Network>& network)
      : flows_(network, BackgroundFlows<Network>::Awaited::no) {
    Routes& routes = site.routes;
    const auto name = [&](int endpoint) { return routes.fabric().device(routes.fabric().node_of(endpoint)).name; };
    for (const TrafficSpec& entry : traffic) {
      const auto pairs = flows_of(entry, routes.fabric().endpoints());
      streams_.push_back(static_cast<std::int64_t>(pairs.size()));
      routes.begin_schedule();
      for (const auto& pair : pairs) {
        const RouteId id = routes.of(pair.first, pair.second);
        flows_.add(routes.hops(id), routes.latency(id), routes.terms(id), entry.size,
                   {.start = entry.start, .stop = entry.stop, .period = entry.period, .on = entry.on, .off = entry.off});
        if (site.activity)
          flows_.record(*site.activity, {.by = fmt::format("traffic {}", streams_.size() - 1),
                                         .from = name(pair.first),
                                         .to = name(pair.second),
                                         .bytes = entry.size.count,
                                         .begin = {},
                                         .end = {}});
      }
    }
  }

  std::vector<TrafficResult> result() const {
    const std::vector<StreamRecord> streams = flows_.result();
    std::vector<TrafficResult> out;
    std::size_t next = 0;
    for (const std::int64_t count : streams_) {
      TrafficResult record{.streams = count};
      for (std::int64_t i = 0; i < count; ++i, ++next) {
        record.count += streams[next].count;
        record.bytes += Bytes{streams[next].bytes};
        record.busy += streams[next].busy;
        record.late += streams[next].late;
      }
      out.push_back(record);
    }
    return out;
  }

 private:
  BackgroundFlows<Network> flows_;
  std::vector<std::int64_t> streams_;  // by entry
};

template <class Network>
using InNetwork = std::conditional_t<std::is_same_v<Network, PacketNetwork>, PacketAgents, FlowTrees>;

// Of a training job, but for the control messages of its engine.
bool is_in_network(const Job& job) {
  const PlacedTraining* training = std::get_if<PlacedTraining>(&job.placed);
  return training ? training->aggregation.has_value() : std::holds_alternative<PlacedAggregation>(job.placed);
}

bool only_in_network(std::span<const Job> jobs) { return std::ranges::all_of(jobs, is_in_network); }

// The in-network job whose rounds are a training job's orders, each of at most all gradients.
PlacedAggregation open_job(const PlacedTraining& training, RoundOwner& owner) {
  return {.settings = *training.aggregation,
          .workers = {training.placement.begin(), training.placement.end()},
          .elements = training.step.size().count / training.element_bytes,
          .owner = &owner};
}

// The links of a network on which schedules run give them their payload's rate; headers of packets are what agents send.
std::vector<BitsPerSecond> rates_for(std::span<const Job> jobs, const SharedSite& site) {
  return only_in_network(jobs) ? link_rates(site.routes.fabric()) : goodput_of_links(site.routes.fabric(), site.hardware);
}

// A lane each, one for the traffic, one for copies and one for failures.
static_assert(1 + max_jobs + 3 <= Lane<FluidNetwork>::max_lanes);

std::vector<int> endpoints_of_schedules(std::span<const Job> jobs) {
  std::vector<int> out;
  for (const Job& t : jobs) {
    if (const PlacedProgram* job = std::get_if<PlacedProgram>(&t.placed))
      out.insert(out.end(), job->placement.begin(), job->placement.end());
    if (const PlacedTraining* job = std::get_if<PlacedTraining>(&t.placed); job && !job->aggregation)
      out.insert(out.end(), job->placement.begin(), job->placement.end());
  }
  return out;
}

template <class Network>
SharedRun run(SharedNetwork<Network>& network, const SharedLoad& load, const SharedSite& site, Around around, CallsApart* apart = nullptr) {
  const std::span<const Job> jobs = load.jobs;
  if (site.activity) {
    site.activity->start(site.routes.fabric());
    network.model().record_activity(site.activity);
  }
  BackgroundTraffic<Network> background(load.traffic, site, network);
  std::deque<ProgramDriver<Network>> programs;
  std::deque<TrainingDriver<Network>> trainings;
  std::vector<std::int64_t> nic_free_at(static_cast<std::size_t>(site.routes.fabric().links()));
  std::vector<PlacedAggregation> aggregated;
  std::vector<std::pair<TrainingDriver<Network>*, std::size_t>> with_rounds;
  for (const Job& t : jobs) {
    if (const PlacedProgram* job = std::get_if<PlacedProgram>(&t.placed)) {
      programs.emplace_back(*job, site.routes, network, nic_free_at);
    } else if (const PlacedTraining* training = std::get_if<PlacedTraining>(&t.placed)) {
      TrainingDriver<Network>& driver = trainings.emplace_back(*training, site.routes, network, nic_free_at);
      if (training->apart) driver.run_in(*apart);
      if (!training->aggregation) continue;
      with_rounds.emplace_back(&driver, aggregated.size());
      aggregated.push_back(open_job(*training, driver));
    } else {
      aggregated.push_back(std::get<PlacedAggregation>(t.placed));
    }
    if (is_in_network(t)) aggregated.back().name = t.name;
  }
  const InNetworkSite switches{.routes = site.routes,
                               .hardware = site.hardware,
                               .switches = site.switches,
                               .ecn = site.packet.ecn,
                               .wire_share = only_in_network(jobs) ? 1 : site.hardware.wire_efficiency,
                               .taken = endpoints_of_schedules(jobs)};
  std::optional<InNetwork<Network>> in_network;
  if (!aggregated.empty()) in_network.emplace(switches, aggregated, network);
  for (const auto& [training, number] : with_rounds) training->reduce_in(in_network->open_jobs(), number);
  run_to_end(network, around);

  SharedRun out;
  out.bytes_on_link.resize(static_cast<std::size_t>(site.routes.fabric().links()));
  const auto carried = [&](const std::vector<std::int64_t>& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) out.bytes_on_link[i] += bytes[i];
  };
  InNetworkRun added;
  if (in_network) {
    added = in_network->result();
    carried(added.bytes_on_link);
    out.in_network = added.summary;
    auto summary = out.in_network->jobs.begin();
    for (const Job& t : jobs)
      if (is_in_network(t)) summary++->name = t.name;
  }
  auto program = programs.begin();
  auto training = trainings.begin();
  auto of_agents = added.jobs.begin();
  for (const Job& t : jobs) {
    if (std::holds_alternative<PlacedProgram>(t.placed)) {
      const NetworkRun job = program->result();
      carried(job.bytes_on_link);
      out.jobs.push_back({.iterations = program->iterations(),
                          .messages = job.messages,
                          .mean_finish = mean_of(job.rank_finish),
                          .max_sent = max_sent(job, site.routes.fabric()),
                          .critical_path = program->critical_path()});
      ++program;
    } else if (std::holds_alternative<PlacedTraining>(t.placed)) {
      const NetworkRun job = training->result();
      carried(job.bytes_on_link);
      out.jobs.push_back({.iterations = training->iterations(),
                          .messages = job.messages,
                          .max_sent = max_sent(job, site.routes.fabric()),
                          .computed = training->computed(),
                          .compressing = training->compressing(),
                          .waits = training->waits(),
                          .merged = !std::get<PlacedTraining>(t.placed).stands_for.empty()});
      ++training;
      if (is_in_network(t)) {
        out.jobs.back().messages += of_agents->messages;
        out.jobs.back().max_sent = of_agents->max_sent;
        out.jobs.back().between_switches = of_agents->between_switches;
        ++of_agents;
      }
    } else {
      out.jobs.push_back({.iterations = of_agents->iterations,
                          .messages = of_agents->messages,
                          .max_sent = of_agents->max_sent,
                          .between_switches = of_agents->between_switches});
      ++of_agents;
    }
    out.finish = std::max(out.finish, out.jobs.back().finish());
  }
  out.traffic = background.result();
  out.events = network.model().events();
  return out;
}

// Those of the scenario besides the network's own.
PacketSettings with_failures(PacketSettings packet, const Faults& faults, const Fabric& fabric) {
  for (const Failure& failure : faults.failures)
    for (const LinkId link : links_of(failure, fabric))
      packet.faults.failures.push_back({.link = fabric.link_name(link), .at = failure.at, .until = failure.until});
  return packet;
}

SharedRun run_flow(const SharedLoad& load, const SharedSite& site, Around around) {
  SharedNetwork<FluidNetwork> network(rates_for(load.jobs, site));
  lose_two_way(site.routes.fabric(), network.model());
  std::optional<LinkFaults> faults;
  if (site.faults.any()) faults.emplace(site.faults, site.routes.fabric(), site.routes.ecmp(), network);
  BackgroundCopies background(load.copies, site.routes.fabric(), network);
  CallsApart apart(site.routes, rates_for(load.jobs, site), load.max_events_apart);
  SharedRun out = run(network, load, site, around, &apart);
  out.copies = background.result();
  out.solves = network.model().solves();
  out.solved_flows = network.model().solved_flows();
  out.rerouted = network.model().rerouted();
  out.interrupted = network.model().interrupted();
  return out;
}

SharedRun run_packet(const SharedLoad& load, const SharedSite& site, Around around) {
  SharedNetwork<PacketNetwork> network(site.routes.fabric(), rates_for(load.jobs, site),
                                       with_failures(site.packet, site.faults, site.routes.fabric()));
  SharedRun out = run(network, load, site, around);
  out.packet = network.model().report();
  out.bytes_on_link = out.packet->wire_bytes;
  return out;
}

// The networks of others run one program, once, without anything beside it.
const PlacedProgram& only_program(const SharedLoad& load) {
  check(load.jobs.size() == 1 && load.traffic.empty() && load.copies.empty(), "several jobs on a network of others");
  const auto& program = std::get<PlacedProgram>(load.jobs.front().placed);
  check(program.repetition.iterations == 1, "{} iterations on a network of others", program.repetition.iterations);
  return program;
}

SharedRun alone(NetworkRun run, const PlacedProgram& program, const Fabric& fabric) {
  const SimTime begin = program.start.empty() ? SimTime{} : *std::ranges::min_element(program.start);
  SharedRun out;
  out.jobs.push_back({.iterations = {{begin, run.finish}},
                      .messages = run.messages,
                      .mean_finish = mean_of(run.rank_finish),
                      .max_sent = max_sent(run, fabric)});
  out.finish = run.finish;
  out.bytes_on_link = std::move(run.bytes_on_link);
  out.events = run.events;
  return out;
}

SharedRun run_simgrid(const SharedLoad& load, const SharedSite& site, Around) {
  const PlacedProgram& program = only_program(load);
  return alone(run_s4u(program, site.routes), program, site.routes.fabric());
}

SharedRun run_ns3(const SharedLoad& load, const SharedSite& site, Around) {
  const PlacedProgram& program = only_program(load);
  const Call& call = program.program.calls.front();
  const HardwareProfile hardware = program.hardware.in(call.regime);
  return alone(run_ns3({.schedule = *call.schedule,
                        .placement = program.placement,
                        .elements = call.elements,
                        .element_bytes = call.element_bytes,
                        .hardware = hardware,
                        .start = program.start,
                        .regime = call.regime},
                       site.routes.fabric(), site.routes),
               program, site.routes.fabric());
}

struct Runner {
  NetworkKind network;
  SharedRun (*run)(const SharedLoad&, const SharedSite&, Around);
};

constexpr Runner runners[] = {
    {NetworkKind::flow, run_flow},
    {NetworkKind::packet, run_packet},
    {NetworkKind::simgrid, run_simgrid},
    {NetworkKind::ns3, run_ns3},
};

}  // namespace

SharedRun run_on(NetworkKind network, const SharedLoad& load, const SharedSite& site, Around around) {
  const Runner* runner = std::ranges::find(runners, network, &Runner::network);
  check(runner != std::end(runners), "the network {} has no runner", name_of(network));
  return runner->run(load, site, around);
}

}  // namespace weft
