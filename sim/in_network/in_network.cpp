#include "sim/in_network/in_network.hpp"

#include "sim/in_network/flow_trees.hpp"

namespace weft {

InNetworkRun run_in_network(const Scenario& scenario, const AlgorithmChoice& algorithm, std::int64_t elements,
                            const std::vector<int>& placement, std::span<const SimTime> starts, const Fabric& fabric, Routes& routes,
                            PacketReport& report) {
  const InNetworkCluster cluster(fabric, placement);
  const InNetworkJob job{fabric, routes, cluster, elements, starts, scenario.packet.value_or(PacketSettings{})};
  const bool atp = algorithm.name == "atp";
  InNetworkRun run = scenario.network == NetworkKind::packet
                         ? atp ? run_atp_agents(job, algorithm.atp, report) : run_switchml_agents(job, algorithm.switchml, report)
                     : atp ? run_atp_flows(job, algorithm.atp)
                           : run_switchml_flows(job, algorithm.switchml);
  run.network.finish = run.network.finish + scenario.hardware.send_overhead + scenario.hardware.receive_overhead;
  return run;
}

}  // namespace weft
