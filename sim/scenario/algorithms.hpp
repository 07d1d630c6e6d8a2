// Between a scenario and the algorithm registry.
#pragma once

#include "collectives/registry/registry.hpp"
#include "models/server/nvlink_rings.hpp"
#include "sim/scenario/scenario.hpp"

#include <span>
#include <string>
#include <vector>

namespace weft {

// Of a program's collectives where neither they nor the workload name one.
AlgorithmChoice default_algorithm();

// Each name once, whatever the collective, in the registry's order.
std::vector<std::string> algorithm_names();

// As in the workload, or all endpoints but as many as the extra servers of any of its algorithms; at least 1.
int ranks_of(const Scenario&);

// By rank, the machine that it sits on, numbered from 0 in the order in which the ranks come to them.
std::vector<int> machines_of(std::span<const int> placement, const Server&);

// Hosts of their own for the parameter servers of the first engine.
int extra_servers_of_engine(const Scenario&);

// The key that asks for extra servers: "/servers", or where that is not written "/server_hosts".
std::string key_of_servers(const AlgorithmSettings&);

// Where mpi names no library, it is the hardware profile's.
AlgorithmChoice with_library(const Scenario&, AlgorithmChoice);
// And a group that is not given is the GPUs of a server.
AlgorithmChoice with_server_defaults(const Scenario&, AlgorithmChoice);
// label() with the channels, too, that were not given: of two choices that run the same schedule the same.
std::string label_as_run(AlgorithmChoice);
// The choice without what it has from there, for other ranks of the same servers.
AlgorithmChoice without_server_defaults(const Scenario&, AlgorithmChoice);

// Along the NVLinks of each server, where as many ranks sit on the first GPUs of each.
NvlinkRings rings_of(const Scenario&, const AlgorithmSettings&);

// Of the calls of its ranks: in training with a model in parts, of the ranks with the same part.
Scenario scenario_of_calls(Scenario);

// What the registry is asked for. On a BiGraph its nodes are the ports of NICs.
Request request_of(const Scenario&, const AlgorithmChoice&);

// The registry's constraints, with places relative to the scenario; `at` is the algorithm's own.
std::vector<Problem> algorithm_problems(const Scenario&, const AlgorithmChoice&, const std::string& at);

}  // namespace weft
