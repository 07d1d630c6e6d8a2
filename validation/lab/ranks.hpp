// Runs weft_bench over TCP with one rank in each of several namespaces.
#pragma once

#include "validation/lab/plan.hpp"

#include <string>
#include <vector>

namespace weft::lab {

struct BenchRun {
  std::vector<Host> ranks;             // where each sits
  std::vector<std::string> arguments;  // of weft_bench, less those that say who takes part
};

// What rank 0 printed. Throws RunError with what the ranks had to say if one of them failed; none of them outlives this call
// or this process. Ranks run before anything of ordinary priority, if that is allowed: a host of a cluster has its processor
// to itself.
std::string run_bench(const BenchRun& run);

}  // namespace weft::lab
