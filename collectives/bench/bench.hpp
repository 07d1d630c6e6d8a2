// The command `weft bench`.
#pragma once

namespace weft::bench {

// Returns the exit status: 0 ok, 1 the run failed or left wrong data, 2 bad input. Prints its own errors.
int bench_main(int argc, const char* const* argv);

}  // namespace weft::bench
