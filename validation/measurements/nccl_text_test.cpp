#include "validation/measurements/nccl_testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("nccl-tests before 2.13: the error of a row is how far rounding took it, and its columns are those that the program has") {
  for (const auto& table : {std::pair{"size         count    type   redop", "262144     float     sum"},
                            {"size         count    type   redop", "262144     float        "},  // alltoall_perf leaves it empty
                            {"size         count    type    root", "262144     float       0"},
                            {"size         count    type   redop    root", "262144     float     sum       0"},
                            {"size         count    type", "262144     float"}}) {
    CAPTURE(table.first);
    CAPTURE(table.second);
    const Measurements read = parse_nccl(old_table(table.first, table.second, "5e-07"), {.collective = "allgather"});
    REQUIRE(read.rows.size() == 2);
    CHECK(read.rows[0].time_us == 100);
    CHECK(read.rows[1].time_us == 110);
    CHECK(read.rows[1].ranks == 3);
  }
  std::string of_three = old_table("size count type redop", "262144 float sum", "2e-07");
  of_three.replace(of_three.find("10.49   10.49"), 13, "10.49   13.98");
  CHECK(parse_nccl(of_three).rows[0].collective == "allreduce");
}

TEST_CASE("nccl-tests before 2.13: what is wrong by more than rounding is refused, by the type") {
  const auto with = [](const std::string& type, const std::string& error) {
    return problems_of_nccl(old_table("size count type redop", "262144 " + type + " sum", error), {.collective = "allreduce"});
  };
  CHECK(with("float", "2e-05").empty());  // two sums
  CHECK(with("float", "3e-05") == Lines{"f:9: the result was wrong by 3e-05, more than rounding; the time of a wrong result is none"});
  CHECK(with("half", "1e-02").empty());
  CHECK(with("double", "1e-11").size() == 1);
  CHECK(with("int32", "0e+00").empty());
  CHECK(with("int32", "1e+00").size() == 1);
  CHECK(with("float", "N/A").empty());
}

TEST_CASE("nccl-tests: a run that counts wrong results below its table is refused where no row says which they are") {
  const auto failing = [](std::string text) { return text.replace(text.find(": 0 OK"), 6, ": 2 FAILED"); };
  const std::string good = run_of("# Collective test starting: all_reduce_perf\n", 2), bad = failing(good);
  const Lines told = {"f:11: 2 results of the run were wrong and no row says which; the time of a wrong result is none"};
  CHECK(problems_of_nccl(bad) == told);
  const Measurements read = parse_nccl(bad + good, {.skip_bad = true});
  CHECK(read.rows.size() == 2);  // of the other run
  CHECK(read.skipped == told);

  std::string in_place = bad;  // the other buffer's time is good then
  in_place.replace(in_place.rfind("0\n# Out"), 1, "5");
  CHECK(problems_of_nccl(in_place) == Lines{"f:10: 5 values of the result were wrong; the time of a wrong result is none"});
  CHECK(parse_nccl(in_place, {.select = RowSelection{}}).rows.size() == 1);
}

TEST_CASE("nccl-tests: what else is printed among the rows is passed over, cut and garbled rows are not") {
  const std::string table = run_of("# Collective test starting: all_reduce_perf\n", 2);
  const auto with = [&](const std::string& line) {
    std::string text = table;
    return text.insert(text.find("# Out of"), line + "\n");
  };
  for (const std::string line :
       {"", "0fed198eb8ba:533436:533598 [0] NCCL INFO Channel 00/02 :    0   1", "node-1:4101:4101 [0] NCCL INFO comm 0x55 rank 0 nranks 2",
        "2026-01-02 03:04:05 node0 1 2 3 started", "0 upgraded, 0 newly installed, 0 to remove and 47 not upgraded.", "0% [Working]",
        "----------------------------------------", "====", "10.0.0.3: warning: 2 ports", "allocated      0        0        0",
        "free     16       32       16 node-[0-15]",
        "           0             0     float     sum      -1     0.53    0.00    0.00      0     0.53    0.00    0.00      0",
        "libibverbs: Warning: 1"}) {
    CAPTURE(line);
    CHECK(problems_of_nccl(with(line)).empty());
    CHECK(parse_nccl(with(line)).rows.size() == 2);
  }
  const std::string fields = "must have 13 fields, or 9 where only one buffer was measured, got ";
  for (const auto& wrong :
       {std::pair<std::string, std::string>{"   1048576        262144     float     sum", fields + "4"},
        {"   1048576        2621", fields + "2"},
        {"   10485", fields + "1"},
        {"   13.24    0.00    0.00      0", fields + "4"},
        {"   1048576  262144  float  sum  -1node0:1:1 [0] NCCL INFO comm", fields + "5"},
        {"   1x48576  262144  float sum -1 100.0 10.49 10.49 0 100.0 10.49 10.49 0",
         "the size must be a whole number of bytes, got \"1x48576\""},
        {"   1048576  26x144  float sum -1 100.0 10.49 10.49 0 100.0 10.49 10.49 0", "the count must be a whole number, got \"26x144\""},
        {"   1048576  262144    nan sum -1 100.0 10.49 10.49 0 100.0 10.49 10.49 0", "the type must be a name such as float, got \"nan\""},
        {"   -1048576 262144  float sum -1 100.0 10.49 10.49 0 100.0 10.49 10.49 0", "the size must not be negative, got -1048576"}}) {
    CAPTURE(wrong.first);
    CHECK(problems_of_nccl(with(wrong.first)) == Lines{"f:11: " + wrong.second});
  }
}

TEST_CASE("nccl-tests: rows into which NCCL logs each call are read as if it had logged elsewhere") {
  const std::string table = run_of("# Collective test starting: all_reduce_perf\n", 4);
  const std::string log = "node1:11:12 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}\n";
  const auto with = [&](const std::string& row) {
    std::string text = table;
    return text.insert(text.find("# Out of"), row);
  };
  const std::string halves[] = {"   1048576  262144  float  sum  -1", " 100.0  10.49  15.73  0", " 110.0  9.53  14.30  0\n"};
  for (const auto& cut : {std::pair{halves[0] + log + log + halves[1] + log + "\n" + halves[2], "f:13"},
                          {halves[0] + log + halves[1] + halves[2], "f:13"},
                          {log + halves[0] + halves[1] + log + halves[2], "f:14"}}) {
    CAPTURE(cut.first);
    const std::string text = with(cut.first);
    for (const bool in_place : {false, true}) {
      const Measurements read = parse_nccl(text, {.select = RowSelection{.in_place = in_place}});
      REQUIRE(read.rows.size() == 2);
      CHECK(read.rows[1].size_bytes == 1 << 20);
      CHECK(read.rows[1].time_us == (in_place ? 110 : 100));
      CHECK(read.rows[1].where == cut.second);
    }
  }
  CHECK(problems_of_nccl(with(halves[0] + log + "done\n" + halves[1] + halves[2])).size() == 2);
}

TEST_CASE("nccl-tests: the ranks are counted by their numbers, though a page of text took the first line's # for a heading") {
  std::string text = run_of("# Collective test starting: all_reduce_perf\n", 4);
  const auto first = text.find("#  Rank  0");
  CHECK(parse_nccl(std::string(text).replace(first, 1, " ")).rows[0].ranks == 4);
  text.erase(first, text.find('\n', first) + 1 - first);
  CHECK(parse_nccl(text).rows[0].ranks == 4);
  CHECK(parse_nccl(text).rows[0].nodes == 2);
}

TEST_CASE("nccl-tests: each run of a file has the ranks, nodes and collective of its own header") {
  const Measurements read = parse_nccl(run_of("# Collective test starting: all_reduce_perf\n", 4) +
                                           run_of("# Collective test starting: reduce_scatter_perf\n", 2) + run_of("", 8),
                                       {.collective = "broadcast"});
  REQUIRE(read.rows.size() == 6);
  CHECK(read.rows[0].ranks == 4);
  CHECK(read.rows[0].nodes == 2);
  CHECK(read.rows[0].collective == "allreduce");
  CHECK(read.rows[2].ranks == 2);
  CHECK(read.rows[2].nodes == 1);
  CHECK(read.rows[2].gpus == 2);
  CHECK(read.rows[2].collective == "reduce_scatter");
  CHECK(read.rows[4].ranks == 8);
  CHECK(read.rows[4].collective == "broadcast");  // its header does not say
}

TEST_CASE(
    "nccl-tests: how many ranks the nodes have that have the fewest and the most, where the header lists all and nobody says otherwise") {
  const auto ranks_of_nodes = [](const std::string& text, const ReadOptions& options = {}) {
    const Measurement row = parse_nccl(text, options).rows.at(0);
    return std::pair(row.fewest_of_a_node, row.most_of_a_node);
  };
  const std::string text = run_of("# Collective test starting: all_reduce_perf\n", 5);  // two on a node
  CHECK(ranks_of_nodes(text) == std::pair(1, 2));
  CHECK(ranks_of_nodes(text, {.nodes = 3}) == std::pair(1, 2));
  CHECK(ranks_of_nodes(text, {.nodes = 5}) == std::pair(0, 0));
  std::string cut = text;
  cut.erase(cut.find("#  Rank  1 "), cut.find("#  Rank  2 ") - cut.find("#  Rank  1 "));
  CHECK(ranks_of_nodes(cut) == std::pair(0, 0));
  CHECK(ranks_of_nodes(R"({"args": ["all_reduce_perf"], "config": {"ngpus": "4", "devices": [{"rank": 0, "hostname": "a"},
    {"rank": 4, "hostname": "a"}, {"rank": 8, "hostname": "b"}]}, "results": [{"size": 8, "out_of_place": {"time": 60.0}}]})") ==
        std::pair(4, 8));
}

TEST_CASE("nccl-tests: calls with a barrier behind each, and calls of one CUDA graph") {
  const std::string above = "# Collective test starting: all_reduce_perf\n";
  CHECK(parse_nccl(run_of(above, 2)).rows[0].back_to_back == 20);
  CHECK(parse_nccl(run_of(above + "# Blocking Enabled: wait for completion and barrier after each collective\n", 2)).rows[0].back_to_back ==
        1);
  std::string eight = run_of(above, 8);
  eight.replace(eight.find("nGpus 1"), 7, "nGpus 8");
  CHECK(parse_nccl(eight).rows[0].gpus_of_a_process == 8);
  eight.insert(eight.find("iters: 20") + 9, " agg iters: 1 validation: 1 graph: 20");
  CHECK(parse_nccl(eight).rows[0].gpus_of_a_process == 1);
  CHECK(parse_nccl(eight).rows[0].back_to_back == 20);
}

TEST_CASE("nccl-tests: a row in colour is read, and one whose size somebody wrote with commas is told") {
  std::string text = run_of("# Collective test starting: all_reduce_perf\n", 2);
  const auto row = text.find("           8 ");
  std::string coloured = text;
  CHECK(parse_nccl(coloured.insert(row, "\x1b[1;32m").insert(text.find('\n', row), "\x1b[0m")).rows[0].size_bytes == 8);
  CHECK(problems_of_nccl(text.replace(row, 12, "   4,194,304")) ==
        Lines{"f:10: the size must be a whole number of bytes, got \"4,194,304\""});
}

TEST_CASE("nccl-tests: the all-gathers and reduce-scatters of 2020, whose algbw counts (n-1)/n of the bytes, are read as they are") {
  const auto table = [](int ranks, const std::string& algbw, const std::string& busbw) {
    std::string text = old_table("size         count    type", "87381     float", "0e+00");
    text.replace(text.find("10.49   10.49"), 13, algbw + "   " + busbw);
    const auto in_place = text.find("110.0");
    text.erase(in_place, text.find('\n', in_place) - in_place);
    for (int r = 3; r < ranks; ++r) text.insert(text.find("#       size"), fmt::format("#   Rank {} Pid  1 on node2 device {}\n", r, r));
    return text;
  };
  const auto read = [&](const std::string& text, const ReadOptions& options) {
    const Measurements out = parse_nccl(text, options);
    REQUIRE(out.rows.size() == 1);
    CHECK(out.rows[0].size_bytes == 1'048'576);
    CHECK(out.rows[0].time_us == 100);
  };
  const std::string of_12 = table(12, "9.61", "9.61"), of_4 = table(4, "7.86", "7.86");
  read(of_12, {.collective = "allgather"});
  read(of_4, {.collective = "reduce_scatter"});
  std::string unknown = of_4;
  for (auto at = unknown.find("#   Rank"); at != unknown.npos; at = unknown.find("#   Rank"))
    unknown.erase(at, unknown.find('\n', at) + 1 - at);
  read(unknown, {.collective = "allgather"});
  read(unknown, {.collective = "allgather", .ranks = 4});
  CHECK(problems_of_nccl(unknown, {.collective = "allgather", .ranks = 12}).size() == 1);
  CHECK(problems_of_nccl(table(12, "7.86", "7.86"), {.collective = "allgather"}).size() == 1);
  CHECK(problems_of_nccl(table(4, "7.86", "5.89"), {.collective = "allgather"}).size() == 1);
}

TEST_CASE("nccl-tests: a program that Weft does not simulate is refused by its name") {
  CHECK_THROWS_WITH_AS(parse_nccl(run_of("# Collective test starting: scatter_perf\n", 2), {.collective = "allreduce"}),
                       "f:1: \"scatter_perf\" is none of the programs of nccl-tests that Weft simulates: all_gather_perf, all_reduce_perf, "
                       "alltoall_perf, broadcast_perf, reduce_perf, reduce_scatter_perf",
                       InputError);
}

TEST_CASE("nccl-tests: the table that weft bench prints says the collective, the ranks and the algorithm of its rows") {
  const std::string columns =
      "#       size        count      type   redop   root      time   algbw   busbw #wrong     i_min     i_max     i_p99  i_cv%\n"
      "#        (B)   (elements)                               (us)  (GB/s)  (GB/s)             (us)      (us)      (us)\n";
  const Measurements read = parse_nccl(
      "# weft bench: allreduce over threads\n# nThread 1 nGpus 0 minBytes 8 maxBytes 8\n#\n# 4 ranks, channels 1, pieces 1\n#\n"
      "# algorithm ring\n#\n" +
      columns +
      "           8            2   float32     sum     -1     10.00    0.00    0.00      0      9.00     11.00     11.00    1.0\n"
      "#\n# algorithm direct\n#\n" +
      columns +
      "           8            2   float32     sum     -1     20.00    0.00    0.00      0      9.00     31.00     31.00    1.0\n");
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].collective == "allreduce");
  CHECK(read.rows[0].ranks == 4);
  CHECK(read.rows[0].algorithm == "ring");
  CHECK(read.rows[1].algorithm == "direct");
}

TEST_CASE("nccl-tests: the time is the mean of as many calls back to back as the header says, of 20 where it does not, of one with -I") {
  const std::string table = run_of("# Collective test starting: broadcast_perf\n", 2);
  const auto iterations = [](std::string text, const std::string& instead) {
    return parse_nccl(text.replace(text.find("warmup iters: 5 iters: 20"), 25, instead)).rows[0].back_to_back;
  };
  CHECK(iterations(table, "warmup iters: 5 iters: 100 agg iters: 3") == 100);
  CHECK(iterations(table, "") == 20);
  std::string each = table;
  each.replace(each.find("#wrong"), 6, "#wrong i_min i_max i_p99 i_cv%");
  each.replace(each.find("0.00      0    60.04"), 20, "0.00      0 1 2 2 0.1 60.04");
  each.replace(each.find("0.00      0\n"), 12, "0.00      0 1 2 2 0.1\n");
  CHECK(iterations(each, "warmup iters: 5 iters: 100") == 1);
}

TEST_CASE("nccl-tests: a process has as many GPUs as each of its threads has") {
  const auto of_a_process = [](const std::string& parameters) {
    std::string text = run_of("# Collective test starting: all_reduce_perf\n", 16);
    return parse_nccl(text.replace(text.find("nThread 1 nGpus 1"), 17, parameters)).rows[0].gpus_of_a_process;
  };
  CHECK(of_a_process("nThread 1 nGpus 1") == 1);
  CHECK(of_a_process("nThread 1 nGpus 8") == 8);
  CHECK(of_a_process("nThread 2 nGpus 4") == 8);
  CHECK(of_a_process("nThread 1 nGpus 0") == 1);  // weft bench has none
  CHECK(of_a_process("nGpus") == 1);
}

TEST_CASE("nccl-tests: a row that ends after its first block, among rows of two, was cut") {
  std::string text = run_of("# Collective test starting: all_reduce_perf\n", 2);
  text.insert(text.find("# Out of"), "        1024           256     float     sum      -1    61.00    0.02    0.02      0\n");
  CHECK(problems_of_nccl(text) == Lines{"f:11: has 9 fields where other rows of the same run have 13: it was cut"});
  const Measurements read = parse_nccl(text, {.skip_bad = true});
  CHECK(read.rows.size() == 2);
  CHECK(read.skipped.size() == 1);
}

TEST_CASE("nccl-tests: a table whose column #wrong was cut off is read, a row with fewer fields than its columns is not") {
  std::string text = run_of("# Collective test starting: all_reduce_perf\n", 2);
  for (const std::string_view cut : {" #wrong", "      0"})
    for (auto at = text.find(cut); at != text.npos; at = text.find(cut)) text.erase(at, cut.size());
  const Measurements read = parse_nccl(text);
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[1].in_place);
  CHECK(read.rows[1].time_us == 60.04);
  text.insert(text.find("# Out of"), "        1024           256     float     sum      -1    61.00    0.02\n");
  CHECK(problems_of_nccl(text) == Lines{"f:11: must have 11 fields, or 8 where only one buffer was measured, got 7"});
}

TEST_CASE("nccl-tests: ranks in several groups are several collectives at once, and are refused") {
  std::string text = run_of("# Collective test starting: all_reduce_perf\n", 4);
  text.replace(text.find("Group  0", text.find("Rank  1")), 8, "Group  1");
  CHECK(problems_of_nccl(text) ==
        Lines{"f:6: the ranks are in 2 groups (NCCL_TESTS_SPLIT), which all call the collective at the same time; only "
              "one group of all ranks is simulated"});
  CHECK(parse_nccl(text + run_of("# Collective test starting: all_reduce_perf\n", 2), {.skip_bad = true}).rows.size() == 2);
}

TEST_CASE("nccl-tests: two runs that wrote into one file at once are refused, and a line that is there twice is not") {
  std::string text = run_of("# Collective test starting: all_reduce_perf\n", 2);
  const std::size_t first = text.find("#  Rank  0"), end = text.find('\n', first) + 1;
  const std::string line = text.substr(first, end - first);
  std::string again = line;
  again.replace(again.find("node0"), 5, "node7");
  CHECK(parse_nccl(std::string(text).insert(end, line)).rows.size() == 2);
  CHECK(problems_of_nccl(std::string(text).insert(end, again)) ==
        Lines{"f:6: lists a rank for the second time: two runs wrote into this file at once, as of a launcher without MPI; give the output "
              "of one"});
}

TEST_CASE("nccl-tests: the CPU time of launches (-C) is refused") {
  std::string text = run_of("# Collective test starting: all_reduce_perf\n", 2);
  text.replace(text.find("   time"), 7, "cputime");
  CHECK(problems_of_nccl(text) == Lines{"f:8: the columns are of \"cputime\" (-C): the CPU time of a launch is no time of the collective; "
                                        "measure without -C"});
}

TEST_CASE("nccl-tests: a row says of what type its elements were and what was done with them") {
  std::string text = run_of("# Collective test starting: all_reduce_perf\n", 2);
  text.insert(text.find("# Out of"), "   8   4   half   max   -1    61.00    0.00    0.00      0    61.00    0.00    0.00      0\n");
  text += run_of("# Collective test starting: all_gather_perf\n", 2);
  text.replace(text.rfind(" sum"), 4, "none");
  const Measurements read = parse_nccl(text);
  REQUIRE(read.rows.size() == 6);
  CHECK(read.rows[0].elements == "float sum");
  CHECK(read.rows[2].elements == "half max");
  CHECK(read.rows[4].elements == "float");
  const auto none = text.rfind("none");
  CHECK(parse_nccl(text.erase(none, 4)).rows[4].elements == "float");  // as MetaX's programs print it
}

TEST_CASE("nccl-tests: a row whose bandwidths have too few digits tells no number of ranks") {
  CHECK(parse_nccl(run_of("# Collective test starting: all_reduce_perf\n", 2)).rows[0].told_ranks.has_value() == false);
}

TEST_CASE("nccl-tests: one block of times is of the buffer that the header names, else of the one that is asked for") {
  const auto table = [](const std::string& first, const std::string& labels, const std::string& columns) {
    return first + "# nThread 1 nGpus 2\n#\n" + labels + "#       size         count      type   redop    root" + columns +
           "\n"
           "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
           "        1024           256     float     sum      -1    50.00    0.02    0.02\n"
           "        2048           512     float     sum      -1    60.00    0.03    0.03\n";
  };
  const auto in_place = [](const std::string& text, bool asked) {  // as it is read where all are, and how many are selected
    return std::pair(parse_nccl(text).rows.at(0).in_place, parse_nccl(text, {.select = RowSelection{.in_place = asked}}).rows.size());
  };
  const std::string name = "# Collective test starting: all_reduce_perf\n", one = "     time   algbw   busbw", two = one + one;
  const std::string out_of_place = table(name, "#        out-of-place\n", one), in = table(name, "#        in-place\n", one);
  CHECK(in_place(out_of_place, false) == std::pair(false, std::size_t{2}));
  CHECK(in_place(out_of_place, true) == std::pair(false, std::size_t{0}));
  CHECK(in_place(in, false) == std::pair(true, std::size_t{0}));
  CHECK(in_place(in, true) == std::pair(true, std::size_t{2}));
  for (const std::string& unsaid : {table(name, "", one), table(name, "#        out-of-place       in-place\n", one)}) {
    CHECK(in_place(unsaid, false) == std::pair(false, std::size_t{2}));
    CHECK(in_place(unsaid, true) == std::pair(false, std::size_t{2}));
    CHECK(parse_nccl(unsaid).notes == Lines{"f: does not say of which buffer its one block of times is; taken for the out-of-place one"});
    CHECK(parse_nccl(unsaid, {.select = RowSelection{.in_place = true}}).notes ==
          Lines{"f: does not say of which buffer its one block of times is; taken for the in-place one"});
  }
  // nccl-tests that replays a trace, and weft bench, which does not name the buffer: both leave out the first block
  for (const std::string& said :
       {table(name, "#        out-of-place       in-place\n", two), table("# weft bench: allreduce\n", "", one)}) {
    CHECK(in_place(said, false) == std::pair(true, std::size_t{0}));
    CHECK(in_place(said, true) == std::pair(true, std::size_t{2}));
    CHECK(parse_nccl(said).notes.empty());
  }
  const Measurements both = parse_nccl(out_of_place + in.substr(in.find("#        in-place")));  // one below the other
  CHECK_FALSE(both.rows.at(1).in_place);
  CHECK(both.rows.at(2).in_place);
}

TEST_CASE("nccl-tests: a row behind something else is refused where it stands, and what logs print is not") {
  const std::string table = run_of("# Collective test starting: all_reduce_perf\n", 2);
  const auto with = [&](const std::string& line) {
    std::string text = table;
    return text.insert(text.find("# Out of"), line + "\n");
  };
  const std::string row = "1048576 262144 float sum -1 100.0 10.49 10.49 0 110.0 9.53 9.53 N/A";
  for (const auto& test : {std::pair<std::string, std::string>{"node1: ", "node1:"},
                           {"node1:", "node1:"},
                           {"2026/01/02 03:04:05 ", "2026/01/02 03:04:05"},
                           {"node1:1:1 [0] NCCL INFO foo  ", "node1:1:1 [0] NCCL INFO foo"},
                           {"worker-1  | ", "worker-1  |"}}) {
    const auto& [before, named] = test;
    CAPTURE(test.first);
    const Lines told = {
        fmt::format("f:11: looks like a row behind \"{}\"; a row must begin with its size: remove what stands before it", named)};
    CHECK(problems_of_nccl(with(before + row)) == told);
    const Measurements read = parse_nccl(with(before + row), {.skip_bad = true});
    CHECK(read.rows.size() == 2);
    CHECK(read.skipped == told);
  }
  for (const std::string line :
       {"node1:1:1 [0] NCCL INFO AllReduce: opCount 1 count 262144 datatype 7 op 0 root 0 comm 0x5 [nranks=2] 1 2 3 4",
        "node1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "step 10 of 20 took 1 2 float sum -1 100.0",
        "# 1048576 262144 float sum -1 100.0 10.49 10.49 0 110.0 9.53 9.53 0"}) {
    CAPTURE(line);
    CHECK(problems_of_nccl(with(line)).empty());
  }
}

TEST_CASE("nccl-tests: a table all of whose lines stand behind a host's name says so of each row") {
  std::string text = "node1: ";
  for (const char c : run_of("# Collective test starting: all_reduce_perf\n", 2)) (text += c) += c == '\n' ? "node1: " : "";
  CHECK(problems_of_nccl(text) ==
        Lines{"f:10: looks like a row behind \"node1:\"; a row must begin with its size: remove what stands before it"});
}

TEST_CASE(
    "nccl-tests: a shortened list of ranks, from which hosts may be missing, is refused where nobody says how many nodes there were") {
  std::string text = run_of("# Collective test starting: all_reduce_perf\n", 16);  // two on a node
  const auto second = text.find("#  Rank  2 "), last = text.find("#  Rank  14 ");
  text.replace(second, last - second, "...\n");
  CHECK(problems_of_nccl(text) ==
        Lines{"f:9: lists 4 of 16 ranks, so that hosts may be missing from the list: it names 2; say on how many nodes the ranks were "
              "(FILE:nodes=N), or give the whole list"});
  const Measurements read = parse_nccl(text, {.nodes = 8});
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].nodes == 8);
  CHECK(read.rows[0].ranks == 16);
}

TEST_CASE("nccl-tests: columns without a type and with the in-place block first, as of mscclpp, are read as they are named") {
  const auto table = [](const std::string& labels, const std::string& row) {
    return "# nThread 1 nGpus 1\n#\n#        " + labels +
           "\n#       size         count     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
           "#        (B)    (elements)     (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n" +
           row;
  };
  const std::string both = "     1048576        262144   100.00   10.49   18.35      0   110.00    9.53   16.68      0\n";
  const ReadOptions options = {.collective = "allreduce", .ranks = 8};
  const Measurements first = parse_nccl(table("in-place       out-of-place", both), options);
  REQUIRE(first.rows.size() == 2);
  CHECK(first.rows[0].in_place);
  CHECK(first.rows[0].time_us == 100);
  CHECK_FALSE(first.rows[1].in_place);
  CHECK(first.rows[0].elements.empty());
  CHECK_FALSE(parse_nccl(table("out-of-place       in-place", both), options).rows.at(0).in_place);
  CHECK(parse_nccl(table("in-place       out-of-place", both.substr(0, both.find("   110.00")) + "\n"), options).rows.at(0).in_place);
  CHECK(problems_of_nccl(table("in-place       out-of-place", "  1048576  262144  100.00  10.49\n"), options) ==
        Lines{"f:6: must have 10 fields, or 6 where only one buffer was measured, got 4"});
}

TEST_CASE("nccl-tests: a table whose lines lost their # is read") {
  std::string text = run_of("$ ./all_reduce_perf -b 8\n", 2);
  for (auto at = text.find('#'); at != text.npos; at = text.find('#', at + 1))
    if (at == 0 || text[at - 1] == '\n') text[at] = ' ';
  CHECK(parse_nccl(text).rows.size() == 2);
  const std::string old = old_table("size         count    type   redop", "262144     float     sum", "0e+00");
  std::string without = old;
  for (auto at = without.find("\n#"); at != without.npos; at = without.find("\n#")) without[at + 1] = ' ';
  const Measurements read = parse_nccl(without, {.collective = "allreduce"});
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].ranks == 3);
}

TEST_CASE("nccl-tests: the table of 2019, whose times are in milliseconds, is refused by its columns") {
  CHECK(
      problems_of_nccl("nThread 1 nGpus 1 minBytes 8\n#                    out-of-place                    in-place\n"
                       "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
                       "     1048576        262144   float     sum    2.059   0.51   0.51      N/A    3.314   0.32   0.32      N/A\n"
                       "     2097152        524288   float     sum    3.047   0.69   0.69      N/A    6.873   0.31   0.31      N/A\n") ==
      Lines{"f:3: the columns are those of nccl-tests of 2019 and before (\"bytes N type op\"), whose times are in ms; write the sizes and "
            "times as CSV, with size_bytes and time_us"});
}

TEST_CASE("nccl-tests: a number or two by themselves, above everything that nccl-tests prints, are no row") {
  const std::string table = run_of("# Collective test starting: all_reduce_perf\n", 2);
  CHECK(parse_nccl("$ kubectl get nodes | wc -l\n2\n" + table).rows.size() == 2);
  CHECK(problems_of_nccl(table + "2\n").size() == 1);  // or the rest of a row
}
