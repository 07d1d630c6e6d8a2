#include "sim/packet/packet_run.hpp"

#include "sim/network/flow_network.hpp"
#include "sim/network/schedule_driver.hpp"
#include "sim/packet/packet_network.hpp"

namespace weft {
namespace {

NetworkRun run(const Job& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings, std::vector<MessageRecord>* timeline,
               PacketReport* report, Around around) {
  SharedNetwork<PacketNetwork> network(fabric, goodput_of_links(fabric, job.hardware), settings);
  ScheduleDriver driver(job, routes, network, {}, {}, timeline);
  run_to_end(network, around);
  NetworkRun run = driver.result();
  run.events = network.model().events();
  if (report) *report = network.model().report();
  return run;
}

}  // namespace

NetworkRun run_packet(const Job& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
                      std::vector<MessageRecord>* timeline, PacketReport* report) {
  return run(job, fabric, routes, settings, timeline, report, Around::engine);
}

NetworkRun run_packet_bare(const Job& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
                           std::vector<MessageRecord>* timeline, PacketReport* report) {
  return run(job, fabric, routes, settings, timeline, report, Around::nothing);
}

}  // namespace weft
