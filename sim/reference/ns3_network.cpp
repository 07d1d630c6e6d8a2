#include "sim/reference/ns3_network.hpp"

#include "collectives/executors/blocking.hpp"
#include "sim/engine/simgrid_compat.hpp"
#include "sim/executor/before_first_message.hpp"
#include "sim/reference/s4u_network.hpp"
#include "sim/reference/s4u_transport.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include <xbt/log.h>

namespace weft {
namespace {

namespace s4u = simgrid::s4u;

constexpr std::size_t max_devices = 256;  // SimGrid still computes all of its own routes, of which ns-3 uses none
// SimGrid 3.32 closes the socket of a larger message before its last bytes have left.
constexpr std::int64_t max_bytes = SIMGRID_VERSION < 40000 ? 131072 : INT64_MAX;

s4u::Engine& ns3_engine() {
  xbt_log_control_set("root.thresh:critical");
  static int argc = 1;
  static char name[] = "weft";
  static char* argv[] = {name, nullptr};
  static s4u::Engine engine(&argc, argv);
  s4u::Engine::set_config("network/model:ns-3");
  s4u::Engine::set_config("ns3/seed:1");
  return engine;
}

std::int64_t largest_message(const PlacedSchedule& job) {
  const ChunkLayout layout = layout_of(job.schedule, job.elements);
  std::int64_t largest = 0;
  Step step;
  for (const Steps& steps : job.schedule.channels)
    for (int k = 0; k < steps.count(); ++k) {
      steps.produce(k, step);
      for (const Transfer& t : step.transfers())
        if (t.from != t.to) largest = std::max(largest, layout.size(t.chunk, t.count) * job.element_bytes);
    }
  return largest;
}

class Ns3World final : public S4uTransport::Directory {
 public:
  Ns3World(const PlacedSchedule& job, const Fabric& fabric, Routes& routes)
      : job_(job), fabric_(fabric), routes_(routes), engine_(ns3_engine()) {
    s4u::NetZone* zone = simgrid_compat::add_floyd_zone(engine_, "fabric");
    const auto devices = static_cast<std::size_t>(fabric.devices());
    // Switches are hosts too: all that ns-3 sees is nodes that forward.
    for (std::size_t id = 0; id < devices; ++id) hosts_.push_back(simgrid_compat::add_host(zone, fmt::format("device{}", id), 1.0));
    std::set<std::pair<NodeId, NodeId>> cabled;
    for (LinkId id = 0; id < fabric.links(); ++id) {
      const NodeId a = fabric.from(id), b = fabric.to(id);
      if (!cabled.emplace(std::min(a, b), std::max(a, b)).second) continue;  // its other direction; ns-3's cables have both
      s4u::Link* link = simgrid_compat::add_link(zone, fmt::format("cable{}", id), fabric.link(id).bandwidth.bytes_per_second());
      link->set_latency(fabric.link(id).latency.seconds());
      simgrid_compat::add_cable(zone, hosts_[static_cast<std::size_t>(a)], hosts_[static_cast<std::size_t>(b)], link);
    }
    zone->seal();
    s4u::Engine::on_platform_created();  // as after reading a platform file: here ns-3 computes its routes
  }

  NetworkRun run() {
    const Schedule& s = job_.schedule;
    const Buffer sizes_only{.layout = {job_.elements, s.chunks}, .dtype = type_of_size(job_.element_bytes)};
    run_.rank_finish.resize(static_cast<std::size_t>(s.ranks));
    std::deque<StepWindow> windows;
    for (std::size_t channel = 0; channel < s.channels.size(); ++channel) {
      StepWindow& window = windows.emplace_back(s.channels[channel], s.ranks);
      for (Rank rank = 0; rank < s.ranks; ++rank) {
        S4uTransport& transport =
            *transports_.emplace_back(std::make_unique<S4uTransport>(*this, hardware_, rank, static_cast<int>(channel)));
        s4u::Host* host = hosts_[static_cast<std::size_t>(fabric_.node_of(job_.placement[static_cast<std::size_t>(rank)]))];
        actors_[{rank, static_cast<int>(channel)}] = simgrid_compat::add_actor(
            engine_, fmt::format("rank{}/{}", rank, channel), host, [this, &window, &transport, &sizes_only, rank, channel] {
              play(window, transport, sizes_only, rank, static_cast<int>(channel));
            });
      }
    }
    engine_.run();
    if (failure_) std::rethrow_exception(failure_);
    for (const auto& transport : transports_) {
      run_.messages += transport->messages_sent();
      if (const std::string line = transport->waiting(); !line.empty()) throw RunError("no progress is possible:\n  " + line);
    }
    run_.bytes_on_link.resize(static_cast<std::size_t>(fabric_.links()));
    run_.bytes_from.resize(static_cast<std::size_t>(fabric_.endpoints()));
    for (const auto& [ends, path] : paths_) {
      for (const LinkId link : path.links) run_.bytes_on_link[static_cast<std::size_t>(link)] += path.bytes;
      if (leaves_server(path.nature.kind))
        run_.bytes_from[static_cast<std::size_t>(job_.placement[static_cast<std::size_t>(ends.first)])] += path.bytes;
    }
    for (const SimTime t : run_.rank_finish) run_.finish = std::max(run_.finish, t);
    return std::move(run_);
  }

  S4uPath& path(Rank from, Rank to) override {
    auto [at, is_new] = paths_.try_emplace({from, to});
    if (is_new) {
      const RouteId route = routes_.of(job_.placement[static_cast<std::size_t>(from)], job_.placement[static_cast<std::size_t>(to)]);
      for (const Hop& hop : routes_.hops(route)) at->second.links.push_back(hop.link);
      at->second.nature.kind = class_of(fabric_, routes_.hops(route));
      if (job_.regime.protocol != NcclProtocol::automatic) at->second.nature.within_overhead = routes_.latency(route);
    }
    return at->second;
  }
  s4u::ActorPtr actor(Rank rank, int channel) override { return actors_.at({rank, channel}); }
  std::uint64_t bytes_of_an_empty_message() const override { return 1; }

 private:
  void play(StepWindow& window, S4uTransport& transport, const Buffer& sizes_only, Rank rank, int channel) {
    try {
      const auto r = static_cast<std::size_t>(rank);
      if (!job_.start.empty() && job_.start[r].ps > 0) s4u::this_actor::sleep_until(job_.start[r].seconds());
      if (before_.ps > 0) s4u::this_actor::sleep_for(before_.seconds());
      WindowedSteps steps(window, rank);
      run_blocking(steps, channel, ReduceOp::sum, sizes_only, transport);
      transport.finish();
      const double ps = s4u::Engine::get_clock() * 1e12;
      if (!(ps < 0x1p63)) throw_beyond_time();
      run_.rank_finish[r] = std::max(run_.rank_finish[r], SimTime{std::llround(ps)});
    } catch (const std::exception&) {
      if (!failure_) failure_ = std::current_exception();
      s4u::Actor::kill_all();
    }
  }

  const PlacedSchedule& job_;
  const HardwareProfile hardware_ = job_.hardware.for_message(Bytes{job_.elements * job_.element_bytes});
  const SimTime before_ = before_first_message(job_.hardware, job_.schedule, Bytes{job_.elements * job_.element_bytes});
  const Fabric& fabric_;
  Routes& routes_;
  s4u::Engine& engine_;
  std::vector<s4u::Host*> hosts_;  // by NodeId
  std::map<std::pair<Rank, Rank>, S4uPath> paths_;
  std::map<std::pair<Rank, int>, s4u::ActorPtr> actors_;
  std::vector<std::unique_ptr<S4uTransport>> transports_;
  std::exception_ptr failure_;
  NetworkRun run_;
};

}  // namespace

std::vector<Problem> ns3_problems(const PlacedSchedule& job, const Fabric& fabric) {
  std::vector<Problem> problems;
  const auto devices = static_cast<std::size_t>(fabric.devices());
  if (devices > max_devices)
    problems.push_back({"/network", fmt::format("ns3 is for small runs: at most {} nodes and switches, got {}", max_devices, devices)});
  if (job.hardware.rendezvous_threshold.count != INT64_MAX)
    problems.push_back({"/hardware/rendezvous_threshold", "ns3 has no rendezvous: write \"never\""});
  if (job.hardware.message_efficiency != 1)
    problems.push_back({"/hardware/message_efficiency", "ns3 has headers of its own: write 1, and no protocol of NCCL but simple"});
  if (!MessageCosts(job.hardware).none()) problems.push_back({"/hardware/cost_by_size", "ns3 has headers of its own: leave it out"});
  if (const std::int64_t largest = largest_message(job); largest > max_bytes)
    problems.push_back(
        {"/workload/size", fmt::format("SimGrid 3.32 loses the end of messages above {} bytes in ns-3, and one has {}: more ranks "
                                       "or \"pieces\" make them smaller, SimGrid 4.0 carries them",
                                       max_bytes, largest)});
  return problems;
}

NetworkRun run_ns3(const PlacedSchedule& job, const Fabric& fabric, Routes& routes) {
  std::vector<std::string> lines;
  for (const Problem& problem : ns3_problems(job, fabric)) lines.push_back(problem.where + ": " + problem.what);
  if (!lines.empty()) throw InputError(lines);
  return Ns3World(job, fabric, routes).run();
}

}  // namespace weft
