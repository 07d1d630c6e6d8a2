// `weft tune`: chooses what a scenario leaves open, by simulating some of its points.
#pragma once

#include "sim/cli/commands.hpp"

#include <CLI/CLI.hpp>

namespace weft {

struct TuneArguments {
  ScenarioArguments scenario = {};
  std::string method = "ensemble";
  std::int64_t evaluations = 100;
  std::int64_t batch = 4;
  std::uint64_t seed = 1;
  std::optional<std::string> output = {};
  std::optional<std::string> cache = {};  // a file of best settings
  bool resume = false, force = false, quiet = false;
  bool compare = false;     // every method, with several seeds, against an exhaustive search
  std::int64_t seeds = 20;  // of --compare
};

void declare_tune(CLI::App& command, TuneArguments& arguments);
int tune_command(const TuneArguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace weft
