#include "sim/in_network/in_network.hpp"

#include "sim/in_network/flow_trees.hpp"

namespace weft {

InNetworkRun run_in_network(const Scenario& scenario, const AlgorithmChoice& algorithm, const std::vector<InNetworkTenant>& tenants,
                            const Fabric& fabric, Routes& routes, PacketReport& report, Around around) {
  InNetworkCase all{fabric, routes, tenants, {}, scenario.packet.value_or(PacketSettings{}), around};
  for (std::size_t t = 0; t < tenants.size(); ++t) {
    std::vector<int> others;
    for (std::size_t o = 0; o < tenants.size(); ++o)
      if (o != t) others.insert(others.end(), tenants[o].workers.begin(), tenants[o].workers.end());
    all.clusters.emplace_back(fabric, tenants[t].workers, std::move(others), static_cast<int>(t));
  }
  const bool atp = algorithm.name == "atp";
  InNetworkRun run = scenario.network == NetworkKind::packet
                         ? atp ? run_atp_agents(all, algorithm.atp, report) : run_switchml_agents(all, algorithm.switchml, report)
                     : atp ? run_atp_flows(all, algorithm.atp)
                           : run_switchml_flows(all, algorithm.switchml);
  for (SimTime& finish : run.finish) finish = finish + scenario.hardware.send_overhead + scenario.hardware.receive_overhead;
  return run;
}

}  // namespace weft
