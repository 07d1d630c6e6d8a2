#include "sim/network/flow_network.hpp"

#include "sim/network/background_flows.hpp"
#include "sim/network/fluid.hpp"
#include "sim/network/run_schedule.hpp"

#include <cmath>

namespace weft {
namespace {

NetworkRun run(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline, Around around) {
  SharedNetwork<FluidNetwork> network(goodput_of_links(fabric, job.hardware));
  lose_two_way(fabric, network.model());
  BackgroundCopies copies(job.copies, fabric, network);
  NetworkRun run = run_schedule(job, routes, network, timeline, around);
  run.solves = network.model().solves();
  run.solved_flows = network.model().solved_flows();
  run.copies = copies.result();
  return run;
}

}  // namespace

std::vector<BitsPerSecond> goodput_of_links(const Fabric& fabric, const HardwareProfile& hardware) {
  std::vector<BitsPerSecond> rates;
  rates.reserve(static_cast<std::size_t>(fabric.links()));
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const Link& link = fabric.link(id);
    const double efficiency = link.in_server ? 1.0 : hardware.wire_efficiency;
    rates.push_back({std::llround(static_cast<double>(link.bandwidth.count) * efficiency)});
  }
  return rates;
}

void lose_two_way(const Fabric& fabric, FluidNetwork& network) {
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (const TwoWayLoad& load = fabric.link(id).two_way; load.loses()) network.lose_two_way(id, load);
}

NetworkRun run_flow(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline) {
  return run(job, fabric, routes, timeline, Around::engine);
}

NetworkRun run_flow_bare(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline) {
  return run(job, fabric, routes, timeline, Around::nothing);
}

}  // namespace weft
