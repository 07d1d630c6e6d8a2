#include "validation/measurements/measurement.hpp"

#include "sim/cases/testing.hpp"
#include "sim/files/utf8.hpp"
#include "validation/testing.hpp"

#include <tuple>

#include <doctest/doctest.h>

using namespace weft;

namespace {

constexpr const char* nccl_table = R"(# nccl-tests version 2.17.6 nccl-headers=22703 nccl-library=22703
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4101 on      node0 device  0 [0000:07:00] NVIDIA L40S
#  Rank  1 Group  0 Pid   4102 on      node1 device  0 [0000:07:00] NVIDIA L40S
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    13.24    0.00    0.00       0    12.25    0.00    0.00     N/A
node0:4101:4101 [0] NCCL INFO something in between
     1048576        262144     float     sum      -1    166.4    6.30    6.30       0    167.9    6.24    6.24       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 3.2
)";

Measurements parse(const std::string& text, const ReadOptions& options = {}) { return parse_measurements(text, "f", options); }

Lines problems_of_text(const std::string& text, const ReadOptions& options = {}) {
  return problems_of([&] { parse(text, options); });
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
  return text;
}

}  // namespace

TEST_CASE("measurements: an nccl-tests table gives both buffers, the ranks and the nodes") {
  const Measurements read = parse(nccl_table);
  CHECK(read.format == "an nccl-tests table");
  REQUIRE(read.rows.size() == 4);
  const Measurement& last = read.rows[3];
  CHECK(last.collective == "allreduce");
  CHECK(last.size_bytes == 1'048'576);
  CHECK(last.time_us == 167.9);
  CHECK(last.in_place);
  CHECK(last.ranks == 2);
  CHECK(last.nodes == 2);
  CHECK(last.gpus == 1);
  CHECK(last.where == "f:14");
  CHECK(!read.rows[2].in_place);
}

TEST_CASE("measurements: a log that begins with a dictionary of Python's is no JSON") {
  CHECK(parse(std::string("{'NUM_GPUS': 16, 'do_efa': 1}\nRunning command:\n") + nccl_table).rows.size() == 4);
}

TEST_CASE("measurements: old and new shapes of the nccl-tests table") {
  SUBCASE("without the root's column and without the program's name, which busbw / algbw then tells") {
    const Measurements read = parse(
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)              (us)  (GB/s)  (GB/s)\n"
        "  8388608  2097152  float  sum  1000.0  8.39  8.39  0e+00  1010.0  8.31  8.31  0e+00\n",
        {.collective = "allreduce"});
    CHECK(read.rows.size() == 2);
  }
  SUBCASE("statistics behind each block, a date at the end") {
    const Measurements read = parse(
        "# Collective test starting: ./build/reduce_scatter_perf\n"
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong i_min i_max i_p99 i_cv%\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
        "  8388608  2097152  float  sum  -1  1000.0  8.39  4.19  0  990 1010 1009 0.5  1010.0  8.31  4.15  0  990 1020 1009 0.7 2026-01-02 "
        "10:11:12\n");
    REQUIRE(read.rows.size() == 2);
    CHECK(read.rows[1].time_us == 1010);
    CHECK(read.rows[1].collective == "reduce_scatter");
  }
  SUBCASE("the out-of-place block left out") {
    const Measurements read =
        parse(replaced(replaced(nccl_table, "   166.4    6.30    6.30       0 ", ""), "    13.24    0.00    0.00       0 ", ""));
    CHECK(read.rows.size() == 2);
    CHECK(read.rows[0].in_place);
    CHECK(read.rows[1].in_place);
  }
}

TEST_CASE("measurements: each bad line of an nccl-tests table is told, and can be skipped") {
  const std::string text = replaced(replaced(nccl_table, "13.24", "-3"), "6.24       0", "6.24       7");
  CHECK(problems_of_text(text) == Lines{"f:12: the time must be more than 0 us, got -3",
                                        "f:14: 7 values of the result were wrong; the time of a wrong result is none"});
  const Measurements read = parse(text, {.skip_bad = true});
  CHECK(read.rows.size() == 2);
  CHECK(read.skipped.size() == 2);
  CHECK(problems_of_text(replaced(nccl_table, "166.4", "0.1664")) ==
        Lines{"f:14: 1048576 bytes in 0.1664 us are 6302 GB/s, but the line says 6.3; sizes must be in bytes, times in us, algbw in GB/s"});
  CHECK(problems_of_text(replaced(nccl_table, "1048576   ", "1048576.5")) ==
        Lines{"f:14: the size must be a whole number of bytes, got \"1048576.5\""});
  CHECK(problems_of_text(replaced(nccl_table, "float     sum      -1", "float     sum")) ==
        Lines{"f:12: must have 13 fields, or 9 where only one buffer was measured, got 12"});
  const Lines milliseconds = problems_of_text(replaced(nccl_table, "(us)", "(ms)"));
  REQUIRE(milliseconds.size() == 1);
  CHECK(milliseconds[0].starts_with("f:11: times must be in (us), the units are \"(B)"));
}

TEST_CASE("measurements: nccl-tests JSON, with its quirks") {
  const std::string text = R"({"version": 3, "args": ["./build/all_gather_perf", "-J", "x.json"], "env": ["HOME=/root"],
    "config": {"devices": [{"rank": 0, "hostname": "a"}, {"rank": 1, "hostname": "b"}]},
    "results": [{"size": 1048576, "count": 1, "type": "float", "redop": "none", "root": " -1 ",
                 "out_of_place": {"time": 100.5, "alg_bw": 10.43, "bus_bw": 5.2, "nwrong": "0"},
                 "in_place": {"time": 101.0, "alg_bw": "nan", "bus_bw": "nan", "nwrong": 0}}],
    "out_of_bounds": {"count": 0, "okay": "true"}})";
  const Measurements read = parse(text);
  CHECK(read.format == "nccl-tests JSON");
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].collective == "allgather");
  CHECK(read.rows[0].ranks == 2);
  CHECK(read.rows[1].time_us == 101.0);
  const auto back_to_back = [&](const std::string& said) {
    return parse(replaced(text, "\"config\": {", "\"config\": {" + said)).rows[0].back_to_back;
  };
  CHECK(back_to_back("") == 20);
  CHECK(back_to_back("\"iterations\": 50, ") == 50);
  CHECK(back_to_back("\"iterations\": 50, \"per_iter_timing\": \"true\", ") == 1);
  const Measurement of_one_gpu = parse(text).rows[0];
  const Measurement of_eight_gpus =
      parse(replaced(replaced(text, "\"config\": {", "\"config\": {\"nthreads\": 2, \"ngpus\": 4,"), "\"rank\": 1", "\"rank\": 8")).rows[0];
  CHECK(of_one_gpu.gpus_of_a_process == 1);
  CHECK(of_eight_gpus.gpus_of_a_process == 8);
  CHECK(of_eight_gpus.ranks == 16);  // the list of devices has the first of each process
  CHECK(of_eight_gpus.gpus == 8);
  CHECK(problems_of_text(replaced(text, "\"time\": 101.0", "\"cpu_time\": 5.0")) ==
        Lines{"f: /results/0/in_place/cpu_time: the CPU time of a launch is no time of the collective; measure without -C"});
  CHECK(
      problems_of_text(replaced(replaced(text, "\"rank\": 0", "\"rank\": 0, \"group\": 0"), "\"rank\": 1", "\"rank\": 1, \"group\": 1")) ==
      Lines{"f: /config/devices: the ranks are in 2 groups (NCCL_TESTS_SPLIT), which all call the collective at the same time; only one "
            "group of all ranks is simulated"});
  CHECK(problems_of_text(replaced(text, "100.5", "\"nan\"")) == Lines{"f: /results/0/out_of_place/time: must be a number, got \"nan\""});
  const Lines wrong = {"f: /out_of_bounds: 1 result of the run was wrong and no row says which; the time of a wrong result is none"};
  CHECK(problems_of_text(replaced(text, "\"count\": 0, \"okay\": \"true\"", "\"count\": 1, \"okay\": \"false\"")) == wrong);
  CHECK(problems_of_text(replaced(text, "\"count\": 0, \"okay\": \"true\"", "\"okay\": false")) == wrong);
  CHECK(problems_of_text(replaced(replaced(text, "\"nwrong\": 0", "\"nwrong\": 3"), "\"count\": 0", "\"count\": 1")) ==
        Lines{"f: /results/0/in_place/nwrong: 3 values of the result were wrong; the time of a wrong result is none"});
  CHECK(problems_of_text("{\"results\": 3}") == Lines{"f: /results: must be a list"});
  CHECK(problems_of_text("{\"results\": [").size() == 1);
}

TEST_CASE("measurements: OSU tables of latency, bandwidth and collectives") {
  const Measurements latency = parse("# OSU MPI Latency Test v7.1\n# Size          Latency (us)\n0   1.80\n8192    4.10\n");
  REQUIRE(latency.rows.size() == 2);
  CHECK(latency.rows[1].collective == "latency");
  CHECK(latency.rows[1].ranks == 2);
  const Measurements bandwidth = parse("# OSU MPI Bandwidth Test v7.1\n# Size      Bandwidth (MB/s)\n1000000    20000.0\n");
  CHECK(bandwidth.rows[0].time_us == 50);
  const Measurements allreduce = parse(
      "# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n4   3.2 3.0 "
      "3.3 1000\n");
  CHECK(allreduce.rows[0].collective == "allreduce");
  CHECK(allreduce.rows[0].ranks == 0);
  CHECK(allreduce.rows[0].time_us == 3.2);
  CHECK(allreduce.rows[0].mean_of_ranks);  // they may end it one after the other
  CHECK(problems_of_text("# OSU MPI Latency Test v7.1\n# Size          Latency (ms)\n0   1.80\n") ==
        Lines{"f:2: the values must be in (us), the columns are \"Size          Latency (ms)\""});
}

TEST_CASE("measurements: of OSU's collectives with a root the longest time of a rank is taken where it is printed, else their mean") {
  const Measurements full = parse(
      "# OSU MPI Broadcast Latency Test v7.1\n# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n4   3.2 3.0 "
      "4.3 1000\n");
  CHECK(full.rows[0].time_us == 4.3);
  CHECK_FALSE(full.rows[0].mean_of_ranks);
  const Measurements mean = parse("# OSU MPI Broadcast Latency Test v7.1\n# Size       Avg Latency(us)\n4   3.2\n");
  CHECK(mean.rows[0].time_us == 3.2);
  CHECK(mean.rows[0].mean_of_ranks);
  const Measurement of_csv = parse("benchmark,ranks,size_bytes,time_us\nosu_bcast,4,8,3\n").rows.at(0);
  CHECK(of_csv.mean_of_ranks);
  CHECK(of_csv.back_to_back == 1);
}

TEST_CASE("measurements: CSV, its columns by name") {
  const Measurements read = parse(
      "source,system,nodes,gpus,ranks,collective,algorithm,size_bytes,time_us,algbw_GBps,extra,inplace_time_us\n"
      "\"a, b\",S,2,1,2,allreduce,ring,1024,20.68,0.05,x,21.43\n");
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].source == "a, b");
  CHECK(read.rows[0].algorithm == "ring");
  CHECK(read.rows[1].in_place);
  CHECK(read.rows[1].time_us == 21.43);
}

TEST_CASE("measurements: CSV says how many ranks each node had, where it does not say how many there were") {
  const auto seats = [](const std::string& columns, const std::string& values) {
    const Measurement row = parse(columns + ",collective,size_bytes,time_us\n" + values + ",allreduce,8,3\n").rows.at(0);
    return std::tuple(row.nodes, row.gpus, row.ranks);
  };
  CHECK(seats("nodes,ranks_per_node", "2,24") == std::tuple(2, 24, 0));
  CHECK(seats("nodes,ppn", "2,24") == std::tuple(2, 24, 0));
  CHECK(seats("nodes,gpus,ppn", "2,4,24") == std::tuple(2, 24, 0));
  CHECK(seats("nodes,gpus,ppn", "2,4,") == std::tuple(2, 4, 0));
  CHECK(seats("ranks,ppn", "48,24") == std::tuple(2, 24, 48));
  CHECK(problems_of_text("ranks,ppn,collective,size_bytes,time_us\n40,24,allreduce,8,3\n") ==
        Lines{"f:2: ranks must be a multiple of ppn, 24, got \"40\""});
}

TEST_CASE("measurements: columns of CSV that nobody reads are named once") {
  const auto notes = [](const std::string& columns, const std::string& values) {
    return parse(columns + ",collective,size_bytes,time_us\n" + values + ",allreduce,8,3\n" + values + ",allreduce,16,3\n").notes;
  };
  CHECK(notes("source,ranks", "x,2").empty());
  CHECK(notes("source,rank", "x,2") == Lines{"f: no use is made of the column \"rank\""});
  CHECK(notes("std_us,busbw", "x,2") == Lines{"f: no use is made of the columns \"busbw\", \"std_us\""});
}

TEST_CASE("measurements: CSV says how many calls followed one another without a barrier, or nothing of it") {
  CHECK(parse("collective,ranks,size_bytes,time_us\nbroadcast,4,1024,20.5\n").rows.at(0).back_to_back == 0);
  CHECK(parse("collective,ranks,size_bytes,time_us,back_to_back\nbroadcast,4,1024,20.5,100\n").rows.at(0).back_to_back == 100);
  CHECK(parse("collective,ranks,size_bytes,time_us\nbroadcast,4,1024,20.5\n").rows.at(0).gpus_of_a_process == 1);
  CHECK(parse("collective,ranks,size_bytes,time_us,gpus_of_a_process\nbroadcast,4,1024,20.5,4\n").rows.at(0).gpus_of_a_process == 4);
  CHECK_FALSE(parse("collective,ranks,size_bytes,time_us,time_of\nbroadcast,4,1024,20.5,ranks\n").rows.at(0).of_rank_0);
  CHECK(parse("collective,ranks,size_bytes,time_us,time_of\nbroadcast,4,1024,20.5,rank_0\n").rows.at(0).of_rank_0);
  CHECK(problems_of_text("collective,ranks,size_bytes,time_us,time_of\nbroadcast,4,1024,20.5,root\n") ==
        Lines{"f:2: time_of must be ranks or rank_0, got \"root\""});
  CHECK(problems_of_text("collective,ranks,size_bytes,time_us,back_to_back,time_of\nbroadcast,4,1024,20.5,1,rank_0\n") ==
        Lines{"f:2: time_of must be ranks, where every call is timed by itself, got \"rank_0\""});
  CHECK(problems_of_text("collective,ranks,size_bytes,time_us,back_to_back\nbroadcast,4,1024,20.5,many\n") ==
        Lines{"f:2: back_to_back must be a whole number, at least 0, got \"many\""});
}

TEST_CASE("measurements: a row has the time of the other buffer with it, whatever that one is like") {
  const auto other = [](const std::string& text, bool in_place) {
    return parse(text, {.select = RowSelection{.in_place = in_place}}).rows.back().other_buffer_us;
  };
  CHECK(other(nccl_table, false) == 167.9);
  CHECK(other(nccl_table, true) == 166.4);
  CHECK(other(replaced(nccl_table, "167.9", "-3"), false) == 0);
  CHECK(parse(nccl_table).rows.back().other_buffer_us == 0);  // where both are asked for, each is a row
  const std::string csv = "collective,ranks,size_bytes,time_us,inplace_time_us\nallreduce,2,1024,20.5,21.5\n";
  CHECK(other(csv, false) == 21.5);
  CHECK(other(csv, true) == 20.5);
  CHECK(other(replaced(csv, "21.5", "x"), false) == 0);
  const std::string json =
      R"({"config": {"ranks": 2}, "args": ["all_reduce_perf"], "results": [{"size": 1024, "out_of_place": {"time": 20.5}, "in_place": {"time": 21.5}}]})";
  CHECK(other(json, false) == 21.5);
  CHECK(other(json, true) == 20.5);
}

TEST_CASE("measurements: what is wrong with a CSV file is told line by line") {
  CHECK(problems_of_text("collective,size,time_ms\nallreduce,8,1\n") ==
        Lines{"f:1: column \"size_bytes\" is missing: \"size\" must be given in bytes and be called \"size_bytes\"",
              "f:1: column \"time_us\" is missing: \"time_ms\" must be given in microseconds and be called \"time_us\""});
  const std::string header = "collective,ranks,size_bytes,time_us\n";
  CHECK(
      problems_of_text(
          header +
          "allreduce,2,8,1\nallreduce,2,8,2\nallreduce,2,16\nallreduce,two,16,3\nallreduce,2,1e3,3\nallreduce,2,32,-1\nallreduce,2,\"64,3\n"
          "allreduce,2,64,nan\n") ==
      Lines{"f:4: must have 4 fields, as the first line has, got 3", "f:5: ranks must be a whole number, at least 0, got \"two\"",
            "f:6: size_bytes must be a whole number of bytes, got \"1e3\"", "f:7: the time must be more than 0 us, got -1",
            "f:8: a double quote is not closed", "f:9: time_us must be a number, got \"nan\""});
  CHECK(problems_of_text("size_bytes,time_us\n8,1\n") ==
        Lines{"f:2: does not say which collective was measured; give it with --collective NAME or f:collective=NAME"});
  CHECK(
      problems_of_text("size_bytes,time_us,inplace_time_us\n4,-1,-1\n8,1,2\n16,1,2\n32,1,2\n") ==
      Lines{"f:2: does not say which collective was measured, nor do 3 other lines; give it with --collective NAME or f:collective=NAME"});
  CHECK(parse("size_bytes,time_us\n8,1\n", {.collective = "broadcast"}).rows.size() == 1);
  CHECK(parse("size_bytes,time_us\n8,1\n", {.collective = "All_Gather"}).rows.at(0).collective == "allgather");
  CHECK(parse("size_bytes,time_us\n8,1\n", {.collective = "bcast"}).rows.at(0).collective == "broadcast");
  CHECK(problems_of_text("size_bytes,time_us\n8,1\n", {.collective = "gather"}) ==
        Lines{"f:2: \"gather\" is no collective that Weft simulates"});
}

TEST_CASE("measurements: what is wrong with several lines alike is told once of those skipped, and of those refused where they are many") {
  const auto text = [](int bad) {
    std::string out = "collective,ranks,size_bytes,time_us\n";
    for (int i = 0; i < bad; ++i) out += fmt::format("allreduce,2,{},-1\n", 8 << (i % 10));
    return out + "allreduce,two,16,3\nallreduce,2,16,3\n";
  };
  const std::string negative = ": the time must be more than 0 us, got -1", two = ": ranks must be a whole number, at least 0, got \"two\"";
  CHECK(parse(text(2), {.skip_bad = true}).skipped == Lines{"f:2" + negative + " (and 1 more line)", "f:4" + two});
  CHECK(parse(text(60), {.skip_bad = true}).skipped == Lines{"f:2" + negative + " (and 59 more lines)", "f:62" + two});
  CHECK(problems_of_text(text(2)) == Lines{"f:2" + negative, "f:3" + negative, "f:4" + two});
  CHECK(problems_of_text(text(60)) == Lines{"f:2" + negative + " (and 59 more lines)", "f:62" + two});
}

TEST_CASE("measurements: times that a SimTime cannot hold and sizes beyond a pebibyte are refused") {
  CHECK(problems_of_text("collective,size_bytes,time_us\nallreduce,8,1e13\nallreduce,2000000000000000000,5\n") ==
        Lines{"f:2: the time must be at most 9.2e+12 us (106 days), got 1e+13",
              "f:3: the size must be at most 1125899906842624 bytes, got 2000000000000000000"});
  CHECK(parse("collective,size_bytes,time_us\nallreduce,8,9.1e12\n").rows.size() == 1);
  const RowSelection from_one{.smallest_bytes = 1};  // which leaves none out silently that cannot be
  CHECK(problems_of([&] { parse_measurements("collective,size_bytes,time_us\nallreduce,-8,5\n", "f", {.select = from_one}); }) ==
        Lines{"f:2: the size must not be negative, got -8"});
}

TEST_CASE("measurements: nothing is asked of lines that the selection leaves out") {
  const std::string text =
      "system,collective,algorithm,size_bytes,time_us,inplace_time_us\n"
      "A,allreduce,ring,8,10,bad\n"
      "A,allreduce,tree,8,-1,\n"
      "B,allreduce,ring,8,nothing,\n"
      "A,allreduce,ring,16,0,\n"
      "A,allreduce,ring,4096,11,\n";
  const RowSelection selection{.only = {"ring"}, .system = "A", .largest_bytes = 1024, .exclude = {"f:5"}};
  const Measurements read = parse(text, {.select = selection});
  REQUIRE(read.rows.size() == 1);
  CHECK(read.rows[0].where == "f:2");
  CHECK(read.not_selected == 5);
  CHECK(read.of_other_buffer == 1);
  CHECK(problems_of_text(text, {.select = RowSelection{}}) == Lines{"f:3: the time must be more than 0 us, got -1",
                                                                    "f:4: time_us must be a number, got \"nothing\"",
                                                                    "f:5: the time must be more than 0 us, got 0"});
}

TEST_CASE("measurements: a table of in-place times alone has none of the others, and counts them") {
  const Measurements read =
      parse(replaced(replaced(nccl_table, "   166.4    6.30    6.30       0 ", ""), "    13.24    0.00    0.00       0 ", ""),
            {.select = RowSelection{.smallest_bytes = 16}});
  CHECK(read.rows.empty());
  CHECK(read.of_other_buffer == 2);
  CHECK(parse(replaced(nccl_table, "13.24", "-3"), {.select = RowSelection{.in_place = true}}).rows.size() == 2);
}

TEST_CASE("measurements: files of no known format, and empty ones") {
  CHECK(problems_of_text("") == Lines{"f: is empty"});
  CHECK(problems_of_text(" \n\n") == Lines{"f: is empty"});
  CHECK(problems_of_text("hello\nworld\n") == Lines{"f: is none of: nccl-tests table (with the lines of # above its rows) or JSON, OSU "
                                                    "table, Intel MPI Benchmarks, matrices of p2pBandwidthLatencyTest, "
                                                    "CSV with size_bytes and time_us, Weft trace"});
  CHECK(problems_of_text("collective,size_bytes,time_us\n") == Lines{"f: holds no measurement (read as CSV)"});
}

TEST_CASE("measurements: a file of UTF-16, as PowerShell writes it, is read as one of UTF-8") {
  const std::string utf8 =
      "collective,size_bytes,time_us,note\nallreduce,1024,10,\xc2\xb5s \xe2\x82\xac \xf0\x9f\x9a\x80\nallreduce,2048,12,\n";
  // The same in code units: ASCII as it is, then U+00B5, U+20AC, and U+1F680 as a pair.
  std::u16string units = u"\ufeffcollective,size_bytes,time_us,note\nallreduce,1024,10,\u00b5s \u20ac \U0001f680\nallreduce,2048,12,\n";
  std::string little, big;
  for (const char16_t u : units) {
    little += {static_cast<char>(u & 0xff), static_cast<char>(u >> 8)};
    big += {static_cast<char>(u >> 8), static_cast<char>(u & 0xff)};
  }
  CHECK(as_utf8(little) == utf8);
  CHECK(as_utf8(big) == utf8);
  CHECK(as_utf8("\xef\xbb\xbf" + utf8) == utf8);
  CHECK(as_utf8(utf8) == utf8);
  CHECK(as_utf8(std::string("\xff\xfe\x00\xd8"
                            "a\x00",
                            6)) ==
        "\xef\xbf\xbd"
        "a");  // half of a pair
  CHECK(as_utf8("\xff\xfe"
                "a") == "");  // half of a unit
  const Measurements read = parse(little);
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[1].size_bytes == 2048);
}

TEST_CASE("measurements: a result of nccl-tests' JSON that cannot be used is told by its place, also where one buffer is missing") {
  const std::string text = R"({"args": ["all_reduce_perf"], "results": [
      {"size": 1048576, "out_of_place": {"time": 100.5, "alg_bw": 10.43}, "in_place": {"time": 101.0, "alg_bw": 10.38}},
      {"size": 2097152, "out_of_place": {"time": 200.5, "alg_bw": 10.46}, "in_place": {"time": 201.0, "alg_bw": 10.43}}]})";
  CHECK(problems_of_text(text).empty());
  CHECK(problems_of_text(replaced(text, "200.5", "2000.5")) == Lines{"f: /results/1/out_of_place: 2097152 bytes in 2000.5 us are 1.048 "
                                                                     "GB/s, but the line says 10.46; sizes must be in bytes, times in "
                                                                     "us, algbw in GB/s"});
  const std::string missing = replaced(text, R"("out_of_place": {"time": 200.5, "alg_bw": 10.46}, )", "");
  CHECK(problems_of_text(missing) == Lines{"f: /results/1/out_of_place: is missing, though other results have it"});
  CHECK(parse_measurements(missing, "f", {.select = RowSelection{.in_place = true}}).rows.size() == 2);
}

TEST_CASE("measurements: sizes of CSV may have decimals that are none, and columns are called as the file calls them") {
  const auto parse = [](const std::string& text) { return parse_measurements(text, "f"); };
  CHECK(parse("collective,Size,Avg Latency(us)\nallreduce,4.0,21.75\n").rows.front().size_bytes == 4);
  CHECK(problems_of([&] { parse("collective,Size,Avg Latency(us)\nallreduce,4.5,21.75\n"); }) ==
        Lines{"f:2: Size must be a whole number of bytes, got \"4.5\""});
}

TEST_CASE("measurements: the columns of CSV may stand behind a #") {
  const auto parse = [](const std::string& text) { return parse_measurements(text, "f"); };
  const Measurements out = parse("# of a Monday\n#size_bytes,time_us,collective\n4,21.75,allreduce\n");
  REQUIRE(out.rows.size() == 1);
  CHECK(out.rows.front().time_us == 21.75);
  CHECK(problems_of([&] { parse("#bytes,t_avg[usec]\n4,0.6\n"); }).front().starts_with("f:1: column \"size_bytes\" is missing"));
  CHECK(parse("# of 4, 8 and 16\nsize_bytes,time_us,collective\n4,21.75,allreduce\n").rows.size() == 1);
}

TEST_CASE("measurements: CSV's columns are known in any case and with blanks, and OSU's own names of them too") {
  const Measurements read = parse("Ranks, Size_Bytes ,Latency_US\n4,8,1.5\n", {.collective = "allreduce"});
  REQUIRE(read.rows.size() == 1);
  CHECK(read.rows[0].ranks == 4);
  CHECK(read.rows[0].size_bytes == 8);
  CHECK(read.rows[0].time_us == 1.5);
  CHECK_FALSE(read.rows[0].mean_of_ranks);
  for (const std::string header : {"Size,Avg Latency(us)", "size,avg latency (us)"}) {
    CAPTURE(header);
    const Measurements osu = parse(header + "\n8,1.5\n", {.collective = "allreduce"});
    REQUIRE(osu.rows.size() == 1);
    CHECK(osu.rows[0].time_us == 1.5);
    CHECK(osu.rows[0].mean_of_ranks);
  }
  CHECK(parse("size,Latency (us)\n8,1.5\n", {.collective = "latency"}).rows.at(0).time_us == 1.5);
  CHECK(problems_of_text("size_bytes,time_us,Time_us\n8,1,2\n") == Lines{"f:1: column \"time_us\" is there twice"});
}
