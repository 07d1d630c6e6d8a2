#include "validation/fit/simulator.hpp"

#include "sim/cases/cases.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/files/shipped.hpp"
#include "sim/scenario/algorithms.hpp"
#include "validation/fit/testing.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Any cluster and anything beside the workload that a scenario can say.
std::vector<std::string> any_settings(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto one_of = [&](std::initializer_list<const char*> all) { return std::string(all.begin()[below(all.size())]); };
  std::vector<std::string> out = {
      one_of(
          {R"(/fabric={"type": "star", "nodes": 8, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})",
           R"(/fabric={"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 4, "spines": 1, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})",
           R"(/fabric={"type": "bigraph", "switches": 4, "nodes_per_switch": 2, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})"}),
      one_of({"/network=flow", "/network=flow", "/network=packet", "/network=simgrid"}),
      "/workload/algorithm=" + one_of({"ring", "halving_doubling", R"({"name": "ring", "channels": 2})"}),
      "/workload/ranks=" + one_of({"2", "4", "8"}),
      "/workload/size=" + one_of({"64KiB", "1MiB"}),
      "/placement=" + one_of({"linear", "random", "round_robin"}),
      "/hardware=" + one_of({"ideal", "eflops_simulator"})};
  const bool shared = out[1] != "/network=simgrid";
  if (below(2) == 0) out.emplace_back(R"(/start_skew={"max": "20us", "seed": 3})");
  if (below(2) == 0 && out[1] != "/network=simgrid" && out[0].find("bigraph") == std::string::npos)
    out.push_back("/server=" + one_of({"two_nic", "congestionless", "dgx_h100"}));
  if (out[1] == "/network=flow" && out.back().starts_with("/server")) out.emplace_back(R"(/copies=[{"gpus": [0], "bytes": "1MiB"}])");
  if (shared && below(2) == 0) out.emplace_back(R"(/traffic=[{"pattern": "permutation", "size": "256KiB"}])");
  if (shared && below(2) == 0 && out[3] != "/workload/ranks=8")
    out.emplace_back(R"(/jobs=[{"ranks": 2, "size": "256KiB", "start": "5us"}])");
  if (shared && below(3) == 0) out.push_back("/workload/iterations=2");
  return out;
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

TEST_CASE("simulator: the least that NCCL takes is that of the fastest of its algorithms and protocols, whichever it would choose") {
  Scenario s = open_pair({}).scenario();
  s.server = server_preset("dgx_h100");
  s.fabric.spec = Star{.nodes = 2, .host_link = {400_Gbps, 500_ns}};
  Simulator simulator(s);
  MeasuredSetup e{.collective = "allreduce",
                  .algorithm = {.name = "nccl", .settings = {.channels = 0}},
                  .ranks = 16,
                  .size = 16_MiB,
                  .nodes = 2,
                  .of_each_node = 8};
  constexpr double any = 1e9, none = 0;  // microseconds that are enough
  const double least = simulator.least_us(e, none);
  CHECK(simulator.least_us(e, any) > least);  // what NCCL chooses is enough
  double fastest = any;
  for (const NcclAlgorithm pattern : {NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::nvls_tree})
    for (const NcclProtocol protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple}) {
      if (pattern == NcclAlgorithm::nvls_tree && protocol != NcclProtocol::simple) continue;
      e.algorithm.settings.nccl = pattern, e.algorithm.settings.protocol = protocol;
      fastest = std::min(fastest, simulator.least_us(e, none));
    }
  CHECK(least == doctest::Approx(fastest));
}

TEST_CASE("simulator: the wire's limit is the algorithm's least traffic over the link") {
  const Simulator simulator(open_pair({}).scenario());
  CHECK(simulator.wire_limit_us({"allreduce", {"ring"}, 2, 1_MB}) == doctest::Approx(80));
  CHECK(simulator.wire_limit_us({"allgather", {"ring"}, 2, 1_MB}) == doctest::Approx(40));
  CHECK(simulator.wire_limit_us({"bidirectional_bandwidth", {"bidirectional_bandwidth"}, 2, 1_MB}) == doctest::Approx(40));
  CHECK(simulator.wire_limit_us({"barrier", {"dissemination"}, 2, 0_B}) == 0);
}

TEST_CASE("simulator: an NVSwitch that adds spares traffic, but not on two GPUs, whose ring sends the message once") {
  const ScratchFolder folder;
  const auto file = folder.file("server.json", R"({"schema": 1, "name": "server", "server": "dgx_h100", "hardware": "ideal",
    "fabric": {"type": "star", "nodes": 1, "link": {"bandwidth": "400Gbps", "latency": "500ns"}},
    "workload": {"algorithm": "nccl", "size": "1MiB"}})");
  const Simulator simulator(load_cases(file, {}).front().scenario);
  const auto limit_us = [&](int ranks) { return simulator.wire_limit_us({"allreduce", {"nccl"}, ranks, 1_MB}); };
  CHECK(limit_us(8) / limit_us(2) == doctest::Approx(9.0 / 8));
  CHECK(limit_us(4) / limit_us(2) == doctest::Approx(5.0 / 4));
}

TEST_CASE("simulator: a measurement is told the time that weft run prints, to the picosecond, whatever the scenario says") {
  const ScratchFolder folder;
  const auto file = folder.file("any.json", star_scenario(8));
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    std::vector<Setting> settings;
    std::string said;
    for (const std::string& text : any_settings(random)) settings.push_back(parse_setting(text)), said += text + " ";
    CAPTURE(said);
    const Scenario s = load_cases(file, settings).front().scenario;
    const AlgorithmChoice& algorithm = s.workload.algorithms.front();
    const Bytes size = s.workload.sizes.front();
    const auto ran_ps = std::stoll(in_child([&] { return std::to_string(simulate(s, algorithm, size).time.ps); }));
    Simulator simulator(s);
    const MeasuredSetup setup{"allreduce", algorithm, s.workload.ranks, size};
    for (int again = 0; again < 2; ++again) CHECK(simulator.time_us(setup, s.hardware) == SimTime{ran_ps}.microseconds());
    HardwareProfile other = s.hardware;
    other.send_overhead += 3_us;
    Scenario slower = s;
    slower.hardware = other;
    const auto slower_ps = std::stoll(in_child([&] { return std::to_string(simulate(slower, algorithm, size).time.ps); }));
    CHECK(simulator.time_us(setup, other) == SimTime{slower_ps}.microseconds());
  }
}

namespace {

Scenario two_servers_of_eight() {
  const ScratchFolder folder;
  std::string text = pair_scenario;
  text.replace(text.find("\"workload\""), 0, "\"server\": \"dgx_a100\", ");
  text.replace(text.find("\"ring\""), 6, "\"nccl\"");
  return load_cases(folder.file("two.json", text), {}).front().scenario;
}

}  // namespace

TEST_CASE("simulator: nccl's calls of 2 to 16 ranks on servers of 8 GPUs are all simulated, though the scenario's ranks are 16") {
  Simulator simulator(two_servers_of_eight());
  std::vector<Measurement> rows;
  for (const int ranks : {2, 4, 8, 16}) {
    Measurement row{.system = "made", .ranks = ranks, .collective = "allreduce", .algorithm = {}, .size_bytes = 1 << 20};
    row.where = "made:1", row.time_us = 1000;
    rows.push_back(row);
  }
  // Two servers of which 4 GPUs each were measured.
  rows.push_back(rows.back()), rows.back().ranks = 8, rows.back().nodes = 2, rows.back().gpus = 4;
  const UsedMeasurements used = usable(rows, simulator, {});
  REQUIRE(used.points.size() == 5);
  for (const FitPoint& p : used.points) CHECK(simulator.time_us(p.setup, {}) > 10);
}

TEST_CASE("simulator: a scenario's own settings of nccl stay, those that follow from its servers do not") {
  Scenario s = two_servers_of_eight();
  const AlgorithmChoice open = without_server_defaults(s, s.workload.algorithms.front());
  CHECK(open.settings.group == 0);
  CHECK(open.settings.nics == 0);
  CHECK(open.settings.channels == 0);
  AlgorithmChoice own = s.workload.algorithms.front();
  own.settings.channels = 3, own.settings.channels_follow = false, own.settings.group = 4;
  CHECK(without_server_defaults(s, own).settings.channels == 3);
  CHECK(without_server_defaults(s, own).settings.group == 4);
}

TEST_CASE("simulator: about the time is within a few percent of it, whatever NCCL's factors are") {
  Simulator simulator(two_servers_of_eight());
  std::mt19937_64 random(3);
  const auto from_half_to_double = [&] { return std::exp2(static_cast<double>(random() % 2001) / 1000 - 1); };
  for (int round = 0; round < 12; ++round) {
    HardwareProfile hardware;
    hardware.nccl_base = from_half_to_double(), hardware.network_hops = from_half_to_double();
    hardware.ll_hops = hardware.ll128_hops = hardware.simple_hops = from_half_to_double();
    hardware.simple_efficiency = 0.5 * from_half_to_double(), hardware.ll_efficiency = 0.2 * from_half_to_double();
    const MeasuredSetup setup{"allreduce", {"nccl"}, 16, Bytes{std::int64_t{1} << (10 + 2 * (round % 6))}};
    CHECK(simulator.about_us(setup, hardware) == doctest::Approx(simulator.time_us(setup, hardware)).epsilon(0.05));
  }
}

TEST_CASE("simulator: about the times of chains with LL, whose threads take turns, take less than half of the work, of profiles alike") {
  Simulator exact(two_servers_of_eight()), about(two_servers_of_eight());
  std::mt19937_64 random(7);
  const auto from_1_to_2 = [&] { return std::exp2(static_cast<double>(random() % 1001) / 1000); };
  for (int round = 0; round < 240; ++round) {
    HardwareProfile hardware;
    hardware.network_hops = from_1_to_2(), hardware.ll_hops = from_1_to_2(), hardware.ll_efficiency = 0.5 * from_1_to_2();
    const MeasuredSetup setup{"broadcast", parse_algorithm("nccl(protocol=ll)"), 16, Bytes{1 << (16 + 2 * (round % 3))}};
    CHECK(about.about_us(setup, hardware) == doctest::Approx(exact.time_us(setup, hardware)).epsilon(0.05));
  }
  CHECK(about.work() < exact.work() / 2);
}

TEST_CASE("simulator: about the time follows what NVSwitches give between servers") {
  const ScratchFolder folder;
  const auto file = folder.file("racks.json", R"({"schema": 1, "name": "racks", "server": "gb200_nvl72", "hardware": "ideal",
    "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "400Gbps", "latency": "500ns"}},
    "workload": {"algorithm": "nccl", "size": "1MiB"}})");
  Simulator simulator(load_cases(file, {}).front().scenario);
  const MeasuredSetup setup{"allreduce", {"nccl"}, 144, 4_GiB};
  const auto time_us = [&](double nvls) { return simulator.time_us(setup, {.nvls_efficiency = nvls}); };
  const auto about_us = [&](double nvls) { return simulator.about_us(setup, {.nvls_efficiency = nvls}); };
  CHECK(about_us(0.85) == doctest::Approx(time_us(0.85)).epsilon(0.05));
  CHECK(about_us(0.5) == doctest::Approx(time_us(0.5)).epsilon(0.05));
  CHECK(time_us(0.5) / time_us(0.85) == doctest::Approx(1.7).epsilon(0.05));  // NVLinks are slower than a NIC for each GPU
}

TEST_CASE("simulator: about the time of a call of no bytes is its time") {
  Simulator simulator(two_servers_of_eight());
  const MeasuredSetup setup{"allreduce", {"nccl"}, 16, 0_B};
  CHECK(simulator.about_us(setup, {}) == doctest::Approx(simulator.time_us(setup, {})).epsilon(0.05));
}

TEST_CASE("simulator: about the times of a ring over many servers take less than half of the work") {
  Simulator exact(two_servers_of_eight()), about(two_servers_of_eight());
  std::mt19937_64 random(5);
  const auto from_half_to_double = [&] { return std::exp2(static_cast<double>(random() % 2001) / 1000 - 1); };
  for (int round = 0; round < 24; ++round) {
    HardwareProfile hardware;
    hardware.network_hops = from_half_to_double(), hardware.simple_hops = from_half_to_double();
    hardware.simple_efficiency = 0.5 * from_half_to_double();
    MeasuredSetup setup{"allreduce", parse_algorithm("nccl(algorithm=ring,protocol=simple)"), 96, Bytes{1 << (20 + 2 * (round % 3))}};
    setup.nodes = 12, setup.of_each_node = 8;
    CHECK(about.about_us(setup, hardware) > 0);
    CHECK(exact.time_us(setup, hardware) > 0);
  }
  CHECK(about.work() < exact.work() / 2);
}

// A chain of n ranks on a star, two cables and S / B a hop: n-1 hops for one call. Behind one another calls end a hop apart; of 20 the mean
// over the ranks, of which the last ends n-2 hops later than the first, is a hop + (n-2) hops / (2 x 20). The root ends them a hop apart,
// if it is the one that sends, and the last of all, if it is the one that has the sum.
TEST_CASE("simulator: a broadcast that was measured back to back takes the time of a stage of its chain, one alone that of the chain") {
  const ScratchFolder folder;
  Simulator simulator(load_cases(folder.file("star.json", star_scenario(16)), {}).front().scenario);
  const double hop_us = 2 * 0.5 + 1e6 * 8 / 100e9 * 1e6;
  MeasuredSetup e{.collective = "broadcast", .algorithm = parse_algorithm("chain(pieces=1)"), .ranks = 16, .size = 1_MB};
  CHECK(simulator.time_us(e, {}) == doctest::Approx(15 * hop_us));
  e.back_to_back = 20;
  CHECK(simulator.time_us(e, {}) == doctest::Approx(hop_us * (1 + 14 / 40.0)));
  e.of_rank_0 = true;
  CHECK(simulator.time_us(e, {}) == doctest::Approx(hop_us));
  e.collective = "reduce";
  CHECK(simulator.time_us(e, {}) == doctest::Approx(hop_us * (1 + 14 / 20.0)));
  e.collective = "allreduce", e.algorithm = {"ring"};
  const double back_to_back_us = simulator.time_us(e, {});
  e.back_to_back = 1;
  CHECK(simulator.time_us(e, {}) == back_to_back_us);
}

TEST_CASE("simulator: what a call costs by itself excuses no bad choice of NCCL's for broadcasts back to back, which do not feel it") {
  Simulator simulator(load_cases(shipped("validation/data/abci2_nccl/a100.json"), {}).front().scenario);
  HardwareProfile slow_ll128, with_overhead;
  slow_ll128.ll128_efficiency = 0.1;  // NCCL counts on 0.92 and chooses it
  with_overhead = slow_ll128;
  with_overhead.call_overhead = 1_ms;
  MeasuredSetup e{.collective = "broadcast", .algorithm = {"nccl"}, .ranks = 8, .size = 1_MiB, .nodes = 1, .of_each_node = 8};
  const auto regrets = [&] { return std::pair{simulator.regret(e, slow_ll128), simulator.regret(e, with_overhead)}; };
  CHECK(regrets().first > 0.2);
  CHECK(regrets().second < 0.1 * regrets().first);
  e.back_to_back = 100;
  CHECK(regrets().first > 0.2);
  CHECK(regrets().second == regrets().first);
}

// Of that chain rank r has all after r hops, and the root is free after the one to its neighbour's first cable: the bytes' time.
TEST_CASE("simulator: the mean of what a broadcast takes each rank is less than what it takes the last") {
  const ScratchFolder folder;
  Simulator simulator(load_cases(folder.file("star.json", star_scenario(16)), {}).front().scenario);
  const double hop_us = 2 * 0.5 + 1e6 * 8 / 100e9 * 1e6;
  MeasuredSetup e{.collective = "broadcast", .algorithm = parse_algorithm("chain(pieces=1)"), .ranks = 16, .size = 1_MB};
  const double all_us = simulator.time_us(e, {});
  e.mean_of_ranks = true;
  const double sent_on_us = hop_us - 2 * 0.5;  // what a rank is busy with after it has received
  CHECK(simulator.time_us(e, {}) == doctest::Approx((15 * 16 / 2 * hop_us + 15 * sent_on_us) / 16).epsilon(0.02));
  CHECK(all_us == doctest::Approx(15 * hop_us));
}

TEST_CASE("simulator: calls come no faster than one process launches the kernels of its GPUs") {
  const ScratchFolder folder;
  Simulator simulator(load_cases(folder.file("star.json", star_scenario(8)), {}).front().scenario);
  MeasuredSetup e{.collective = "allreduce", .algorithm = {"ring"}, .ranks = 8, .size = 8_B};
  const double alone_us = simulator.time_us(e, {});
  CHECK(alone_us == doctest::Approx(14).epsilon(0.01));  // 2 (n-1) steps over two cables of 0.5 us
  e.gpus_of_a_process = 8;
  CHECK(simulator.time_us(e, {}) == doctest::Approx(8 * 4.4));
  CHECK(simulator.about_us(e, {}) == doctest::Approx(8 * 4.4));
  CHECK(simulator.least_us(e, 0) == alone_us);  // a faster one is not refused
  HardwareProfile faster;
  faster.process_launch = 3_us;
  CHECK(simulator.time_us(e, faster) == doctest::Approx(24));
  e.size = 64_MB;
  const double large_us = simulator.time_us(e, {});
  e.gpus_of_a_process = 1;
  CHECK(simulator.time_us(e, {}) == large_us);
}
