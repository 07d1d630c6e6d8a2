// Runs weft_bench, or weft bench, over TCP or UDP, each of its processes in a namespace.
#pragma once

#include "validation/lab/plan.hpp"

#include <string>
#include <vector>

namespace weft::lab {

struct BenchRun {
  std::vector<std::string> program = {"weft_bench"};  // beside this one, and its first words
  std::string transport = "tcp";
  std::vector<Host> nodes = {};             // where each process sits: ranks, then servers, then switches
  std::vector<std::string> arguments = {};  // less those that say who takes part
};

// What rank 0 printed. Throws RunError with what the processes had to say if one of them failed, InputError where that is about its
// arguments; none of them outlives this call
// or this process. They run before anything of ordinary priority, if that is allowed: a host of a cluster has its processor
// to itself.
std::string run_bench(const BenchRun& run);

}  // namespace weft::lab
