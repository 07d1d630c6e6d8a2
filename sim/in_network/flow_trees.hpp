// In-network all-reduces on the flow network: an aggregation tree and a multicast tree are single flows over sets of links.
// Left out: windows that grow (slow start), queues and marks, retransmission, sums that wait for a worker that is late.
#pragma once

#include "sim/in_network/packet_agents.hpp"

namespace weft {

InNetworkRun run_atp_flows(const InNetworkCase& all, const AtpChoice& choice);
InNetworkRun run_switchml_flows(const InNetworkCase& all, const SwitchmlChoice& choice);

}  // namespace weft
