// Several processes that make up one run, on this machine.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

// Runs `run(i)` in a process for each name and returns the largest exit status. Throws InputError or RunError with what they
// threw, each line once. A process that a signal ends is a line too, and so is one that has not ended when `patience`
// (at most 10 s) has passed since the first that failed: it is killed. They end when this process does.
int run_processes(const std::vector<std::string>& names, std::chrono::milliseconds patience, const std::function<int(int)>& run);

}  // namespace weft::bench
