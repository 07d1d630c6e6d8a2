// Which of the processes that mpirun or srun has started this one is. MPI itself is not asked: SimGrid, which is in this program, has
// functions of the same names, and a job of MPI ends when one of its processes dies.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace weft {

struct JobRanks {
  int rank = 0, ranks = 1;
  int here = 1;      // of them on this host
  std::string name;  // of the job, for file names: no two that run at once share it
  bool one_host() const { return here >= ranks; }
};

// From the environment: of Open MPI's mpirun, or of a step of Slurm's srun. Nothing where this process was started alone.
std::optional<JobRanks> job_ranks();

// Cores that this rank may use.
unsigned cores_of(const JobRanks& job);

}  // namespace weft
