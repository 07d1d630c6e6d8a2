// The jobs of a scenario: the workload first, then those of "jobs".
#pragma once

#include "sim/scenario/scenario.hpp"

#include <span>
#include <vector>

namespace weft {

// Whether the network is shared in a row: jobs or traffic beside the workload, or a collective that repeats.
bool is_shared(const Scenario&);

// The scenario whose workload is this job alone, in a row of this algorithm and size, on its seats where they are known: else as it asks
// to be placed.
Scenario scenario_of_job(const Scenario&, const AlgorithmChoice&, Bytes size, const JobChoice&, std::span<const int> seats = {});

// The endpoints of the workload's ranks, then of its extra servers.
std::vector<int> placement_of_workload(const Scenario&, const AlgorithmChoice&);

// The same of each job, the workload's first; only for what has no problems. Extra servers take endpoints that the ranks of
// all jobs leave, one of each host in turn, those without a rank first.
std::vector<std::vector<int>> placements_of_jobs(const Scenario&, const AlgorithmChoice&);

// Beside the workload: as many as a network can tell apart.
inline constexpr std::size_t max_jobs = 60;

// Problems of "jobs" and of "traffic", and of a workload that repeats, for a scenario that is good otherwise; of jobs beside each of these
// rows, which are numbers of the workload's algorithms.
std::vector<Problem> job_problems(const Scenario&, const std::vector<std::size_t>& rows);
std::vector<Problem> traffic_problems(const Scenario&);

}  // namespace weft
