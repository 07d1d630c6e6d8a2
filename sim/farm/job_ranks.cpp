#include "sim/farm/job_ranks.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <sched.h>

namespace weft {
namespace {

const char* text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

std::optional<int> number_of(const char* variable) {
  const char* text = text_of(variable);
  int out = 0;
  const char* const end = text + std::strlen(text);
  return std::from_chars(text, end, out) == std::from_chars_result{end, {}} && end != text ? std::optional(out) : std::nullopt;
}

// Slurm writes "4", "2(x3)" or "2(x3),1": tasks on each node in turn. All are taken to have as many as the first.
int tasks_on_a_node(const char* variable) { return std::max(1, std::atoi(text_of(variable))); }

std::string file_name(std::string text) {
  for (char& c : text)
    if (std::strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._", c) == nullptr) c = '_';
  return text;
}

std::optional<JobRanks> of(const char* rank, const char* ranks, int here, const std::string& name) {
  const auto r = number_of(rank), n = number_of(ranks);
  if (!r || !n || *n < 2 || *r < 0 || *r >= *n) return std::nullopt;
  return JobRanks{.rank = *r, .ranks = *n, .here = here, .name = file_name(name)};
}

}  // namespace

std::optional<JobRanks> job_ranks() {
  const std::string space = text_of("PMIX_NAMESPACE"), id = text_of("OMPI_MCA_ess_base_jobid");
  if (auto job = of("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", number_of("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(1),
                    "mpi_" + (space.empty() ? id : space)))
    return job;
  if (number_of("OMPI_COMM_WORLD_SIZE")) return std::nullopt;  // one process, whatever Slurm started mpirun for
  // Only srun says how many tasks a step has: in the script of a batch job there is one.
  return of("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", tasks_on_a_node("SLURM_STEP_TASKS_PER_NODE"),
            std::string("slurm_") + text_of("SLURM_JOB_ID") + "." + text_of("SLURM_STEP_ID"));
}

unsigned cores_of(const JobRanks& job) {
  cpu_set_t bound;
  const unsigned all = std::max(1U, std::thread::hardware_concurrency());
  const unsigned allowed = ::sched_getaffinity(0, sizeof bound, &bound) == 0 ? static_cast<unsigned>(CPU_COUNT(&bound)) : all;
  return std::max(1U, std::min(allowed, all / static_cast<unsigned>(std::max(1, job.here))));
}

}  // namespace weft
