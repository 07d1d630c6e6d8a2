#include "kernels/testing/problems_of.hpp"
#include "sim/cases/testing.hpp"
#include "validation/measurements/measurement.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

Measurements parse_osu(const std::string& text, const ReadOptions& options = {}) { return parse_measurements(text, "f", options); }

Lines problems_of_osu(const std::string& text, const ReadOptions& options = {}) {
  return problems_of([&] { parse_osu(text, options); });
}

std::string table(const std::string& name) {
  return "# OSU MPI" + name + " Test v7.2\n# Size       Avg Latency(us)\n# Datatype: MPI_CHAR.\n8  20.5\n";
}

constexpr const char* known =
    "osu_latency, osu_bw, osu_bibw, osu_allreduce, osu_reduce_scatter, osu_allgather, osu_alltoall, osu_bcast, osu_reduce, osu_barrier";

std::string unknown(const std::string& name) {
  return fmt::format("\"{}\" is none of the OSU benchmarks that Weft simulates: {}", name, known);
}

}  // namespace

TEST_CASE("OSU: a table is of the collective that its title names, with and without a GPU library") {
  for (const auto& test : {std::pair{" Allreduce Latency", "allreduce"},
                           {"-CUDA Allreduce Latency", "allreduce"},
                           {" Allgather Latency", "allgather"},
                           {" All-to-All Personalized Exchange Latency", "alltoall"},
                           {" Broadcast Latency", "broadcast"},
                           {" Reduce Latency", "reduce"},
                           {"-ROCM Reduce_scatter Latency", "reduce_scatter"}}) {
    CAPTURE(test.first);
    const Measurements read = parse_osu(table(test.first));
    REQUIRE(read.rows.size() == 1);
    CHECK(read.rows[0].collective == test.second);
    CHECK(read.rows[0].ranks == 0);
    const bool per_rank = read.rows[0].collective == "allgather" || read.rows[0].collective == "alltoall";
    CHECK(read.rows[0].size_of_a_rank == per_rank);
  }
}

TEST_CASE("OSU: what Weft does not simulate is refused by its name, and never taken for a ping-pong") {
  for (const std::string name :
       {" Gather Latency", " Scatter Latency", " Scan Latency", " Exscan Latency", " Gatherv Latency", " Allgatherv Latency",
        " Alltoallw Latency", " Reduce_scatter_block Latency", " Multi Latency", " Multi-threaded Latency", " Multi-process Latency",
        "_Put Latency", "_Get Bandwidth", "_Put Bi-directional Bandwidth", " Non-blocking Allreduce Latency",
        " Neighborhood Allgather Latency", " Persistent Allreduce Latency"}) {
    CAPTURE(name);
    CHECK(problems_of_osu(table(name)) == Lines{"f:1: " + unknown("OSU MPI" + name + " Test v7.2")});
  }
}

TEST_CASE("OSU: a bandwidth in both directions is time too, a message's share") {
  const Measurements read = parse_osu("# OSU MPI Bi-Directional Bandwidth Test v7.1\n# Size      Bandwidth (MB/s)\n1000000    40000.0\n");
  REQUIRE(read.rows.size() == 1);
  CHECK(read.rows[0].collective == "bidirectional_bandwidth");
  CHECK(read.rows[0].ranks == 2);
  CHECK(read.rows[0].time_us == 25);
}

TEST_CASE("OSU: a file may hold several tables, and --skip-bad goes on behind one that cannot be used") {
  const std::string text = table(" Allreduce Latency") + table(" Gather Latency") + table(" Latency");
  CHECK(problems_of_osu(text).size() == 1);
  const Measurements read = parse_osu(text, {.skip_bad = true});
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].collective == "allreduce");
  CHECK(read.rows[1].collective == "latency");
  CHECK(read.rows[1].ranks == 2);
}

TEST_CASE("OSU: benchmarks in CSV go by the same names") {
  const std::string header = "nodes,benchmark,size_bytes,time_us\n";
  const Measurements read = parse_osu(header + "4,osu_bcast,8,3\n4,osu_allgather,8,3\n4,osu_bibw,8,3\n");
  REQUIRE(read.rows.size() == 3);
  CHECK(read.rows[0].collective == "broadcast");
  CHECK(read.rows[1].size_of_a_rank);
  CHECK(read.rows[2].ranks == 2);
  CHECK(problems_of_osu(header + "4,osu_iallreduce,8,3\n") == Lines{"f:2: " + unknown("osu_iallreduce")});
}

TEST_CASE("OSU: what MPI and schedulers print among the rows is passed over, cut and garbled rows are not") {
  const std::string begin = table(" Allreduce Latency");
  for (const std::string line :
       {"3 nodes allocated", "node0:1:1 [0] NCCL INFO Bootstrap", "--------------", "2026-01-02 03:04:05 step 1 done",
        "[0] MPI startup(): Warning", "allocated  0  0  0", "0% [Working]", "10.12.6.44"}) {
    CAPTURE(line);
    CHECK(parse_osu(begin + line + "\n16  21.5\n").rows.size() == 2);
  }
  for (const std::string line : {"16", "16  2x.5", "1o6  21.5", "16  nan", "16  21,5", "16  ***", "16  -", "16  21,5  20,1  22,7  1000"}) {
    CAPTURE(line);
    CHECK(problems_of_osu(begin + line + "\n") == Lines{fmt::format("f:5: must be a size in bytes and a number, got \"{}\"", line)});
  }
}

TEST_CASE("OSU: numbers of another program behind a table, or behind the end of its code block, are no rows of it") {
  const std::string rows = table(" Allreduce Latency") + "16  21.5\n32 x\n";
  const std::string steps =
      "   Step          Temp          Press\n         0   300           -113.27833      439.01454\n        10   300 -110.1 431.2\n";
  CHECK(parse_osu(rows + steps, {.skip_bad = true}).rows.size() == 2);
  CHECK(problems_of_osu(rows + steps).size() == 1);  // of 32 bytes
  CHECK(parse_osu(table(" Allreduce Latency") + "```\n\n```\n64  300\n").rows.size() == 1);
  CHECK(parse_osu(table(" Allreduce Latency") + "16  21.5\n8  20.4\n16 21.4\n").rows.size() == 4);  // another run, whose title was cut off
}

TEST_CASE("OSU: the ranks and nodes that a table does not say are given, those of a message between two are two") {
  const Measurements read = parse_osu(table(" Allreduce Latency") + table(" Latency"), {.ranks = 64, .nodes = 4});
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].ranks == 64);
  CHECK(read.rows[0].nodes == 4);
  CHECK(read.rows[1].ranks == 2);
  CHECK(read.rows[1].nodes == 4);
  const std::string csv = "nodes,gpus,ranks,collective,size_bytes,time_us\n2,8,,allreduce,8,3\n,,16,allreduce,16,3\n,,,allreduce,32,3\n";
  const Measurements said = parse_osu(csv, {.ranks = 16, .nodes = 4});
  REQUIRE(said.rows.size() == 3);
  for (const Measurement& row : said.rows) CHECK(row.ranks == 16);
  for (const Measurement& row : said.rows) CHECK(row.nodes == 4);
  CHECK(problems_of_osu(csv, {.ranks = 32}) == Lines{"f:2: 16 ranks were measured, but ranks=32 is given with the file",
                                                     "f:3: 16 ranks were measured, but ranks=32 is given with the file"});
}

TEST_CASE("OSU: osu_mbw_mr of one pair is what osu_bw measures, and of several is refused") {
  const auto of = [](const std::string& pairs) {
    return "# OSU MPI Multiple Bandwidth / Message Rate Test v5.7.1\n" + pairs +
           "# Size                  MB/s        Messages/s\n1000000   20000.0   20000.00\n";
  };
  const Measurements read = parse_osu(of("# [ pairs: 1 ] [ window size: 64 ]\n"));
  REQUIRE(read.rows.size() == 1);
  CHECK(read.rows[0].collective == "bandwidth");
  CHECK(read.rows[0].ranks == 2);
  CHECK(read.rows[0].time_us == 50);
  const std::string must = "f:2: osu_mbw_mr must be of 1 pair with a window of 64, which is what osu_bw measures, got ";
  CHECK(problems_of_osu(of("# [ pairs: 4 ] [ window size: 64 ]\n")) == Lines{must + "4 and 64"});
  CHECK(problems_of_osu(of("# [ pairs: 1 ] [ window size: 16 ]\n")) == Lines{must + "1 and 16"});
  CHECK(problems_of_osu(of("# [ pairs:\n")) == Lines{must + "nothing and nothing"});
  CHECK(problems_of_osu(of("")) ==
        Lines{"f:2: osu_mbw_mr must say above its columns how many pairs sent: \"# [ pairs: 1 ] [ window size: 64 ]\""});
  CHECK(parse_osu(of("# [ pairs: 4 ] [ window size: 64 ]\n") + table(" Allreduce Latency"), {.skip_bad = true}).rows.size() == 1);
}

TEST_CASE("OSU: tables of device memory beside those of host memory are systems of their own, of which one is to be taken") {
  const std::string host = table(" Allreduce Latency"), device = table("-CUDA Allreduce Latency");
  const Measurements both = parse_osu(host + device);
  REQUIRE(both.rows.size() == 2);
  CHECK(both.rows[0].system == "host memory");
  CHECK(both.rows[1].system == "device memory");
  const auto of = [](const std::string& system) { return ReadOptions{.select = RowSelection{.system = system}}; };
  const std::string refused =
      "f: holds times of host memory (f:4) and of device memory (f:8), which are not the same measurement; take one with --system \"host "
      "memory\" or --system \"device memory\"";
  CHECK(problems_of_osu(host + device, of("")) == Lines{refused});
  CHECK(problems_of_osu(host + device, {.skip_bad = true, .select = RowSelection{}}) == Lines{refused});
  std::string bad = host + device;
  for (int i = 0; i < 60; ++i) bad += fmt::format("{}  x\n", 16 + i);
  CHECK(problems_of_osu(bad, of("")).front() == refused);
  CHECK(parse_osu(host + device, of("host")).rows.size() == 1);
  CHECK(parse_osu(host + device, of("device")).rows.at(0).where == "f:8");
  CHECK(parse_osu(host + device, {.select = RowSelection{.exclude = {"f:8"}}}).rows.at(0).where == "f:4");
  CHECK(parse_osu(host + host, of("")).rows.at(0).system.empty());
  CHECK(parse_osu(device + device, of("")).rows.at(0).system == "device memory");
  CHECK(parse_osu(std::string(host).replace(host.find("MPI"), 3, "NCCL"), of("")).rows.at(0).system == "device memory");
  const auto title = device.find('\n') + 1;
  const std::string on_host = std::string(device).insert(title, "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n");
  CHECK(parse_osu(host + on_host, of("")).rows.at(1).system == "host memory");
  const std::string on_both = std::string(device).insert(title, "# Send Buffer on HOST (H) and Receive Buffer on DEVICE (D)\n");
  CHECK(parse_osu(on_both, of("")).rows.at(0).system == "device memory");
}

TEST_CASE("OSU: a row whose result was wrong is no measurement") {
  const std::string text =
      "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)     Validation\n8   8.20   Pass\n16   8.31   Fail\n32   8.41   "
      "Pass\n";
  CHECK(problems_of_osu(text) == Lines{"f:4: the result was wrong (Validation: Fail); the time of a wrong result is none"});
  CHECK(parse_osu(text, {.skip_bad = true}).rows.size() == 2);
}

TEST_CASE("OSU: a last row of fewer decimals than all others was cut") {
  const std::string begin = table(" Allreduce Latency") + "16  21.5\n32  22.0\n";
  CHECK(problems_of_osu(begin + "64  52") == Lines{"f:7: the line was cut: 52 has fewer decimals than the values above it, which have 1"});
  CHECK(problems_of_osu(begin + "64") == Lines{"f:7: must be a size in bytes and a number, got \"64\""});
  CHECK(parse_osu(begin + "64  52", {.skip_bad = true}).rows.size() == 3);
  CHECK(parse_osu(begin + "64  52.1").rows.size() == 4);
  CHECK(parse_osu(table(" Allreduce Latency") + "16  21\n32  22.0\n64  52").rows.size() == 4);  // somebody rounded
}

TEST_CASE("OSU: a row with fewer columns than are named above it was cut") {
  const std::string begin =
      "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "8   6.00   4.80   7.80   1000\n";
  for (const std::string row : {"16   6.01   4.80   46", "16   6.01   4.80", "16   6.01"}) {
    CAPTURE(row);
    CHECK(problems_of_osu(begin + row) ==
          Lines{fmt::format("f:4: must have the 5 columns that are named above, got \"{}\": it was cut", row)});
    CHECK(parse_osu(begin + row, {.skip_bad = true}).rows.size() == 1);
  }
  CHECK(parse_osu(begin + "16   6.01   4.80   7.81   1000").rows.size() == 2);
}

TEST_CASE(
    "OSU: a table whose lines all stand behind something is refused with what that is, and a title in somebody's text is passed over") {
  for (const auto& test : {std::pair{"node01: ", "node01:"}, {"  [osu-launcher-x2] ", "[osu-launcher-x2]"}, {"| ", "|"}}) {
    CAPTURE(test.first);
    std::string behind = "launched\n";
    for (const char* line : {"# OSU MPI Allreduce Latency Test v7.2", "# Datatype: MPI_CHAR.", "# Size       Avg Latency(us)", "8  20.5"})
      behind += fmt::format("{}{}\n", test.first, line);
    const std::string said = fmt::format(
        "looks like the title of a table behind \"{}\"; it must begin its line: remove what stands before each line", test.second);
    CHECK(problems_of_osu(behind) == Lines{"f:2: " + said});
    CHECK(problems_of_osu(table(" Allreduce Latency") + behind) == Lines{"f:6: " + said});
  }
  CHECK(parse_osu("echo '# OSU MPI Allreduce Latency Test'\n# on node01\n" + table(" Allreduce Latency")).rows.size() == 1);
}

TEST_CASE("OSU: a row behind something else is refused where it stands") {
  const std::string begin = table(" Allreduce Latency");
  for (const auto& test : {std::pair<std::string, std::string>{"node1: 16   21.5", "node1:"},
                           {"12:16   21.5", "12:"},
                           {"2026/01/02 03:04:05 16   21.5", "2026/01/02 03:04:05"}}) {
    const auto& [line, before] = test;
    CAPTURE(test.first);
    const Lines told = {
        fmt::format("f:5: looks like a row behind \"{}\"; a row must begin with its size: remove what stands before it", before)};
    CHECK(problems_of_osu(begin + line + "\n32  22.1\n") == told);
    CHECK(parse_osu(begin + line + "\n32  22.1\n", {.skip_bad = true}).rows.size() == 2);
  }
  for (const std::string line : {"step 10 21.5", "node1: 16 of 32", "took 4 20.5", "Total time: 3 21.5", "[0] MPI startup(): 16 32"})
    CHECK(problems_of_osu(begin + line + "\n").empty());
}

TEST_CASE("OSU: columns of the same name, of which nothing says which is meant, are refused") {
  const std::string title = "# OSU MPI Latency Test v5.7.1\n     Siyuan     Pi     ARM\n", rows = "8   0.79   1.55   1.27\n";
  CHECK(problems_of_osu(title + "# Size       Latency (us)       Latency (us)       Latency (us)\n" + rows) ==
        Lines{"f:3: has 3 columns \"Latency (us)\", and nothing says which is meant: keep the sizes and one of them"});
  CHECK(problems_of_osu("# OSU MPI Bandwidth Test v5.7.1\n# Size Bandwidth (MB/s) Bandwidth (MB/s)\n8 1.5 1.6\n") ==
        Lines{"f:2: has 2 columns \"Bandwidth (MB/s)\", and nothing says which is meant: keep the sizes and one of them"});
  CHECK(problems_of_osu("# OSU MPI Allreduce Latency Test v7\n# Size  Avg Latency(us)   Min Latency(us)  Max Latency(us)  Iterations  P50 "
                        "Tail Lat(us)  P90 Tail Lat(us)\n8 1.5 1.6 1.7 1000 1.5 1.6\n")
            .empty());
}

TEST_CASE("OSU: rows of the mean, the least, the most and the iterations (-f) are read so under the short line of column names too") {
  const std::string begin = "# OSU MPI-CUDA Reduce Latency Test v7.3\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n";
  const Measurements read = parse_osu(begin + "8   50.89   18.27   89.23   1000\n16   50.20   18.24   88.37   1000\n");
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].time_us == 89.23);
  CHECK_FALSE(read.rows[0].mean_of_ranks);
  const Measurements mean = parse_osu(table(" Allreduce Latency") + "16   50.20   18.24   88.37   1000\n");
  REQUIRE(mean.rows.size() == 2);
  CHECK(mean.rows[1].time_us == 50.20);
  CHECK(mean.rows[1].mean_of_ranks);
  for (const std::string row : {"8   50.89   18.27   89.23", "8   50.89   89.23   18.27   1000", "8   50.89   18.27   89.23   1000   1"}) {
    CAPTURE(row);
    CHECK(
        problems_of_osu(begin + row + "\n") ==
        Lines{fmt::format("f:4: must have the 2 columns that are named above, or mean, least, most and iterations (-f), got \"{}\"", row)});
  }
}

TEST_CASE("OSU: the ranks and nodes are those of the command above the table that ran its program") {
  const std::string rows = table(" Allreduce Latency");
  const auto read = [&](const std::string& above) {
    const Measurements out = parse_osu(above + "\n" + rows);
    REQUIRE(out.rows.size() == 1);
    return std::pair(out.rows[0].ranks, out.rows[0].nodes);
  };
  CHECK(read("time jsrun -n 8 -a 1 -c 1 -r 1 -l cpu-cpu /x/libexec/osu-micro-benchmarks/mpi/collective/osu_allreduce") == std::pair(8, 8));
  CHECK(read("jsrun -n 8 -a 2 -r 2 osu_allreduce") == std::pair(16, 4));
  CHECK(read("+ mpirun --hostfile h -np 8 -map-by ppr:2:node -rank-by core ./osu_allreduce -m 8") == std::pair(8, 4));
  CHECK(read("$ /opt/bin/mpiexec -n 8 -ppn 4 ./osu_allreduce") == std::pair(8, 2));
  CHECK(read("mpiexec.hydra -n 8 ./osu_allreduce") == std::pair(8, 0));
  CHECK(read("srun -N 2 --ntasks=8 ./osu_allreduce") == std::pair(8, 2));
  CHECK(read("$ srun -N2 --ntasks-per-node=4 ./osu_allreduce") == std::pair(8, 2));
  CHECK(read("srun -n 8 --ntasks-per-node 4 ./osu_allreduce") == std::pair(8, 2));
  CHECK(read("$ ssh node1 mpirun -np 4 -pernode ./osu_allreduce") == std::pair(4, 4));
  CHECK(read("srun -N2 ./osu_allreduce") == std::pair(0, 0));
  CHECK(read("srun -N2 -n8 ./osu_allreduce") == std::pair(8, 2));
  CHECK(read("flux run -N2 -n 192 -o cpu-affinity=per-task ./osu_allreduce") == std::pair(192, 2));
  CHECK(read("flux run -N2 --tasks-per-node=96 ./osu_allreduce") == std::pair(192, 2));
  CHECK(read("flux submit --nodes=2 --tasks-per-node 4 ./osu_allreduce") == std::pair(8, 2));
  CHECK(read("prterun --map-by ppr:4:node -n 8 ./osu_allreduce") == std::pair(8, 2));
  CHECK(read("aprun -n 8 -N 4 ./osu_allreduce") == std::pair(8, 2));
  CHECK(read("mpirun -np 7 -ppn 2 ./osu_allreduce") == std::pair(7, 0));
  for (const std::string none :
       {"mpirun -np $N ./osu_allreduce", "mpirun -np 8 ./osu_bcast", "./osu_allreduce -n 8", "mpirun ./osu_allreduce -np 8",
        "mpirun -np 4 ./osu_allreduce\nmpirun -np 8 ./osu_allreduce", "mpirun -np 4 ./a : -np 4 ./osu_allreduce"}) {
    CAPTURE(none);
    CHECK(read(none) == std::pair(0, 0));
  }
}

TEST_CASE("OSU: the command above a table is that of the table alone, of all until the next one, and gives way to what the user says") {
  const std::string rows = table(" Allreduce Latency"), four = "mpirun -np 4 ./osu_allreduce\n", eight = "mpirun -np 8 ./osu_allreduce\n";
  const auto ranks = [](const std::string& text, const ReadOptions& options = {}) {
    std::vector<int> out;
    for (const Measurement& row : parse_osu(text, options).rows) out.push_back(row.ranks);
    return out;
  };
  CHECK(ranks(four + rows + rows + eight + rows) == std::vector{4, 4, 8});
  CHECK(ranks(four + eight + rows + rows) == std::vector{0, 0});
  CHECK(ranks(four + rows, {.ranks = 16}) == std::vector{16});
  CHECK(ranks("mpirun -np 2 ./osu_latency\n" + table(" Latency")) == std::vector{2});
}

TEST_CASE("OSU: the command above a table of two ranks says on how many nodes they were") {
  const auto nodes = [](const std::string& command) {
    return parse_osu(command + " ./osu_latency\n" + table(" Latency")).rows.front().nodes;
  };
  for (const char* two : {"mpirun -np 2 -map-by ppr:1:node", "mpirun -np 2 --map-by node", "srun -N2 -n2", "srun --nodes=2 --ntasks=2",
                          "mpirun -np 2 -npernode 1", "mpiexec -n 2 -ppn 1", "flux run -N2 -n2"}) {
    CAPTURE(two);
    CHECK(nodes(two) == 2);
  }
  CHECK(nodes("srun -N1 -n2") == 1);
  CHECK(nodes("mpirun -np 2") == 0);
  CHECK(nodes("mpirun -np 4 -map-by ppr:1:node") == 0);
}

TEST_CASE("OSU: a heading of Markdown that begins as a title does is none") {
  CHECK(parse_osu("## OSU\n\n### Bare metal\n" + table(" Allreduce Latency")).rows.size() == 1);
}

TEST_CASE("OSU: a row above every title is refused, whatever else stands there is passed over") {
  const std::string rows = "4   2.10\n8   2.20\n";
  CHECK(
      problems_of_osu("4   1.91\n# of 2.5 us\n12 3.5\n3 nodes 2.5\n16 tasks\n\n" + table(" Allreduce Latency") + rows) ==
      std::vector<std::string>{"f:1: looks like a row of a table without its title above it; give its lines of # too, or remove the row"});
}

TEST_CASE("OSU: a comment that begins as a title does is none") {
  const std::string comment = "# OSU Benchmarks\nmpirun osu_latency\n# LAMMPS\n";
  CHECK(parse_osu(comment + table(" Allreduce Latency") + comment).rows.size() == 1);
  CHECK(problems_of_osu(comment) == Lines{"f: holds no measurement (read as an OSU table)"});
  CHECK(problems_of_osu("# OSU Benchmarks\n# Size  Latency (us)\n8 1.5\n") == Lines{"f:1: " + unknown("OSU Benchmarks")});
}

TEST_CASE("OSU: which benchmarks are simulated is said once, where a file holds many others") {
  const std::string text = table(" Hello World") + table("_Put Latency") + table(" Hello World");
  CHECK(problems_of_osu(text) == Lines{"f:1: " + unknown("OSU MPI Hello World Test v7.2"),
                                       "f:5: \"OSU MPI_Put Latency Test v7.2\" is none of them either",
                                       "f:9: \"OSU MPI Hello World Test v7.2\" is none of them either"});
}
