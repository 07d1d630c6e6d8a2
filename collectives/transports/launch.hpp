// Who started this process beside others, from the environment that torchrun, mpirun and srun leave.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct Launch {
  std::string by;  // "torchrun"
  Rank rank = 0;
  int ranks = 1;
  int local_rank = -1;       // among those of this machine; -1: not said
  int here = 1;              // ranks on this machine, as far as it is said
  std::string job = {};      // its name by who started it: no two that run at once share it
  std::string meeting = {};  // host:port where rank 0 can listen; "" where only MPI knows how to find the others
};

using Environment = std::function<const char*(const char* variable)>;  // null where there is no such variable
Environment own_environment();

// Nothing where this process is alone, or nobody says.
std::optional<Launch> launched(const Environment&);
// The same for programs that are no job of PyTorch, whatever torchrun started them for.
std::optional<Launch> launched_by_mpirun_or_srun(const Environment&);

// Of Slurm's "gpu[07-09,12]b,login" the first, "gpu07b".
std::string first_host(std::string_view node_list);

}  // namespace weft
