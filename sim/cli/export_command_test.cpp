#include "sim/cli/export_command.hpp"

#include "collectives/interchange/imported.hpp"
#include "kernels/base/error.hpp"

#include <sstream>

#include <doctest/doctest.h>

namespace weft {
namespace {

std::string exported(const ExportArguments& arguments) {
  std::ostringstream out;
  export_command(arguments, out);
  return out.str();
}

}  // namespace

TEST_CASE("a schedule is exported as MSCCL, MSCCL++, GOAL and Graphviz") {
  CHECK(exported({.ranks = 4})
            .starts_with("<algo name=\"ring_allreduce\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"4\" ngpus=\"4\" "
                         "coll=\"allreduce\" inplace=\"1\""));
  CHECK(to_string(read_schedule(exported({.format = "mscclpp", .protocol = "LL", .ranks = 4}))) ==
        to_string(read_schedule(exported({.ranks = 4}))));
  CHECK(exported({.format = "goal", .ranks = 4}).find("send 262144b to 1 tag 0 cpu 0") != std::string::npos);
  CHECK(exported({.algorithm = "bruck", .collective = "allgather", .format = "dot", .ranks = 3}).starts_with("digraph \"bruck"));
  CHECK(read_schedule(exported({.algorithm = "pairwise", .collective = "alltoall", .ranks = 4})).collective == Collective::alltoall);
}

TEST_CASE("what cannot be exported is refused with all problems") {
  CHECK_THROWS_WITH_AS(exported({}), "weft export: -n: missing: the number of ranks", InputError);
  CHECK_THROWS_WITH_AS(
      exported({.format = "mscl", .ranks = 2}),
      "weft export: --as: unknown name \"mscl\" (did you mean \"msccl\"?); allowed: \"msccl\", \"mscclpp\", \"goal\", \"dot\"", InputError);
  CHECK_THROWS_WITH_AS(exported({.format = "mscclpp", .protocol = "LL128", .ranks = 2}),
                       "weft export: --protocol: must be Simple or LL for mscclpp, got LL128", InputError);
  CHECK_THROWS_AS(exported({.algorithm = "dissemination", .collective = "barrier", .ranks = 2}), InputError);
  CHECK_THROWS_AS(exported({.format = "goal", .size = "3B", .ranks = 2}), InputError);
  CHECK_THROWS_AS(exported({.file = "/nowhere.xml"}), InputError);
}

}  // namespace weft
