// All ranks of a real training run, or one of several machines'.
#pragma once

#include "collectives/training/real_rank.hpp"
#include "collectives/transports/mpi_module.hpp"

#include <string>
#include <vector>

namespace weft {

// What one rank does; values that rank 0 returns are those of the run.
using RankProgram = std::function<std::vector<double>(const RankLinks& links)>;

struct RanksPlan {
  int ranks = 1;
  int servers = 0;  // ranks behind those, on hosts of parameter servers of their own
  int channels = 1;
  std::string job = {};  // the same for all ranks
  std::chrono::milliseconds patience{30'000};
  std::vector<std::string> hosts = {};
  Rank rank = -1;
  std::string secret = {};
  BitsPerSecond stream_rate{0};  // of each connection of tcp; 0: as fast as they go

  int all() const { return ranks + servers; }
};

// Each rank a thread of this process. Throws RunError with what any rank said.
std::vector<double> run_as_threads(const RanksPlan& plan, const RankProgram& program);
// Each rank a process of this machine, over TCP; or this one rank, to be met by those of `hosts`: then only rank 0's values are known,
// and those of others are empty. `most`: values.
std::vector<double> run_over_tcp(const RanksPlan& plan, std::size_t most, const RankProgram& program);
// The one rank of this process, among those that mpirun started; the values of rank 0 are known to rank 0 only. Ends all ranks, and this
// process, where the program throws.
std::vector<double> run_over_mpi(const RanksPlan& plan, MpiModule& mpi, const RankProgram& program);

}  // namespace weft
