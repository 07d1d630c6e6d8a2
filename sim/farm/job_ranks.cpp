#include "sim/farm/job_ranks.hpp"

#include "collectives/transports/launch.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <sched.h>

namespace weft {
namespace {

std::string file_name(std::string text) {
  for (char& c : text)
    if (std::strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._", c) == nullptr) c = '_';
  return text;
}

}  // namespace

std::optional<JobRanks> job_ranks() {
  const auto launch = launched_by_mpirun_or_srun(own_environment());
  if (!launch) return std::nullopt;
  const std::string by = launch->by == "srun" ? "slurm_" : "mpi_";
  return JobRanks{.rank = launch->rank, .ranks = launch->ranks, .here = launch->here, .name = file_name(by + launch->job)};
}

unsigned cores_of(const JobRanks& job) {
  cpu_set_t bound;
  const unsigned all = std::max(1U, std::thread::hardware_concurrency());
  const unsigned allowed = ::sched_getaffinity(0, sizeof bound, &bound) == 0 ? static_cast<unsigned>(CPU_COUNT(&bound)) : all;
  return std::max(1U, std::min(allowed, all / static_cast<unsigned>(std::max(1, job.here))));
}

}  // namespace weft
