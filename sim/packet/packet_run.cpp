#include "sim/packet/packet_run.hpp"

#include "sim/executor/run_schedule.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/packet/packet_network.hpp"

namespace weft {
namespace {

NetworkRun run(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
               std::vector<MessageRecord>* timeline, PacketReport* report, Around around) {
  SharedNetwork<PacketNetwork> network(fabric, goodput_of_links(fabric, job.hardware), settings);
  NetworkRun run = run_schedule(job, routes, network, timeline, around);
  if (report) *report = network.model().report();
  return run;
}

}  // namespace

NetworkRun run_packet(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
                      std::vector<MessageRecord>* timeline, PacketReport* report) {
  return run(job, fabric, routes, settings, timeline, report, Around::engine);
}

NetworkRun run_packet_bare(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
                           std::vector<MessageRecord>* timeline, PacketReport* report) {
  return run(job, fabric, routes, settings, timeline, report, Around::nothing);
}

}  // namespace weft
