#include "validation/fit/fit.hpp"

#include "models/server/server.hpp"
#include "sim/files/shipped.hpp"
#include "validation/measurements/renames.hpp"
#include "validation/testing.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

using namespace weft;
using Lines = std::vector<std::string>;

namespace {

OpenScenario open_pair(const std::vector<std::string>& names) {
  const ScratchFolder folder;
  return OpenScenario(folder.file("pair.json", pair_scenario), {}, names);
}

// What a cluster with this profile would measure.
std::vector<Measurement> measured_on(const HardwareProfile& truth, const std::vector<std::int64_t>& sizes) {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows;
  for (const std::int64_t size : sizes) {
    Measurement row{.system = "made", .ranks = 2, .collective = "allreduce", .algorithm = "ring", .size_bytes = size};
    row.where = "made";
    row.time_us = simulator.time_us({"allreduce", {"ring"}, 2, Bytes{size}}, truth);
    rows.push_back(row);
  }
  return rows;
}

std::vector<std::int64_t> powers_of_two(int from, int to) {
  std::vector<std::int64_t> out;
  for (int i = from; i <= to; ++i) out.push_back(std::int64_t{1} << i);
  return out;
}

// What osu_latency and osu_bw would say of hosts with this profile.
std::vector<Measurement> messages_on(const HardwareProfile& truth, Simulator& simulator) {
  std::vector<Measurement> out;
  for (const std::string collective : {"latency", "bandwidth"})
    for (const std::int64_t size : powers_of_two(3, 22)) {
      const MeasuredSetup setup{.collective = collective, .algorithm = {collective}, .ranks = 2, .size = Bytes{size}};
      out.push_back({.ranks = 2, .collective = collective, .size_bytes = size, .time_us = simulator.time_us(setup, truth), .where = "f:1"});
    }
  return out;
}

const FittedParameter& named(const FitResult& result, const std::string& name) {
  for (const FittedParameter& p : result.parameters)
    if (p.parameter.name == name) return p;
  throw std::logic_error("no such parameter");
}

}  // namespace

TEST_CASE("simulator: an all-reduce, a latency and a bandwidth, by hand") {
  Simulator simulator(open_pair({}).scenario());
  HardwareProfile hardware;
  hardware.send_overhead = 2_us;
  // Two steps of 2 us overhead, 1 us of cable and half of 1 MB at 100 Gb/s.
  CHECK(simulator.time_us({"allreduce", {"ring"}, 2, 1_MB}, hardware) == doctest::Approx(2 * (2 + 1 + 40)));
  CHECK(simulator.time_us({"latency", {"latency"}, 2, 1_MB}, hardware) == doctest::Approx(2 + 1 + 80));
  CHECK(simulator.time_us({"latency", {"latency"}, 2, 0_B}, hardware) == doctest::Approx(3));
  // 64 messages, one behind the other, then the answer of 4 bytes.
  CHECK(simulator.time_us({"bandwidth", {"bandwidth"}, 2, 1_MB}, hardware) == doctest::Approx((2 + 1 + 64 * 80 + 2 + 1 + 0.00032) / 64));
  // Both ways at once, each with the cable to itself.
  CHECK(simulator.time_us({"bidirectional_bandwidth", {"bidirectional_bandwidth"}, 2, 1_MB}, hardware) ==
        doctest::Approx((2 + 1 + 64 * 80) / 128.0).epsilon(0.001));
}

TEST_CASE("simulator: in-network all-reduces, on the network of the scenario if that has switches") {
  // 1 MB are 4033 packets of 306 B, at 100 Gb/s 98.7 us; two links there, two back, each 1 us and 24.5 ns.
  Scenario star = open_pair({}).scenario();
  star.fabric.spec = Star{.nodes = 3, .host_link = {100_Gbps, 1_us}};
  for (const NetworkKind network : {NetworkKind::flow, NetworkKind::packet}) {
    star.network = network;
    AlgorithmChoice atp{"atp"};
    atp.atp.aggregators = 1 << 20;
    const double us = Simulator(star).time_us({"allreduce", atp, 2, 1_MB}, {});
    CHECK(us >= 98.7 + 4.1);
    CHECK(us <= 98.7 + 3 * 4.1 + 0.1);
    CHECK((network == NetworkKind::packet) == (us > 98.7 + 4.2));  // it has slow start
  }
}

TEST_CASE("simulator: the wire's limit is the algorithm's least traffic over the link") {
  const Simulator simulator(open_pair({}).scenario());
  CHECK(simulator.wire_limit_us({"allreduce", {"ring"}, 2, 1_MB}) == doctest::Approx(80));
  CHECK(simulator.wire_limit_us({"allgather", {"ring"}, 2, 1_MB}) == doctest::Approx(40));
  CHECK(simulator.wire_limit_us({"bidirectional_bandwidth", {"bidirectional_bandwidth"}, 2, 1_MB}) == doctest::Approx(40));
  CHECK(simulator.wire_limit_us({"barrier", {"dissemination"}, 2, 0_B}) == 0);
}

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
  CHECK(problems_of([&] { usable(rows, simulator, {}); }) ==
        Lines{"f:2: 4 ranks on 2 nodes are 2 of each, but 8 GPUs of each are given: gpus must be those of a node that were measured"});
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
              "FILE:ranks=N or the scenario's ranks must say how many were measured"});
  for (Measurement& row : rows) row.told_ranks = RanksTold{1.87, 12, 20};
  CHECK(usable(rows, simulator, {}).points.size() == 2);
}

TEST_CASE("points: where a call took longer out of place than in place, beyond what is usual of the series, the other time is fitted to") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, powers_of_two(10, 15));
  for (Measurement& row : rows) row.other_buffer_us = 0.9 * row.time_us;
  rows[2].time_us *= 3;          // disturbed,
  rows[4].other_buffer_us *= 3;  // as was the other buffer here
  const UsedMeasurements used = usable(rows, simulator, {});
  REQUIRE(used.points.size() == 6);
  CHECK(used.points[2].measured.time_us == rows[2].time_us);
  CHECK(used.points[2].wanted_us() == doctest::Approx(rows[2].time_us / 3));
  for (const std::size_t i : {0, 1, 3, 4, 5}) CHECK(used.points[i].wanted_us() == doctest::Approx(rows[i].time_us));
  rows.resize(4);  // too few to say what is usual
  CHECK(usable(rows, simulator, {}).points[2].wanted_us() == rows[2].time_us);
}

TEST_CASE("points: latencies that the cables alone exceed are told once a file") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows;
  for (const double us : {0.7, 0.8, 1.2})
    rows.push_back(
        {.ranks = 2, .collective = "latency", .size_bytes = 1 + static_cast<std::int64_t>(rows.size()), .time_us = us, .where = "f:1"});
  const UsedMeasurements used = usable(rows, simulator, {});
  CHECK(used.points.size() == 3);
  CHECK(used.assumed == Lines{"f: has latencies below the 1 us that the scenario's cables alone take: give /fabric lower latencies"});
}

TEST_CASE("points: ranks that the file does not say are the scenario's, or those of its nodes, aloud") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {64, 1024});
  for (Measurement& row : rows) row.ranks = 0, row.where = "f:2";
  CHECK(usable(rows, simulator, {}).assumed ==
        Lines{"f: does not say how many ranks were measured; taken for the scenario's 2 (FILE:ranks=N,nodes=N says it)"});
  for (Measurement& row : rows) row.nodes = 32;
  const UsedMeasurements used = usable(rows, simulator, {});
  CHECK(used.assumed == Lines{"f: says how many nodes were measured, not how many ranks; taken for 1 of each node, as the scenario's "
                              "servers have GPUs"});
  CHECK(used.points.front().setup.ranks == 32);
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

TEST_CASE("points: a matrix of pairs is measured between the GPUs that it names") {
  Scenario s = open_pair({}).scenario();
  s.server = server_preset("single_nic");  // two GPUs below each of two PCIe switches, 10 GB/s between the sockets
  Simulator simulator(s);
  std::vector<Measurement> rows(2, {.ranks = 2, .collective = "bandwidth", .size_bytes = 160'000'000, .time_us = 1e6, .where = "f:1"});
  rows[0].from = 0, rows[0].to = 1, rows[1].from = 0, rows[1].to = 3;
  const UsedMeasurements used = usable(rows, simulator, {.hold_out = false});
  REQUIRE(used.points.size() == 2);
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

TEST_CASE("points: the floor is what log-log interpolation between the fitted sizes misses") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {1024, 4096, 16384, 65536});
  rows[0].time_us = 10, rows[1].time_us = 25, rows[2].time_us = 40, rows[3].time_us = 80;
  // Between 10 and 40 us the middle is 20 us, 20 % below 25 us; the last size lies between none.
  const ErrorSummary floor = interpolation_error(usable(rows, simulator, {}).points);
  CHECK(floor.points == 1);
  CHECK(floor.median == doctest::Approx(0.2));
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
  rows.push_back(rows.front());
  rows.back().algorithm = "mystery", rows.back().where = "f:7";
  rows.push_back(rows.front());
  rows.back().ranks = 1, rows.back().where = "f:8";
  const UsedMeasurements used = usable(rows, simulator, {});
  REQUIRE(used.points.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(used.points[i].measured.size_bytes == std::int64_t{16} << i);
    CHECK(used.points[i].fitted == (i % 2 == 0));
  }
  CHECK(used.left_out ==
        Lines{"f:7: mystery of allreduce is no algorithm of Weft's; name one with --rename", "f:8: one rank has nobody to talk to"});
}

TEST_CASE("points: a measurement faster than the wire allows is refused, with the reason") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on({}, {1'000'000});
  rows[0].time_us = 40, rows[0].where = "f:3";
  CHECK(problems_of([&] { usable(rows, simulator, {}); }) ==
        Lines{"f:3: 1000000 bytes in 40 us is faster than the scenario's wire allows, 80 us at least without aggregation in the network"});
}

TEST_CASE("errors are summarised by median and the 95th percentile, nearest rank") {
  const ErrorSummary e = summarise({-0.1, 0.3, 0.2, -0.05});
  CHECK(e.points == 4);
  CHECK(e.median == doctest::Approx(0.15));
  CHECK(e.p95 == doctest::Approx(0.3));
  CHECK(summarise({}).points == 0);
}

TEST_CASE("fit: the profile that made the measurements is found again, a protocol switch included") {
  HardwareProfile truth;
  truth.send_overhead = 6_us;
  truth.rendezvous = 12_us;
  truth.rendezvous_threshold = 32_KiB;
  truth.wire_efficiency = 0.8;
  truth.eager_efficiency = 0.5;
  const OpenScenario open = open_pair({"send_overhead", "rendezvous", "rendezvous_threshold", "wire_efficiency", "eager_efficiency"});
  Simulator simulator(open.scenario());
  const UsedMeasurements used = usable(measured_on(truth, powers_of_two(3, 27)), simulator, {});
  const FitResult result = fit(open, used.points, {});
  CHECK(result.held_out.p95 < 0.02);
  CHECK(named(result, "send_overhead").value == doctest::Approx(6e6).epsilon(0.03));
  CHECK(named(result, "rendezvous").value == doctest::Approx(12e6).epsilon(0.05));
  CHECK(named(result, "wire_efficiency").value == doctest::Approx(0.8).epsilon(0.02));
  CHECK(named(result, "eager_efficiency").value == doctest::Approx(0.5).epsilon(0.05));
  CHECK(named(result, "rendezvous_threshold").value > 16'384);
  CHECK(named(result, "rendezvous_threshold").value <= 32'768 * 1.01);
  CHECK(result.cross_validated.median < 0.02);
}

TEST_CASE("fit: protocols that a network does not allow are found, though leaving out either of them alone fits no better") {
  const ScratchFolder folder;
  std::string text = pair_scenario;
  text.replace(text.find("\"ring\""), 6, "\"nccl\"");
  const OpenScenario open(folder.file("pair.json", text), {},
                          {"nccl_base", "ll_hops", "ll128_hops", "simple_hops", "ll_bias", "ll128_bias"});
  Simulator simulator(open.scenario());
  HardwareProfile truth;
  truth.ll_bias = truth.ll128_bias = 0;
  std::vector<FitPoint> points;
  for (const std::int64_t size : powers_of_two(3, 20)) {
    FitPoint point{.measured = {.ranks = 2, .collective = "allreduce", .size_bytes = size},
                   .setup = {"allreduce", parse_algorithm("nccl"), 2, Bytes{size}}};
    point.measured.time_us = simulator.time_us(point.setup, truth);
    points.push_back(point);
  }
  const FitResult result = fit(open, points, {.folds = 0, .starts = 1, .budget = 8'000'000});
  CHECK(named(result, "ll_bias").value <= 0.5);  // as it is, NCCL takes LL
  CHECK(named(result, "simple_hops").value == doctest::Approx(1).epsilon(0.1));
  CHECK(result.fitted.p95 < 0.05);
}

TEST_CASE("fit: where costs by size make no call as fast as it was measured, NCCL chose otherwise") {
  // A ring over these two servers takes 5.3 ms for 128 MiB, whatever a call costs; 3.9 ms were measured, and trees take 3.6 ms.
  const auto data = shipped("validation") / "data" / "aws_efa_nccl";
  const OpenScenario open(data / "p4de.json", {}, {"tree_bias", "cost_by_size"});
  Simulator simulator(open.scenario());
  const Measurements read = read_measurements(data / "allreduce.csv", {.select = RowSelection{.system = "p4de"}});
  const UsedMeasurements used = usable(read.rows, simulator, {});
  const FitResult result = fit(open, used.points, {.folds = 0, .starts = 1});
  for (std::size_t i = 0; i < used.points.size(); ++i)
    if (const Measurement& m = used.points[i].measured; m.size_bytes == 128 << 20)
      CHECK(result.simulated_us[i] == doctest::Approx(m.time_us).epsilon(0.05));
  CHECK(result.held_out.p95 < 0.3);
}

TEST_CASE("fit: the same seed gives the same answer") {
  HardwareProfile truth;
  truth.send_overhead = 3_us;
  const OpenScenario open = open_pair({"send_overhead", "wire_efficiency"});
  Simulator simulator(open.scenario());
  const UsedMeasurements used = usable(measured_on(truth, powers_of_two(3, 20)), simulator, {});
  const FitResult a = fit(open, used.points, {.folds = 0}), b = fit(open, used.points, {.folds = 0});
  CHECK(a.simulated_us == b.simulated_us);
  CHECK(a.parameters[0].value == b.parameters[0].value);
}

TEST_CASE("fit: it ends where what it may simulate is spent, and says what it left out") {
  HardwareProfile truth;
  truth.send_overhead = 3_us;
  const OpenScenario open = open_pair({"send_overhead", "wire_efficiency"});
  Simulator simulator(open.scenario());
  const UsedMeasurements used = usable(measured_on(truth, powers_of_two(4, 24)), simulator, {});
  const auto told = [&](std::int64_t budget) {
    Lines out;
    fit(open, used.points, {.folds = 2, .starts = 3, .budget = budget, .say = [&](const std::string& line) { out.push_back(line); }});
    std::erase_if(out, [](const std::string& line) { return line.find("left out") == std::string::npos; });
    return out;
  };
  CHECK(told(FitOptions{}.budget).empty());
  CHECK(told(1) == Lines{"starts after 1 are left out: what a fit may simulate is spent",
                         "cross-validation is left out: what a fit may simulate is spent"});
}

TEST_CASE("fit: what the data cannot determine stays as it was, or as is usual of hosts, and is said so") {
  HardwareProfile truth;
  truth.send_overhead = 5_us;
  // Small messages only: neither the wire nor the threshold show, and sender and receiver cannot be told apart.
  const OpenScenario open = open_pair({"send_overhead", "receive_overhead", "wire_efficiency", "rendezvous"});
  Simulator simulator(open.scenario());
  const UsedMeasurements used = usable(measured_on(truth, powers_of_two(3, 10)), simulator, {});
  const FitResult result = fit(open, used.points, {.folds = 0});
  CHECK(!named(result, "wire_efficiency").determined);
  CHECK(named(result, "wire_efficiency").value == 0.9);
  CHECK(!named(result, "rendezvous").determined);
  CHECK(!named(result, "rendezvous").usual);
  CHECK(named(result, "wire_efficiency").usual);
  CHECK(named(result, "send_overhead").determined != named(result, "receive_overhead").determined);
  CHECK(result.held_out.p95 < 0.01);
}

TEST_CASE("fit: a time of the scenario, by pointer") {
  const ScratchFolder folder;
  const OpenScenario open(folder.file("pair.json", pair_scenario), {}, {"/fabric/host_link/latency"});
  Simulator simulator(open.scenario());
  std::vector<Measurement> rows = measured_on({}, powers_of_two(3, 10));
  for (Measurement& row : rows) row.time_us += 4;  // two steps, two cables: 1 us more for each
  const FitResult result = fit(open, usable(rows, simulator, {}).points, {.folds = 0});
  CHECK(result.parameters[0].value == doctest::Approx(1.5e6).epsilon(0.02));
}

TEST_CASE("fit: links of one kind have one value, found from a matrix of pairs") {
  const ScratchFolder folder;
  const auto file = folder.file("pair.json", pair_scenario);
  const std::vector<Setting> settings = {parse_setting("/server=single_nic")};
  const OpenScenario open(file, settings, {"/server/links/*/bandwidth"});
  Lines names;
  for (const FitParameter& p : open.parameters()) names.push_back(p.name);
  CHECK(names == Lines{"/server/links/*/bandwidth (socket to socket)", "/server/links/*/bandwidth (pcie_switch to socket)",
                       "/server/links/*/bandwidth (gpu to pcie_switch)", "/server/links/*/bandwidth (nic to pcie_switch)"});
  CHECK(open.parameters()[2].places.size() == 4);
  // Measured: 8 GB/s below a switch, 5 GB/s from socket to socket.
  std::vector<Measurement> rows;
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      if (from != to)
        rows.push_back({.ranks = 2,
                        .collective = "bandwidth",
                        .from = from,
                        .to = to,
                        .size_bytes = 160'000'000,
                        .time_us = from / 2 == to / 2 ? 20'000.0 : 32'000.0,
                        .where = "f:1"});
  Simulator simulator(open.scenario());
  const FitResult result = fit(open, usable(rows, simulator, {.hold_out = false}).points, {.folds = 0, .starts = 2});
  CHECK(result.parameters[2].value == doctest::Approx(64e9).epsilon(0.01));
  CHECK(result.fitted.p95 < 0.01);
}

TEST_CASE("fit: of a matrix of pairs one copy at a time is on its way each way, and a star stands for the links that have the value") {
  const ScratchFolder folder;
  const auto file = folder.file("pair.json", pair_scenario);
  const std::vector<Setting> settings = {parse_setting(
      R"(/server={"preset": "single_nic", "policy": "pcie_upi", "links": [{"from": "socket0", "to": "socket1", "bandwidth": "10GBps", "contention": {"duplex_rate": "8GBps"}}]})")};
  const OpenScenario open(file, settings, {"/server/links/*/contention/duplex_rate"});
  REQUIRE(open.parameters().size() == 1);
  CHECK(open.parameters()[0].places.size() == 1);
  Simulator simulator(open.scenario());
  const MeasuredSetup one_way{.collective = "bandwidth", .algorithm = {}, .ranks = 2, .size = 160_MB, .from = 0, .to = 2, .window = 1};
  MeasuredSetup both_ways = one_way;
  both_ways.collective = "bidirectional_bandwidth";
  // 160 MB at 10 GB/s; both ways at once 8 GB/s each, of which a message's share is half of the time.
  CHECK(simulator.time_us(one_way, {}) == doctest::Approx(16'000).epsilon(0.001));
  CHECK(simulator.time_us(both_ways, {}) == doctest::Approx(10'000).epsilon(0.001));
}

TEST_CASE("fit: what a ring does not tell of its wire and its reductions is as hosts have it") {
  // A byte of the message takes 7/8 (2 / wire + 1 / reductions): any wire from 0.57 to 1 of 100 Gb/s goes with some rate of reductions.
  HardwareProfile truth;
  truth.wire_efficiency = 0.8;
  truth.reduce_rate_beyond_cache = 100_Gbps;
  truth.reduce_cache = 1_MiB;
  truth.reduce_rate = 400_Gbps;
  const ScratchFolder folder;
  const auto file = folder.file("star.json", star_scenario(8));
  const OpenScenario open(file, {}, {"wire_efficiency", "reduce_rate", "reduce_cache", "reduce_rate_beyond_cache"});
  Simulator simulator(open.scenario());
  std::vector<Measurement> rows;
  for (int power = 20; power < 27; ++power) {
    const MeasuredSetup setup{.collective = "allreduce", .algorithm = {"ring"}, .ranks = 8, .size = Bytes{1LL << power}};
    rows.push_back({.ranks = 8,
                    .collective = "allreduce",
                    .algorithm = "ring",
                    .size_bytes = 1LL << power,
                    .time_us = simulator.time_us(setup, truth),
                    .where = "f:1"});
  }
  const FitResult result = fit(open, usable(rows, simulator, {.hold_out = false}).points, {.folds = 0});
  CHECK(result.fitted.median < 0.02);
  CHECK(result.fitted.p95 < 0.05);
  CHECK(result.parameters[0].value == doctest::Approx(0.8).epsilon(0.15));
  CHECK(result.parameters[3].value == doctest::Approx(100e9).epsilon(0.6));
}

TEST_CASE("fit: a wrong pointer with a star is told") {
  const ScratchFolder folder;
  const auto file = folder.file("pair.json", pair_scenario);
  CHECK(problems_of([&] { OpenScenario(file, {}, {"/fabric/links/*/latency"}); }) ==
        Lines{"--fit /fabric/links/*/latency: there is nothing at this place of the scenario; `weft show` prints what is"});
}

TEST_CASE("fit: what would go beyond its bound is reported at the bound") {
  HardwareProfile truth;
  truth.wire_efficiency = 0.5;
  const OpenScenario open = open_pair({"wire_efficiency"});
  Simulator simulator(open.scenario());
  std::vector<Measurement> rows = measured_on(truth, powers_of_two(16, 24));
  for (Measurement& row : rows) row.time_us *= 15;  // 3 % of the wire, where 5 % is the least
  const FitResult result = fit(open, usable(rows, simulator, {}).points, {.folds = 0, .starts = 1});
  CHECK(result.parameters[0].at_bound);
  CHECK(result.parameters[0].value == doctest::Approx(0.05));
}

TEST_CASE("fit: starts of other draws come to the same") {
  HardwareProfile truth;
  truth.send_overhead = 4_us, truth.rendezvous = 9_us, truth.rendezvous_threshold = 64_KiB, truth.wire_efficiency = 0.7;
  const OpenScenario open = open_pair({"send_overhead", "rendezvous", "rendezvous_threshold", "wire_efficiency"});
  Simulator simulator(open.scenario());
  const FitResult result = fit(open, usable(measured_on(truth, powers_of_two(3, 25)), simulator, {}).points, {.folds = 0});
  CHECK(result.spread.starts == 4);
  CHECK(result.spread.most_median < 0.02);
}

TEST_CASE("fit: names that are no parameter are refused, all at once") {
  const ScratchFolder folder;
  const auto file = folder.file("pair.json", pair_scenario);
  CHECK(problems_of([&] { OpenScenario(file, {}, {"send_overhed", "first_use", "first_use"}); }).size() == 3);
  CHECK(problems_of([&] { OpenScenario(file, {}, {"send_overhed"}); })
            .front()
            .starts_with("--fit: unknown parameter \"send_overhed\" (did you mean \"send_overhead\"?)"));
  CHECK(problems_of([&] { OpenScenario(file, {}, {"/fabric/nodes"}); }) ==
        Lines{"--fit /fabric/nodes: only times and rates can be fitted, this is 2"});
  CHECK(problems_of([&] { OpenScenario(file, {}, {"/fabric/nothing"}); }) ==
        Lines{"--fit /fabric/nothing: there is nothing at this place of the scenario; `weft show` prints what is"});
}

TEST_CASE("fit: copies of short messages, the handshake of long ones and the sender's part are found from latencies and bandwidths") {
  const HardwareProfile truth{
      .send_overhead = 1_us, .wire_efficiency = 0.8, .eager_copy_rate = 40_Gbps, .handshake = 12_us, .sender_share = 0.5};
  const OpenScenario open = open_pair({"send_overhead", "wire_efficiency", "eager_copy_rate", "handshake", "sender_share"});
  Simulator simulator(open.scenario());
  const FitResult result = fit(open, usable(messages_on(truth, simulator), simulator, {}).points, {.folds = 0, .starts = 2});
  CHECK(result.held_out.p95 < 0.03);
  CHECK(named(result, "send_overhead").value == doctest::Approx(1e6).epsilon(0.05));
  CHECK(named(result, "eager_copy_rate").value == doctest::Approx(40e9).epsilon(0.2));
  CHECK(named(result, "handshake").value == doctest::Approx(12e6).epsilon(0.2));
  CHECK(named(result, "sender_share").value == doctest::Approx(0.5).epsilon(0.1));
}

TEST_CASE("fit: what the stages of one message do one behind the other is told from the wire by messages behind one another") {
  const HardwareProfile truth{.send_overhead = 1_us, .wire_efficiency = 0.8, .unpipelined_rate = 60_Gbps};
  const OpenScenario open = open_pair({"send_overhead", "wire_efficiency", "unpipelined_rate"});
  Simulator simulator(open.scenario());
  const FitResult result = fit(open, usable(messages_on(truth, simulator), simulator, {}).points, {.folds = 0, .starts = 2});
  CHECK(named(result, "unpipelined_rate").value == doctest::Approx(60e9).epsilon(0.05));
  CHECK(named(result, "wire_efficiency").value == doctest::Approx(0.8).epsilon(0.05));
}

TEST_CASE("fit: what hosts do of MPI's protocols is fitted by default where it was measured") {
  const MeasuredSetup latency{.collective = "latency", .algorithm = {"latency"}, .ranks = 2, .size = 1_KiB, .nodes = 2};
  MeasuredSetup bandwidth = latency, ring{.collective = "allreduce", .algorithm = {"ring"}, .ranks = 8, .size = 1_KiB, .nodes = 8};
  bandwidth.collective = "bandwidth";
  const auto fits = [](const std::vector<MeasuredSetup>& measured, const char* name) {
    return std::ranges::count(default_parameters(measured), name) == 1;
  };
  CHECK(fits({latency}, "handshake"));
  CHECK_FALSE(fits({latency}, "sender_share"));
  CHECK(fits({latency, bandwidth}, "sender_share"));
  CHECK_FALSE(fits({latency}, "unpipelined_rate"));  // which a latency does not tell from the wire
  CHECK(fits({latency, bandwidth}, "unpipelined_rate"));
  CHECK_FALSE(fits({latency, bandwidth}, "initial_copies"));
  CHECK(fits({ring}, "initial_copies"));
  CHECK_FALSE(fits({ring}, "page_fault_rate"));
  ring.size = 64_MiB;
  CHECK(fits({ring}, "page_fault_rate"));
  ring.nodes = 1;  // within one server there is no library's buffer
  CHECK_FALSE(fits({ring}, "eager_copy_rate"));
}

TEST_CASE("fit: what a process takes to launch for each of its GPUs is found where it launches for several") {
  HardwareProfile truth;
  truth.process_launch = 20_us;
  Simulator simulator(open_pair({}).scenario());
  std::vector<FitPoint> points;
  for (const std::int64_t size : powers_of_two(3, 27)) {
    FitPoint p{.measured = {},
               .setup = {.collective = "allreduce", .algorithm = {"nccl"}, .ranks = 2, .size = Bytes{size}, .gpus_of_a_process = 2}};
    p.measured.size_bytes = size;
    p.measured.time_us = simulator.time_us(p.setup, truth);
    points.push_back(std::move(p));
  }
  CHECK(points.front().measured.time_us == 40);
  std::vector<std::string> names = default_parameters({points.front().setup});
  CHECK(std::ranges::count(names, "process_launch") == 1);
  CHECK(named(fit(open_pair(names), points, {}), "process_launch").value == doctest::Approx(20e6).epsilon(0.02));
  MeasuredSetup alone = points.front().setup;
  alone.gpus_of_a_process = 1;
  CHECK(std::ranges::count(default_parameters({alone}), "process_launch") == 0);
}

TEST_CASE("fit: what one connection carries is found from measurements that it holds back") {
  const HardwareProfile truth{.send_overhead = 6_us, .stream_rate = 33_Gbps};
  const OpenScenario open = open_pair({"send_overhead", "stream_rate"});
  Simulator simulator(open.scenario());
  const FitResult result = fit(open, usable(measured_on(truth, powers_of_two(3, 27)), simulator, {}).points, {});
  CHECK(named(result, "stream_rate").value == doctest::Approx(33e9).epsilon(0.03));
  CHECK(result.held_out.p95 < 0.02);
}
