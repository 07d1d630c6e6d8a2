// The program weft of a build with -DWEFT_SIMULATOR=OFF: `weft bench` and nothing else.
#include "collectives/bench/bench.hpp"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "bench") return weft::bench::bench_main(argc - 1, argv + 1);
  std::fputs("weft: built without the simulator, so there is only `weft bench`\n", stderr);
  return 2;
}
