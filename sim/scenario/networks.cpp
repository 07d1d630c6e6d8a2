#include "sim/scenario/networks.hpp"

#include "kernels/base/error.hpp"

#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

#ifndef WEFT_HAS_NS3
#define WEFT_HAS_NS3 0
#endif

constexpr const char* every_network_leaves_out[] = {
    "Contention for the memory of hosts and GPUs beyond the links of a server that the scenario names.",
    "Noise of operating systems and of other tenants, but for start_skew, jobs and traffic that the scenario names.",
};
constexpr const char* nccl_waits =
    "The slots of NCCL's buffers: a sender begins a message when the one before has arrived, on flow when its bytes have left, so calls of "
    "many messages over long links take longer.";
constexpr const char* flow_leaves_out[] = {
    "Queues, losses and congestion control: flows have their max-min fair rates at once.",
    "Packet headers, except as wire_efficiency says.",
    every_network_leaves_out[0],
    every_network_leaves_out[1],
};
constexpr const char* packet_leaves_out[] = {
    "Queues inside a server have credits for a round trip on each link, for all destinations together, and no marks, as PCIe loses "
    "nothing; their arbitration knows no weights.",
    "Adaptive routing: the packets of a connection take one path.",
    "That links of a server with a duplex rate carry more while one direction only is used.",
    nccl_waits,
    every_network_leaves_out[0],
    every_network_leaves_out[1],
};
constexpr const char* nccl_hops_by_class =
    "That hops of NCCL's rings take the mean of a ring: each takes what its own path does, and calls up to a fifth less.";
constexpr const char* simgrid_leaves_out[] = {
    "Queues, losses and congestion control: SimGrid shares links in max-min fairness, its effects of TCP are off.",
    nccl_waits,
    nccl_hops_by_class,
    every_network_leaves_out[0],
    every_network_leaves_out[1],
};
constexpr const char* ns3_leaves_out[] = {
    "RDMA transports, ECN and pauses: messages are carried as TCP.",
    nccl_waits,
    every_network_leaves_out[0],
    every_network_leaves_out[1],
};

constexpr NetworkTraits all_networks[] = {
    {.kind = NetworkKind::flow,
     .name = "flow",
     .description = "fluid model: flows share links in max-min fairness",
     .leaves_out = flow_leaves_out,
     .in_this_build = true,
     .servers = true,
     .copies = true,
     .shared = true,
     .programs = true,
     .in_network = true,
     .sharp = true,
     .timeline = true,
     .send_queues = true,
     .runs_again = true,
     .faults = true,
     .reroutes = true},
    {.kind = NetworkKind::packet,
     .name = "packet",
     .description = "packet model: queues, marks, drops or pauses, and the transports that react to them",
     .leaves_out = packet_leaves_out,
     .in_this_build = true,
     .servers = true,
     .copies = false,
     .shared = true,
     .programs = true,
     .in_network = true,
     .sharp = false,
     .timeline = true,
     .send_queues = true,
     .runs_again = true,
     .faults = true,
     .reroutes = false},
    {.kind = NetworkKind::simgrid,
     .name = "simgrid",
     .description = "SimGrid's own network model, the reference of \"flow\"",
     .leaves_out = simgrid_leaves_out,
     .in_this_build = true,
     .servers = true,
     .copies = false,
     .shared = false,
     .programs = true,
     .in_network = false,
     .sharp = false,
     .timeline = false,
     .send_queues = false,
     .runs_again = false,
     .faults = false,
     .reroutes = false},
    {.kind = NetworkKind::ns3,
     .name = "ns3",
     .description = "ns-3's TCP through SimGrid's binding, for small runs",
     .leaves_out = ns3_leaves_out,
     .in_this_build = WEFT_HAS_NS3 != 0,
     .servers = false,
     .copies = false,
     .shared = false,
     .programs = false,
     .in_network = false,
     .sharp = false,
     .timeline = false,
     .send_queues = false,
     .runs_again = false,
     .faults = false,
     .reroutes = false},
};

}  // namespace

std::span<const NetworkTraits> networks() { return all_networks; }

const NetworkTraits& traits_of(NetworkKind kind) {
  for (const NetworkTraits& traits : all_networks)
    if (traits.kind == kind) return traits;
  check(false, "network {} is not in the table", static_cast<int>(kind));
  return all_networks[0];
}

std::string_view name_of(NetworkKind kind) { return traits_of(kind).name; }

std::string networks_that(bool NetworkTraits::*can) {
  std::vector<std::string> names;
  for (const NetworkTraits& traits : all_networks)
    if (traits.in_this_build && traits.*can) names.push_back(fmt::format("\"{}\"", traits.name));
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

}  // namespace weft
