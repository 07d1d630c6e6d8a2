// The program weft_bench. `weft bench` starts it as a program of its own because SimGrid and MPI both define MPI_Init and
// the rest: no process can hold both.
#include "collectives/bench/bench.hpp"

int main(int argc, char** argv) { return weft::bench::bench_main(argc, argv); }
