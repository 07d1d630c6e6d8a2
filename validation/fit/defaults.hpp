// What is fitted when nobody says.
#pragma once

#include "models/server/server.hpp"
#include "validation/fit/fit.hpp"
#include "validation/fit/parameters.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace weft {

// To calls between hosts or GPUs: of NCCL's algorithms the factors of its tuning table, of others the costs of a message on the classes
// of paths that were measured, and of a reduction where they reduce, of large messages in memory too, of a call where several algorithms or
// numbers of ranks tell it from its messages; of all of them costs by size. `ways`: between the servers that were measured.
std::vector<std::string> default_parameters(const std::vector<MeasuredSetup>& measured, const std::set<PathClass>& ways);

// What hosts do in calls of MPI that none of those measured is like: reductions, copies within hosts, large buffers. Empty where none of
// the measured calls is one of MPI among hosts.
std::vector<std::string> unmeasured_parameters(const std::vector<MeasuredSetup>& measured);

// To a matrix of pairs: rates of the server's links, in both directions at once too where the server gives some, and overheads of copies.
// None where there is no server.
std::vector<std::string> parameters_of_pairs(const Server& server);

// The scenario, open for what is fitted to these points, but to pairs: where its ranks share a GPU what launches cost, and the rates of its
// memory and of its cache; else the above, but for what none of the ways has in which NCCL may run the calls, and what is not measured as
// is usual. Points that are held out say nothing.
OpenScenario open_by_default(const std::filesystem::path& scenario, const std::vector<Setting>& settings,
                             const std::vector<FitPoint>& points, const std::set<PathClass>& ways, Simulator& simulator);

// The scenario, open for the parameters of these names, or by default where there are none, and told which ways between servers and which
// calls of NCCL the points are of.
OpenScenario open_for(const std::filesystem::path& scenario, const std::vector<Setting>& settings, const std::vector<std::string>& names,
                      const std::vector<FitPoint>& points, Simulator& simulator);

}  // namespace weft
