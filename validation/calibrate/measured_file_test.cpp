#include "validation/calibrate/measured_file.hpp"

#include "validation/fit/algorithm_measured.hpp"
#include "validation/testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("a measured file: ranks and nodes stand behind its name, and a name may have colons of its own") {
  const ScratchFolder folder;
  const auto odd = folder.file("run:ranks=3", "x").string();
  const auto files = measured_files({"a.txt", "b.txt:ranks=64,nodes=4", "c.txt:nodes=2", "host:1.txt", "d:e.txt:ranks=8", odd,
                                     "e.txt:collective=Bcast,ranks=4", "f.txt:collective=all_gather_perf"});
  REQUIRE(files.size() == 8);
  CHECK(files[0].name == "a.txt");
  CHECK(files[0].ranks == 0);
  CHECK(files[1].name == "b.txt");
  CHECK(files[1].ranks == 64);
  CHECK(files[1].nodes == 4);
  CHECK(files[2].nodes == 2);
  CHECK(files[3].name == "host:1.txt");
  CHECK(files[4].name == "d:e.txt");
  CHECK(files[4].ranks == 8);
  CHECK(files[5].name == odd);
  CHECK(files[6].collective == "broadcast");
  CHECK(files[6].ranks == 4);
  CHECK(files[7].collective == "allgather");
}

TEST_CASE("a measured file: an algorithm may stand behind its name, and is that of the rows that name none") {
  const ScratchFolder folder;
  const std::string text =
      folder.file("osu.txt", "# OSU MPI Allreduce Latency Test v7.0\n# Size       Avg Latency(us)\n8    3.0\n").string();
  const std::string csv = folder.file("m.csv", "algorithm,size_bytes,time_us,collective,ranks\nring,8,3,allreduce,4\n").string();
  const auto files = measured_files({text + ":algorithm=nccl(algorithm=tree,protocol=ll),ranks=4", csv + ":algorithm=recursive_doubling"});
  CHECK(files[0].algorithm == "nccl(algorithm=tree,protocol=ll)");
  CHECK(files[0].ranks == 4);
  CHECK(read_measurements(files[0], {}).rows.front().algorithm == "nccl(algorithm=tree,protocol=ll)");
  CHECK(read_measurements(files[1], {}).rows.front().algorithm == "ring");
  const auto meant = algorithm_measured(read_measurements(files[0], {}).rows.front(), {}, {});
  REQUIRE(meant);
  CHECK(meant->settings.nccl == NcclAlgorithm::tree);
  CHECK(meant->settings.protocol == NcclProtocol::ll);
  CHECK(problems_of([] { measured_files({"f:algorithm=nccl(tree)"}); }) ==
        Lines{"f:algorithm=nccl(tree): algorithm nccl(tree): \"tree\" must be SETTING=VALUE"});
}

TEST_CASE("a measured file: what is wrong behind its name is told, all at once") {
  CHECK(problems_of([] {
          measured_files({"a:ranks=0,nodes=x", "b:rank=3", "c:ranks=6,nodes=4", "d:ranks=2,", "e:collective=gather",
                          "f:collective=gather_perf", "g:ranks=8,nodes=2,ranks=16"});
        }) == Lines{"a:ranks=0,nodes=x: ranks must be between 1 and 1048576, got \"0\"",
                    "a:ranks=0,nodes=x: nodes must be between 1 and 1048576, got \"x\"",
                    "b:rank=3: must be ranks=N, nodes=N, collective=NAME, algorithm=NAME or back_to_back=N, got \"rank=3\"",
                    "c:ranks=6,nodes=4: ranks must be a multiple of nodes",
                    "d:ranks=2,: must be ranks=N, nodes=N, collective=NAME, algorithm=NAME or back_to_back=N, got \"\"",
                    "e:collective=gather: \"gather\" is no collective that Weft simulates",
                    "f:collective=gather_perf: \"gather_perf\" is no collective that Weft simulates",
                    "g:ranks=8,nodes=2,ranks=16: ranks is given twice"});
}

TEST_CASE("a measured file: a collective that it contradicts in every row is refused, one that some rows do not say is theirs") {
  const ScratchFolder folder;
  const std::string header = "collective,ranks,size_bytes,time_us\n";
  const std::string said = folder.file("said.csv", header + "allreduce,2,8,3\n").string();
  const std::string half = folder.file("half.csv", header + "allreduce,2,8,3\n,2,8,3\n").string();
  const auto read = [](const std::string& argument) { return read_measurements(measured_files({argument}).front(), {}); };
  CHECK(problems_of([&] { read(said + ":collective=broadcast"); }) ==
        Lines{fmt::format("{0}:collective=broadcast: {0} says itself that allreduce was measured; leave out :collective=broadcast", said)});
  CHECK(read(said + ":collective=all_reduce").rows.size() == 1);
  CHECK(read(half + ":collective=broadcast").rows.back().collective == "broadcast");
}
