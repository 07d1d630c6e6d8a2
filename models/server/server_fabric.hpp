// Servers on a fabric: one graph from GPU to spine. The nodes of the fabric's description become servers, each with one
// cable for every NIC, and the endpoints are their GPUs.
#pragma once

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/placement.hpp"
#include "models/server/server.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace weft {

// The fabric's description with one node for each NIC: so many times the nodes on every switch. A three-tier Fat-Tree has
// its k^3 / 4 ports in any case, and servers take several of them.
FabricSpec ports_of(const FabricSpec& fabric, const Server& server);

// Places are those of a scenario: "/fabric/...", "/server/...". The server's own problems are among them.
std::vector<Problem> problems(const FabricSpec& fabric, const Server& server);

// GPUs of all servers; only for what has no problems.
std::int64_t endpoints(const FabricSpec& fabric, const Server& server);

// Endpoint e is GPU e mod g of server e / g: "server2/gpu1". Throws InputError with all problems.
std::unique_ptr<Fabric> build(const FabricSpec& fabric, const Server& server);

// As without servers (models/fabric/placement.hpp); hdrm places ranks on ports, so it needs a NIC for each GPU.
std::vector<Problem> problems(const Placement& placement, int ranks, const FabricSpec& fabric, const Server& server);
std::vector<int> place(const Placement& placement, int ranks, const FabricSpec& fabric, const Server& server);

// That some NICs are nobody's, as every GPU sends over one; empty where all are used, or where the server says which GPU uses which.
std::string said_of_idle_nics(const Server& server);

// The endpoint that uses each port. Only where every NIC has one GPU.
bool has_nic_for_each_gpu(const Server& server);
std::vector<int> endpoints_of_ports(const FabricSpec& fabric, const Server& server);

}  // namespace weft
