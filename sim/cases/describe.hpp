// A cluster in words, for headers.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <span>
#include <string>

namespace weft {

std::string describe(const FabricSpec&);                 // "bigraph, 16 switches x 4 nodes"
std::string describe(const FabricSpec&, const Server&);  // and "; servers two_nic: 4 GPUs, 2 NICs, policy pcie_upi"
std::string describe_links(const FabricSpec&);           // "host_link 100Gbps 500ns, fabric_link 100Gbps 500ns"
// What no bus bandwidth passes among the ranks on these endpoints: the rate of the one with the slowest connection to the fabric. With
// servers of several GPUs: what the NICs of a server carry, as bus bandwidth, or what a GPU sends if all ranks are in one server.
BitsPerSecond slowest_endpoint(const Scenario&, std::span<const int> endpoints);
std::string describe(const HardwareProfile&);       // "h100_servers (call_overhead 5us)", which of its values the scenario gives itself
std::string describe(const TrafficSpec&);           // "permutation of 1MiB, back to back"
std::string describe(const HostCopies&);            // "64MiB host_to_gpu on all GPUs, back to back"
std::string describe(const Placement&);             // "random (seed 3)"
std::string describe(const ProgrammableSwitches&);  // "" where nothing was said
std::string describe(const Ecmp&);                  // "hash (seed 1)"
std::string describe_program(const Workload&);      // "a program of 8 operations"

}  // namespace weft
