// How a program that holds SimGrid runs `weft bench`.
#pragma once

namespace weft::bench {

// Becomes weft_bench, which lies beside the running program, with argv[1] and what follows. Returns only if that fails:
// 2, having printed why.
int start_bench(int argc, char** argv);

}  // namespace weft::bench
