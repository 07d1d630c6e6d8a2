// `weft bench --workload FILE`: the training steps of a scenario for real. Compute is time that passes, gradients are real memory,
// and the engines are those of the simulator, over real streams and connections.
#pragma once

#include "sim/cli/commands.hpp"

#include <chrono>
#include <iosfwd>

namespace weft {

struct WorkloadArguments {
  std::string file;
  std::vector<std::string> set = {};
  std::string transport = "threads";
  int ranks = 0;  // 0: the scenario's
  int iterations = 10, warmup = 2;
  int tune = 0;  // steps in which settings are chosen, before those that are measured
  std::string method = "ensemble";
  std::uint64_t seed = 1;
  double timeout_s = 30;
  bool compare = false;                 // simulate the same beside it
  std::vector<std::string> hosts = {};  // tcp: the address of every rank
  Rank rank = -1;                       // tcp: which of them this process is; -1: all are started here
  std::string secret_file = {};
  std::string stream_rate = {};  // tcp: of each connection, "30Mbps"
};

// Whether --workload stands among the arguments of `weft bench`; argv[0] is "bench".
bool asks_for_workload(int argc, const char* const* argv);

// Reads the arguments and runs them. Throws InputError with all that is wrong with them and the scenario; RunError.
int workload_command(int argc, const char* const* argv, std::ostream& out);
int run_workload(const WorkloadArguments& arguments, std::ostream& out);

}  // namespace weft
