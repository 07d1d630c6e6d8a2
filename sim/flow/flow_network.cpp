#include "sim/flow/flow_network.hpp"

#include "sim/executor/run_schedule.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/network/background_flows.hpp"

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

NetworkRun run_flow(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline) {
  return run(job, fabric, routes, timeline, Around::engine);
}

NetworkRun run_flow_bare(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline) {
  return run(job, fabric, routes, timeline, Around::nothing);
}

}  // namespace weft
