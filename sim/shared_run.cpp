#include "sim/shared_run.hpp"

#include "sim/network/background_flows.hpp"
#include "sim/network/flow_network.hpp"
#include "sim/network/fluid.hpp"
#include "sim/packet/packet_network.hpp"

#include <deque>

namespace weft {
namespace {

// The traffic of a scenario: a stream for each pair.
template <class Network>
class BackgroundTraffic {
 public:
  BackgroundTraffic(std::span<const TrafficSpec> traffic, Routes& routes, SharedNetwork<Network>& network)
      : flows_(network, BackgroundFlows<Network>::Awaited::no) {
    for (const TrafficSpec& entry : traffic) {
      const auto pairs = flows_of(entry, routes.fabric().endpoints());
      streams_.push_back(static_cast<std::int64_t>(pairs.size()));
      routes.begin_step();  // of its own, for the policy least_loaded
      for (const auto& pair : pairs) {
        const RouteId id = routes.of(pair.first, pair.second);
        flows_.add(routes.hops(id), routes.latency(id), routes.claim(id), entry.size,
                   {.start = entry.start, .stop = entry.stop, .period = entry.period, .on = entry.on, .off = entry.off});
      }
    }
  }

  std::vector<TrafficRecord> result() const {
    const std::vector<StreamRecord> streams = flows_.result();
    std::vector<TrafficRecord> out;
    std::size_t next = 0;
    for (const std::int64_t count : streams_) {
      TrafficRecord record{.streams = count, .busy = {}};
      for (std::int64_t i = 0; i < count; ++i, ++next) {
        record.count += streams[next].count;
        record.bytes += streams[next].bytes;
        record.busy += streams[next].busy;
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
SharedRun run(SharedNetwork<Network>& network, std::span<const Tenant> tenants, std::span<const TrafficSpec> traffic, Routes& routes,
              Around around) {
  BackgroundTraffic<Network> background(traffic, routes, network);
  std::deque<ScheduleDriver<Network>> drivers;
  for (const Tenant& t : tenants) drivers.emplace_back(t.job, routes, network, t.repetition, t.name, t.timeline);
  run_to_end(network, around);
  SharedRun out;
  out.bytes_on_link.resize(static_cast<std::size_t>(routes.fabric().links()));
  for (const auto& driver : drivers) {
    out.jobs.push_back({driver.iterations(), driver.result()});
    const NetworkRun& job = out.jobs.back().run;
    out.finish = std::max(out.finish, job.finish);
    for (std::size_t i = 0; i < job.bytes_on_link.size(); ++i) out.bytes_on_link[i] += job.bytes_on_link[i];
  }
  out.traffic = background.result();
  out.events = network.model().events();
  return out;
}

}  // namespace

SharedRun run_shared_flow(std::span<const Tenant> tenants, std::span<const TrafficSpec> traffic, std::span<const HostCopies> copies,
                          Routes& routes, Around around) {
  SharedNetwork<FluidNetwork> network(goodput_of_links(routes.fabric(), tenants.front().job.hardware));
  BackgroundCopies background(copies, routes.fabric(), network);
  SharedRun out = run(network, tenants, traffic, routes, around);
  out.copies = background.result();
  out.solves = network.model().solves();
  return out;
}

SharedRun run_shared_packet(std::span<const Tenant> tenants, std::span<const TrafficSpec> traffic, Routes& routes,
                            const PacketSettings& settings, PacketReport* report, Around around) {
  SharedNetwork<PacketNetwork> network(routes.fabric(), goodput_of_links(routes.fabric(), tenants.front().job.hardware), settings);
  SharedRun out = run(network, tenants, traffic, routes, around);
  if (report) *report = network.model().report();
  return out;
}

}  // namespace weft
