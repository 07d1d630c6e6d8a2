#include "collectives/bench/settings/selection.hpp"

#include "kernels/base/error.hpp"

#include <doctest/doctest.h>

namespace weft::bench {
namespace {

TEST_CASE("a selection table says which algorithm is taken at which size, the first line that fits") {
  const auto table = parse_selection(
      "collective,ranks,min_bytes,max_bytes,algorithm,channels,pieces,group,nics,nccl_algorithm\n"
      "allreduce,4,0,1000,halving_doubling,1,1,0,0,auto\n# larger\nallreduce,4,1001,99999,ring,2,1,0,0,auto\n",
      "s.csv");
  REQUIRE(table.size() == 2);
  CHECK(selected_for(table, Collective::allreduce, 4, 1000)->algorithm == "halving_doubling");
  CHECK(selected_for(table, Collective::allreduce, 4, 1001)->settings.channels == 2);
  CHECK(!selected_for(table, Collective::allreduce, 8, 1000));
  CHECK(!selected_for(table, Collective::broadcast, 4, 1000));
  CHECK(!selected_for(table, Collective::allreduce, 4, 100000));
}

TEST_CASE("bad lines of a selection table are refused with file and line") {
  const auto refused = [](const std::string& line) -> std::string {
    try {
      parse_selection(line, "s.csv");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refused("allreduce,4,0,10,rong,1,1,0,0,auto") == "s.csv:1: algorithm: no allreduce is called \"rong\"");
  CHECK(refused("allreduce,4,0,10,mpi,1,1,0,0,auto") == "s.csv:1: algorithm: mpi chooses by size among others; name one of them");
  CHECK(refused("allreduce,4,0,-1,ring,1,1,0,0,auto") ==
        "s.csv:1: max_bytes must be a whole number from 0 to 1125899906842624, got \"-1\"");
  CHECK(refused("allreduce,4,9,8,ring,1,1,0,0,auto") == "s.csv:1: max_bytes must be at least min_bytes = 9, got 8");
  CHECK(refused("allreduce,4") == "s.csv:1: must have 10 fields, got 2");
  CHECK(refused("").find("s.csv: selects nothing") == 0);
}

}  // namespace
}  // namespace weft::bench
