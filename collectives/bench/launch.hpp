// Who started this process beside others, from the environment that torchrun, mpirun and srun leave.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weft::bench {

struct Launch {
  std::string by;  // "torchrun"
  Rank rank = 0;
  int ranks = 1;
  int local_rank = -1;       // among those of this machine; -1: not said
  std::string meeting = {};  // host:port where rank 0 can listen; "" where only MPI knows how to find the others
};

using Environment = std::function<const char*(const char* variable)>;

// Nothing where this process is alone, or nobody says.
std::optional<Launch> launched(const Environment&);

// Of Slurm's "gpu[07-09,12]b,login" the first, "gpu07b".
std::string first_host(std::string_view node_list);

}  // namespace weft::bench
