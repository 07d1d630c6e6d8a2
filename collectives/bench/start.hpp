// How a program that holds SimGrid runs `weft bench`.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

// Becomes weft_bench, which lies beside the running program, with the arguments from argv[1] on; argv[0] is "bench". Returns only if that
// fails: 2, having printed why.
int start_bench(int argc, char** argv);

// Runs weft_bench with these arguments and waits for it: its exit status. It ends when this process does. Throws RunError
// if a signal ended it.
int run_bench(const std::vector<std::string>& arguments);

}  // namespace weft::bench
