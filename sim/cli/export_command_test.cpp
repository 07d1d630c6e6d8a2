#include "sim/cli/export_command.hpp"

#include "collectives/interchange/imported.hpp"
#include "collectives/registry/registry.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"
#include "kernels/files/files.hpp"
#include "kernels/testing/scratch_folder.hpp"

#include <sstream>

#include <doctest/doctest.h>

namespace weft {
namespace {

std::string exported(const ExportArguments& arguments) {
  std::ostringstream out, err;
  export_command(arguments, out, err);
  return out.str();
}

std::string said_of(const ExportArguments& arguments) {
  std::ostringstream out, err;
  export_command(arguments, out, err);
  return err.str();
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

TEST_CASE("an algorithm that runs in pieces is exported in one, and that is said, unless they are given") {
  CHECK(
      said_of({.algorithm = "double_binary_tree", .ranks = 8}) ==
      "weft export: double_binary_tree is written in one piece; weft run cuts it into as many as the size wants, which its rows name: give "
      "them as --pieces\n");
  CHECK(said_of({.algorithm = "double_binary_tree", .ranks = 8, .pieces = 4}).empty());
  CHECK(said_of({.algorithm = "ring", .ranks = 8}).empty());
}

TEST_CASE("two_level is exported with what weft run takes among the leaders at the size, and that is said, unless it is given") {
  // Open MPI among 4 leaders: recursive doubling below 8 KiB, else halving and doubling.
  ExportArguments arguments{.algorithm = "two_level", .size = "4KiB", .ranks = 8, .group = 2};
  const std::string small = exported(arguments), said = said_of(arguments);
  arguments.size = "64MiB";
  const std::string large = exported(arguments);
  CHECK(small != large);
  for (const auto& [size, text] : {std::pair{4_KiB, small}, {64_MiB, large}}) {
    const Request request =
        find_algorithm(Collective::allreduce, "two_level")->chooses({.algorithm = "two_level", .ranks = 8, .settings = {.group = 2}}, size);
    arguments.inner = request.settings.inner;
    CHECK(exported(arguments) == text);
    CHECK(said_of(arguments).empty());
  }
  CHECK(said ==
        "weft export: two_level has recursive_doubling among the leaders, as weft run does at 4KiB: give another --size, or --inner\n");
  arguments.inner = "";
  arguments.size = "4";
  CHECK_THROWS_WITH_AS(exported(arguments), doctest::Contains("weft export: --size: "), InputError);
}

TEST_CASE("an all-to-all is exported with equal blocks, as it is run") {
  const std::string goal =
      exported({.algorithm = "direct", .collective = "alltoall", .format = "goal", .size = "1000001B", .dtype = "uint8", .ranks = 2});
  CHECK(goal.find("send 500000b to 0") != std::string::npos);
  CHECK(goal.find("500001b") == std::string::npos);
}

TEST_CASE("a barrier is exported with messages of nothing, as it is run") {
  const std::string goal = exported({.algorithm = "dissemination", .collective = "barrier", .format = "goal", .ranks = 4});
  CHECK(goal.find("send 0b to 1") != std::string::npos);
  CHECK(goal.find("1048576b") == std::string::npos);
}

TEST_CASE("that NCCL is exported with rings, whatever it chooses for the size, is said") {
  CHECK(
      said_of({.algorithm = "nccl", .ranks = 8, .group = 4}) ==
      "weft export: nccl is written with rings in 1 channel; weft run takes what NCCL chooses for the size, which its rows name: give that "
      "as --channels and --pieces\n");
}

TEST_CASE("what cannot be exported is refused with all problems") {
  CHECK_THROWS_WITH_AS(exported({}), "weft export: -n: missing: the number of ranks", InputError);
  CHECK_THROWS_WITH_AS(
      exported({.format = "mscl", .ranks = 2}),
      "weft export: --as: unknown name \"mscl\" (did you mean \"msccl\"?); allowed: \"msccl\", \"mscclpp\", \"goal\", \"dot\"", InputError);
  CHECK_THROWS_WITH_AS(exported({.format = "mscclpp", .protocol = "LL128", .ranks = 2}),
                       "weft export: --protocol: must be Simple or LL for mscclpp, got LL128", InputError);
  CHECK_THROWS_WITH_AS(exported({.collective = "foo", .ranks = 4}),
                       "weft export: --collective: unknown name \"foo\"; allowed: \"allreduce\", \"reduce_scatter\", \"allgather\", "
                       "\"broadcast\", \"reduce\", \"alltoall\", \"barrier\"",
                       InputError);
  CHECK_THROWS_AS(exported({.algorithm = "dissemination", .collective = "barrier", .ranks = 2}), InputError);
  CHECK_THROWS_AS(exported({.format = "goal", .size = "3B", .ranks = 2}), InputError);
  CHECK_THROWS_AS(exported({.file = "/nowhere.xml"}), InputError);
  CHECK_THROWS_WITH_AS(exported({.ranks = 0, .channels = 0}),
                       "weft export: --channels: must be at least 1, got 0\nweft export: -n: must be 1 to 1024, got 0", InputError);
  CHECK_THROWS_WITH_AS(exported({.algorithm = "foo", .size = "4"}),
                       doctest::Contains("weft export: -n: missing: the number of ranks\nweft export: --size: \"4\" has no unit"),
                       InputError);
  CHECK_THROWS_WITH_AS(exported({.algorithm = "foo", .format = "mscl"}),
                       doctest::Contains("weft export: --algorithm: unknown allreduce algorithm \"foo\", must be one of ring, "),
                       InputError);
  CHECK_THROWS_WITH_AS(exported({.ranks = 4, .channels = 70000}), "weft export: --channels: must be 1 to 65536, got 70000", InputError);
}

TEST_CASE("options that change nothing in the format, or of the algorithm, are refused, all at once") {
  CHECK_THROWS_WITH_AS(exported({.format = "goal", .protocol = "LL", .ranks = 4, .root = 3, .group = 2, .servers = 2, .switches = 2}),
                       "weft export: --protocol: is of msccl and mscclpp, --as goal has none, got LL\n"
                       "weft export: --root: allreduce has no root, got 3\n"
                       "weft export: --group: ring allreduce in one channel is the same in groups; give --channels too, got 2\n"
                       "weft export: --switches: ring allreduce is placed on no BiGraph, got 2\n"
                       "weft export: --servers: ring allreduce has no servers, got 2",
                       InputError);
  CHECK_THROWS_WITH_AS(exported({.format = "dot", .protocol = "Simple", .ranks = 4}),
                       "weft export: --protocol: is of msccl and mscclpp, --as dot has none, got Simple", InputError);
  CHECK_THROWS_WITH_AS(exported({.size = "1KiB", .dtype = "float16", .reduce_rate = "1GBps", .ranks = 4}),
                       "weft export: --size: is of goal and two_level, --as msccl has none, got 1KiB\n"
                       "weft export: --dtype: is of goal, --as msccl has none, got float16\n"
                       "weft export: --reduce-rate: is of goal, --as msccl has none, got 1GBps",
                       InputError);
  CHECK(exported({.ranks = 4, .group = 2, .channels = 2}) != exported({.ranks = 4, .channels = 2}));
  CHECK(exported({.algorithm = "binomial_tree", .collective = "broadcast", .ranks = 4, .root = 3}) !=
        exported({.algorithm = "binomial_tree", .collective = "broadcast", .ranks = 4}));
  CHECK_FALSE(exported({.algorithm = "hdrm", .ranks = 8, .switches = 4}).empty());
  const ScratchFolder folder;
  const std::string file = (folder / "tree.xml").string();
  CHECK(exported({.algorithm = "binomial_tree", .collective = "broadcast", .output = file, .ranks = 4, .root = 3}).empty());
  CHECK_FALSE(exported({.file = file, .root = 3}).empty());
  CHECK_THROWS_WITH_AS(exported({.file = file, .root = 1}), fmt::format("weft export: --root: must be the 3 of {}, got 1", file).c_str(),
                       InputError);
}

TEST_CASE("an algorithm or another collective beside the file of a schedule is refused") {
  const ScratchFolder folder;
  const std::string file = (folder / "tree.xml").string();
  CHECK(exported({.algorithm = "binomial_tree", .collective = "broadcast", .output = file, .ranks = 4}).empty());
  CHECK_THROWS_WITH_AS(exported({.algorithm = "ring", .collective = "allreduce", .file = file}),
                       fmt::format("weft export: --algorithm: the schedule is that of {0}: leave one of them out, got ring\n"
                                   "weft export: --collective: must be the broadcast of {0}, got allreduce",
                                   file)
                           .c_str(),
                       InputError);
  const std::string plain = exported({.file = file});
  CHECK(exported({.algorithm = "msccl", .collective = "broadcast", .file = file}) == plain);
}

TEST_CASE("more ranks than a schedule is read with are refused at once, in every format") {
  for (const char* format : {"msccl", "mscclpp", "goal", "dot"}) {
    CAPTURE(format);
    CHECK_THROWS_WITH_AS(exported({.format = format, .ranks = 1'000'000}), "weft export: -n: must be 1 to 1024, got 1000000", InputError);
  }
}

TEST_CASE("a file is replaced by a schedule where it is an exported one, or by force") {
  const ScratchFolder folder;
  const std::string file = (folder / "ring.xml").string(), mine = (folder / "mine.xml").string();
  for (const char* format : {"msccl", "mscclpp", "goal", "dot", "msccl"})
    CHECK(exported({.format = format, .output = file, .ranks = 4}) == "");
  write_file(mine, "<mine/>");
  CHECK_THROWS_WITH_AS(
      exported({.output = mine, .ranks = 4}),
      fmt::format("-o {0}: {0} exists and is not an exported schedule; write to another place, or give --force to replace it", mine)
          .c_str(),
      InputError);
  CHECK(exported({.output = mine, .ranks = 4, .force = true}) == "");
  CHECK_THROWS_WITH_AS(exported({.file = file, .output = file, .force = true}),
                       fmt::format("-o {0}: {0} is read by this command; write to another file", file).c_str(), InputError);
  CHECK_THROWS_WITH_AS(exported({.output = "/nowhere/ring.xml", .ranks = 4}), "-o /nowhere/ring.xml: there is no folder /nowhere",
                       InputError);
}

}  // namespace weft
