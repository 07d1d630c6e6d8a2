#include "models/server/server.hpp"
#include "validation/fit/testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("points: how a measurement was timed, and by how many processes, goes with it") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {64});
  rows[0].back_to_back = 20, rows[0].gpus_of_a_process = 8;
  const UsedMeasurements used = usable(rows, simulator, {});
  REQUIRE(used.points.size() == 1);
  CHECK(used.points[0].setup.back_to_back == 20);
  CHECK(used.points[0].setup.gpus_of_a_process == 8);
}

TEST_CASE("points: where nobody says how NCCL was timed, it was 20 calls back to back, of an MPI library each by itself") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {64});
  rows[0].collective = "broadcast", rows[0].time_us = 100;
  const auto calls_of = [&](const char* algorithm, int said) {
    rows[0].algorithm = algorithm, rows[0].back_to_back = said;
    const UsedMeasurements used = usable(rows, simulator, {});
    REQUIRE(used.points.size() == 1);
    CHECK(used.assumed.empty() == (said > 0 || std::string_view(algorithm) != "nccl"));
    return used.points[0].setup.back_to_back;
  };
  CHECK(calls_of("nccl", 0) == 20);
  CHECK(calls_of("nccl", 100) == 100);
  CHECK(calls_of("binomial_tree", 0) == 1);
}

TEST_CASE("points: repeated measurements are one, their mean with its spread") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {64, 1024, 64, 64});
  rows[0].time_us = 10, rows[2].time_us = 12, rows[3].time_us = 14;
  const UsedMeasurements used = usable(rows, simulator, {});
  REQUIRE(used.points.size() == 2);
  CHECK(used.points[0].measured.time_us == doctest::Approx(12));
  CHECK(used.points[0].measured.repeats == 3);
  CHECK(used.points[0].measured.spread_us == doctest::Approx(2));
  CHECK(used.points[1].measured.repeats == 1);
  CHECK(!used.points[1].fitted);
}

TEST_CASE("points: of five runs or more those far from the median one are no part of the mean, unless they are many") {
  Simulator simulator(open_pair({}).scenario());
  const auto mean_of = [&](std::initializer_list<double> times_us) {
    std::vector<Measurement> rows;
    for (const double us : times_us) {
      rows.push_back(measured_on({}, {64}).front());
      rows.back().time_us = us, rows.back().where = "f:2";
    }
    return usable(rows, simulator, {}).points.at(0).measured;
  };
  const Measurement nine = mean_of({60, 61, 59, 1086, 60, 60, 62, 58, 60, 60});
  CHECK(nine.time_us == doctest::Approx(60));
  CHECK(nine.repeats == 9);
  CHECK(nine.runs_apart == 1);
  CHECK(mean_of({60, 60, 60, 60, 20}).time_us == doctest::Approx(60));  // faster than a call can be, or another call
  for (const Measurement& all : {mean_of({60, 60, 60, 1086}), mean_of({60, 60, 60, 1086, 1086}), mean_of({60, 60, 60, 60, 110})}) {
    CHECK(all.time_us > 69);
    CHECK(all.runs_apart == 0);
  }
}

TEST_CASE("points: means of repeated measurements that differ widely are told once a file, with the widest") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {64, 64, 1024, 1024, 2048, 2048});
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].time_us = 10 + 10.0 * static_cast<double>(i), rows[i].where = "f:2";
  rows[4].time_us = rows[5].time_us;
  // 10 and 20 us are 15 us, with a standard deviation of 7.07 us; 30 and 40 us differ by 20 %.
  CHECK(usable(rows, simulator, {}).assumed ==
        Lines{"f: 1 of its points is the mean of repeated measurements that differ by more than 30 % (standard deviation; allreduce of 64 "
              "bytes by 47 %): look whether these measured the same thing (--exclude FILE:LINE leaves some out)"});
  rows[1].time_us = 12;
  CHECK(usable(rows, simulator, {}).assumed.empty());
}

TEST_CASE("points: files that do not say how many ranks were measured are runs of the same only if their times are alike") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {64, 64, 1024, 1024, 2048, 2048});
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].ranks = 0, rows[i].time_us = 20 + static_cast<double>(i), rows[i].where = i % 2 == 0 ? "four.txt:2" : "eight.txt:2";
  CHECK(usable(rows, simulator, {}).points.size() == 3);
  for (Measurement& row : rows)
    if (row.where == "eight.txt:2") row.time_us *= 1.6;
  CHECK(problems_of([&] { usable(rows, simulator, {}); }) ==
        Lines{"four.txt and eight.txt do not say how many ranks were measured, and are no runs of the same: allreduce of 64 bytes takes 20 "
              "and 33.6 us; say it behind each name, FILE:ranks=N,nodes=N"});
  for (Measurement& row : rows) row.ranks = 2;
  CHECK(usable(rows, simulator, {}).points.size() == 3);
}

TEST_CASE("points: measurements of one call under several labels are one point, and held out together") {
  Scenario scenario = open_pair({}).scenario();
  scenario.workload.algorithms = {parse_algorithm("nccl(protocol=simple)")};
  Simulator simulator(scenario);
  std::vector<Measurement> rows;
  for (const std::int64_t size : powers_of_two(10, 13))
    rows.push_back({.nodes = 2, .gpus = 1, .ranks = 2, .collective = "allreduce", .size_bytes = size, .time_us = 100, .where = "a:1"});
  for (const std::int64_t size : powers_of_two(11, 13))
    rows.push_back(
        {.ranks = 2, .collective = "allreduce", .algorithm = "nccl(protocol=simple)", .size_bytes = size, .time_us = 120, .where = "b:1"});
  const UsedMeasurements used = usable(rows, simulator, {});
  REQUIRE(used.points.size() == 4);
  CHECK(used.points[0].measured.repeats == 1);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(used.points[i].measured.time_us == 110);
    CHECK(used.points[i].fitted == (i % 2 == 0));
  }
  // Two programs of the same algorithm are measurements of their own, of the same held-out sizes.
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].algorithm = i < 4 ? "ring_ompi" : "ring_over";
  const UsedMeasurements apart = usable(rows, simulator, {});
  REQUIRE(apart.points.size() == 7);
  for (const FitPoint& p : apart.points) CHECK(p.fitted == (p.measured.size_bytes == 1 << 10 || p.measured.size_bytes == 1 << 12));
}

TEST_CASE("points: what was timed in another way, or of other elements, is another measurement of the same call") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {64, 64, 64, 64, 64, 128});
  for (Measurement& row : rows) row.time_us = 10;
  rows[1].mean_of_ranks = true, rows[2].back_to_back = 20, rows[3].gpus_of_a_process = 8, rows[4].elements = "half max";
  const UsedMeasurements used = usable(rows, simulator, {});
  REQUIRE(used.points.size() == 6);
  for (const FitPoint& p : used.points) {
    CHECK(p.measured.repeats == 1);
    CHECK(p.fitted == (p.measured.size_bytes == 64));
  }
}

TEST_CASE("points: ranks, nodes and GPUs of a node that contradict one another are refused, a column of all GPUs is not") {
  Scenario s = open_pair({}).scenario();
  s.server = server_preset("dgx_h100");
  Simulator simulator(s);
  std::vector<Measurement> rows = measured_on({}, {1024});
  rows[0].where = "f:2", rows[0].ranks = 4, rows[0].nodes = 2, rows[0].gpus = 8, rows[0].time_us = 100;
  CHECK(problems_of([&] { usable(rows, simulator, {}); }) == Lines{"f:2: 4 ranks on 2 nodes are 2 of each, but 8 of each are given: gpus, "
                                                                   "ranks_per_node or ppn must be those of a node that were measured"});
  rows[0].gpus = 2;
  CHECK(usable(rows, simulator, {}).points.size() == 1);
  rows[0].gpus = 4;
  CHECK(usable(rows, simulator, {}).points.size() == 1);
}

TEST_CASE("points: a number of ranks that the bandwidths of a file exclude is refused once, with the number that they mean") {
  Simulator simulator(OpenScenario(ScratchFolder().file("star.json", star_scenario(16)), {}, {}).scenario());
  std::vector<Measurement> rows = measured_on({}, {1024, 2048});
  for (Measurement& row : rows) row.ranks = 16, row.time_us = 1000;
  rows[0].where = "f:2", rows[0].told_ranks = RanksTold{1.92, 24, 50};
  rows[1].where = "f:3", rows[1].told_ranks = RanksTold{1.938, 32, 32};
  CHECK(problems_of([&] { usable(rows, simulator, {}); }) ==
        Lines{"f:3: busbw is 1.938 of algbw, which means 32 ranks, but 16 are taken, of which it would be 1.875: the file's header, "
              "FILE:ranks=N or the scenario's ranks must say how many were measured, or --exclude leaves these lines out"});
  for (Measurement& row : rows) row.told_ranks = RanksTold{1.87, 12, 20};
  CHECK(usable(rows, simulator, {}).points.size() == 2);
}

TEST_CASE("points: where a call took longer out of place than in place, beyond what is usual of the series, the other time is fitted to") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, powers_of_two(10, 15));
  for (Measurement& row : rows) row.other_buffer_us = 0.9 * row.time_us;
  rows[2].time_us *= 3;          // disturbed,
  rows[4].other_buffer_us *= 3;  // as was the other buffer here
  const Selection all{.hold_out = false};
  const UsedMeasurements used = usable(rows, simulator, all);
  REQUIRE(used.points.size() == 6);
  CHECK(used.points[2].measured.time_us == rows[2].time_us);
  CHECK(used.points[2].wanted_us() == doctest::Approx(rows[2].time_us / 3));
  for (const std::size_t i : {0, 1, 3, 4, 5}) CHECK(used.points[i].wanted_us() == doctest::Approx(rows[i].time_us));
  rows.resize(4);  // too few to say what is usual
  CHECK(usable(rows, simulator, all).points[2].wanted_us() == rows[2].time_us);
}

TEST_CASE("points: what usually is between buffers is asked of fitted sizes near by, and nothing below both times is fitted to") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, powers_of_two(10, 29));
  // In place a quarter of the time less from 1 MiB on: no call was disturbed.
  for (Measurement& row : rows) row.other_buffer_us = (row.size_bytes < 1 << 20 ? 1 : 0.75) * row.time_us;
  const auto wanted = [&] {
    std::vector<double> out;
    for (const FitPoint& p : usable(rows, simulator, {}).points)
      if (p.fitted) out.push_back(p.wanted_us() / p.measured.time_us);
    return out;
  };
  const std::vector<double> undisturbed = wanted();
  REQUIRE(undisturbed.size() == 10);
  CHECK(std::ranges::count_if(undisturbed, [](double share) { return share < 1 - 1e-9; }) <= 1);  // beside the step
  for (std::size_t i = 1; i < rows.size(); i += 2) rows[i].other_buffer_us *= 3;                  // all of them held out
  CHECK(wanted() == undisturbed);
  for (Measurement& row : rows) row.other_buffer_us = row.time_us;
  for (std::size_t i = 0; i < rows.size(); i += 4) rows[i].other_buffer_us *= 1.4;  // those in between are alike
  for (const double share : wanted()) CHECK(share == 1);
}

TEST_CASE("points: latencies that the cables alone exceed are told once a file") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows;
  for (const double us : {0.7, 0.8, 1.2})
    rows.push_back(
        {.ranks = 2, .collective = "latency", .size_bytes = 1 + static_cast<std::int64_t>(rows.size()), .time_us = us, .where = "f:1"});
  const UsedMeasurements used = usable(rows, simulator, {});
  CHECK(used.points.size() == 3);
  CHECK(used.assumed ==
        Lines{"f: has latencies below the 1 us that the scenario's cables alone take: give /fabric lower latencies; or were both ranks on "
              "one node (FILE:nodes=1)?"});
}

TEST_CASE("points: ranks that the file does not say are the scenario's, or those of its nodes, aloud") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {64, 1024});
  for (Measurement& row : rows) row.ranks = 0, row.where = "f:2";
  CHECK(usable(rows, simulator, {}).assumed ==
        Lines{"f: does not say how many ranks were measured; taken for the scenario's 2 (FILE:ranks=N,nodes=N says it)"});
  for (Measurement& row : rows) row.nodes = 32;
  const UsedMeasurements used = usable(rows, simulator, {});
  CHECK(used.assumed == Lines{"f: says how many nodes were measured, not how many ranks; taken for 1 of each node, as many as the "
                              "scenario's servers have GPUs (FILE:ranks=N,nodes=N says it)"});
  Scenario hosts = open_pair({}).scenario();
  hosts.server = cpu_host({.cores = 48});
  Simulator of_cores(hosts);
  for (Measurement& row : rows) row.nodes = 1;
  CHECK(usable(rows, of_cores, {}).assumed ==
        Lines{"f: says how many nodes were measured, not how many ranks; taken for 48 of each node, as many as the scenario's servers have "
              "cores (FILE:ranks=N,nodes=N says it)"});
  for (Measurement& row : rows) row.gpus = 96;
  CHECK(problems_of([&] { usable(rows, of_cores, {}); }) ==
        Lines{"f:2: measured with 96 ranks of each server, but the scenario's server \"cpu_host\" has 48 cores: set /server to what was "
              "measured"});
  CHECK(used.points.front().setup.ranks == 32);
}

TEST_CASE("points: two ranks of which the file does not say on how many nodes they were are of one server, aloud") {
  Scenario s = open_pair({}).scenario();
  s.server = server_preset("dgx_h100");
  Simulator simulator(s);
  std::vector<Measurement> rows = {{.ranks = 2, .collective = "latency", .size_bytes = 8, .time_us = 9, .where = "f:1"}};
  CHECK(usable(rows, simulator, {}).assumed ==
        Lines{"f: does not say on how many nodes its two ranks were; taken for two ranks of one server (FILE:nodes=2 says that each had a "
              "server of its own)"});
  rows.front().nodes = 2;
  const UsedMeasurements used = usable(rows, simulator, {});
  CHECK(used.assumed.empty());
  CHECK(used.points.front().setup.nodes == 2);
}

TEST_CASE("points: each row runs on as many servers as were measured, and on as many GPUs of each") {
  Scenario s = open_pair({}).scenario();
  s.server = server_preset("dgx_h100");
  Simulator simulator(s);
  std::vector<Measurement> rows = measured_on({}, {1 << 20, 1 << 20, 1 << 20});
  rows[0].nodes = 2, rows[0].gpus = 8, rows[0].ranks = 16, rows[0].time_us = 1000;
  rows[1].nodes = 4, rows[1].gpus = 2, rows[1].ranks = 8, rows[1].time_us = 1000;  // more servers than the star has
  rows[2].nodes = 1, rows[2].gpus = 2, rows[2].ranks = 2, rows[2].time_us = 1000;
  const UsedMeasurements used = usable(rows, simulator, {});
  REQUIRE(used.points.size() == 3);
  CHECK(used.assumed.empty());
  // Of two servers with one GPU each the cables decide, of one server with two the NVSwitch.
  const auto time = [&](int nodes, int of_each) {
    return simulator.time_us(
        {.collective = "allreduce", .algorithm = {"ring"}, .ranks = nodes * of_each, .size = 1_MB, .nodes = nodes, .of_each_node = of_each},
        {});
  };
  CHECK(time(2, 1) > 80);                                  // 1 MB at 100 Gb/s
  CHECK(time(1, 2) < 8);                                   // at more than 370 GB/s
  CHECK(time(4, 1) == doctest::Approx(120).epsilon(0.1));  // 2 (n - 1) / n of it
}

TEST_CASE("points: servers of more GPUs than the scenario's are refused, and more servers than its fabric holds") {
  Scenario s = open_pair({}).scenario();
  std::vector<Measurement> rows = measured_on({}, {64});
  rows[0].nodes = 2, rows[0].gpus = 8, rows[0].ranks = 16, rows[0].where = "f:2";
  {
    Simulator simulator(s);
    CHECK(problems_of([&] { usable(rows, simulator, {}); }) ==
          Lines{"f:2: measured with 8 ranks of each server, but the scenario's server \"sub_node\" has 1 GPU: set /server to what was "
                "measured, or take every rank for a node of its own with --flat"});
    const UsedMeasurements flat = usable(rows, simulator, {.flat = true});
    CHECK(flat.assumed == Lines{"f: ranks of one node are taken for ranks with an endpoint of the network each"});
    CHECK(flat.points.front().setup.nodes == 16);
  }
  s.server = server_preset("dgx_h100");
  s.fabric.spec = FatTree{.leaves = 2, .nodes_per_leaf = 1, .spines = 1, .host_link = {100_Gbps, 1_us}, .fabric_link = {100_Gbps, 1_us}};
  Simulator simulator(s);
  rows[0].nodes = 4, rows[0].ranks = 32;
  CHECK(
      problems_of([&] { usable(rows, simulator, {}); }) ==
      Lines{"f:2: measured on 4 nodes, but the scenario's fat_tree has 2: set /fabric to one that holds the largest measured (only a star "
            "grows by itself)"});
  rows[0].ranks = 31;
  CHECK(problems_of([&] { usable(rows, simulator, {}); }) == Lines{"f:2: 31 ranks are no multiple of 4 nodes"});
}

TEST_CASE(
    "points: nodes of unlike numbers of ranks are refused with these, though their mean is a whole number, but where ranks are nodes") {
  Scenario s = open_pair({}).scenario();
  std::vector<Measurement> rows = measured_on({}, {64});
  rows[0].nodes = 2, rows[0].gpus = 6, rows[0].ranks = 12, rows[0].where = "f:2";
  rows[0].fewest_of_a_node = 4, rows[0].most_of_a_node = 8;
  const std::string said = "f:2: 12 ranks on 2 nodes, of which one had 8 and another 4: a measurement must have equally many on every node";
  {
    Simulator simulator(s);
    CHECK(problems_of([&] { usable(rows, simulator, {}); }) == Lines{said});
    CHECK(usable(rows, simulator, {.flat = true}).points.front().setup.nodes == 12);
  }
  s.server = server_preset("dgx_h100");
  Simulator simulator(s);
  CHECK(problems_of([&] { usable(rows, simulator, {.flat = true}); }) == Lines{said});
  rows[0].fewest_of_a_node = rows[0].most_of_a_node = 6;
  CHECK(usable(rows, simulator, {}).points.front().setup.of_each_node == 6);
}

TEST_CASE("points: a matrix of pairs is measured between the GPUs that it names") {
  Scenario s = open_pair({}).scenario();
  s.server = server_preset("single_nic");  // two GPUs below each of two PCIe switches, 10 GB/s between the sockets
  Simulator simulator(s);
  std::vector<Measurement> rows(2, {.ranks = 2, .collective = "bandwidth", .size_bytes = 160'000'000, .time_us = 1e6, .where = "f:1"});
  rows[0].from = 0, rows[0].to = 1, rows[1].from = 0, rows[1].to = 3;
  const UsedMeasurements used = usable(rows, simulator, {.hold_out = false});
  REQUIRE(used.points.size() == 2);
  CHECK(what_ran(used.points[1]) == "bandwidth, 0 to 3");
  CHECK(simulator.time_us(used.points[0].setup, {}) < 0.8 * simulator.time_us(used.points[1].setup, {}));
  rows[1].to = 8;
  CHECK(problems_of([&] { usable(rows, simulator, {}); }) == Lines{"f:1: GPU 8 was measured, but the scenario has 8 endpoints"});
}

TEST_CASE("points: osu_bw between servers of several GPUs has a window of messages, a matrix of pairs one copy") {
  Scenario s = open_pair({}).scenario();
  s.server = server_preset("single_nic");
  Simulator simulator(s);
  std::vector<Measurement> rows(2, {.nodes = 2, .ranks = 2, .collective = "bandwidth", .size_bytes = 1, .time_us = 1e6, .where = "f:1"});
  rows[1].from = 0, rows[1].to = 4;
  const UsedMeasurements used = usable(rows, simulator, {.hold_out = false});
  REQUIRE(used.points.size() == 2);
  HardwareProfile slow_way;
  slow_way.network_overhead = slow_way.rail_overhead = 100_us;
  // The window pays the way there and back once for 64 messages, the copy once for itself.
  CHECK(simulator.time_us(used.points[0].setup, slow_way) == doctest::Approx(200.0 / 64).epsilon(0.1));
  CHECK(simulator.time_us(used.points[1].setup, slow_way) == doctest::Approx(100).epsilon(0.1));
}

TEST_CASE("points: sizes of one rank's block become the message's") {
  Simulator simulator(open_pair({}).scenario());
  Measurement row{.ranks = 2, .collective = "allgather", .algorithm = "ring", .size_bytes = 1'000'000, .size_of_a_rank = true};
  row.time_us = 100;
  const UsedMeasurements used = usable({row}, simulator, {});
  REQUIRE(used.points.size() == 1);
  CHECK(used.points[0].measured.size_bytes == 2'000'000);
  CHECK(used.points[0].setup.size == 2_MB);
}

TEST_CASE("points: every second size of a series is held out, and what cannot be used is told") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {64, 16, 32, 128, 256});
  for (const char* place : {"f:7", "f:8"}) {
    rows.push_back(rows.front());
    rows.back().algorithm = "mystery", rows.back().where = place;
  }
  rows.push_back(rows.front());
  rows.back().ranks = 1, rows.back().where = "f:9";
  const UsedMeasurements used = usable(rows, simulator, {});
  REQUIRE(used.points.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(used.points[i].measured.size_bytes == std::int64_t{16} << i);
    CHECK(used.points[i].fitted == (i % 2 == 0));
  }
  REQUIRE(used.left_out.size() == 2);
  CHECK(used.left_out[0].starts_with("f:7: mystery of allreduce is no algorithm of Weft's; name one of these with --rename: ring, "));
  CHECK(used.left_out[0].ends_with(" (and 1 more line)"));
  CHECK(used.left_out[1] == "f:9: one rank has nobody to talk to");
}

TEST_CASE("points: a measurement of one rank is left out, whatever number of nodes is given with its file") {
  Scenario scenario = open_pair({}).scenario();
  Simulator simulator(scenario);
  std::vector<Measurement> rows = measured_on({}, {64, 64});
  rows[0].ranks = 1, rows[0].nodes = 2, rows[0].where = "f:2";
  const UsedMeasurements used = usable(rows, simulator, {});
  CHECK(used.points.size() == 1);
  CHECK(used.left_out == Lines{"f:2: one rank has nobody to talk to"});
}

TEST_CASE("points: a measurement faster than the wire allows is refused, with the reason") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {1'000'000});
  rows[0].time_us = 40, rows[0].where = "f:3";
  CHECK(problems_of([&] { usable(rows, simulator, {}); }) ==
        Lines{"f:3: allreduce of 2 ranks, 1000000 bytes in 40 us, is faster than the scenario's wire allows, 80 us at least without "
              "aggregation in the network"});
}

TEST_CASE("errors are summarised by median and the 95th percentile, nearest rank") {
  const ErrorSummary e = summarise({-0.1, 0.3, 0.2, -0.05});
  CHECK(e.points == 4);
  CHECK(e.median == doctest::Approx(0.15));
  CHECK(e.p95 == doctest::Approx(0.3));
  CHECK(summarise({}).points == 0);
}
