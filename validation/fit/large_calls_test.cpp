#include "validation/fit/large_calls.hpp"

#include "sim/cases/cases.hpp"
#include "validation/fit/simulator.hpp"
#include "validation/measurements/renames.hpp"
#include "validation/testing.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

using namespace weft;

namespace {

Simulator simulator_on(const std::string& fabric, std::int64_t max_messages, const std::string& server = "\"sub_node\"") {
  const ScratchFolder folder;
  const std::vector<Setting> settings = {parse_setting("/fabric=" + fabric), parse_setting("/server=" + server)};
  Simulator out(load_cases(folder.file("large.json", pair_scenario), settings).front().scenario);
  out.tell_beyond(max_messages);
  return out;
}

const std::string star_of_128 = R"({"type": "star", "nodes": 128, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})";
const std::string tree_of_128 =
    R"({"type": "fat_tree", "leaves": 16, "nodes_per_leaf": 8, "spines": 4, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})";

HardwareProfile some_costs() {
  HardwareProfile out;
  out.send_overhead = out.receive_overhead = 1_us;
  out.wire_efficiency = 0.9;
  out.eager_threshold = 8_KiB;
  out.reduce_rate = BitsPerSecond{200'000'000'000};
  return out;
}

// How far a call may be off, on a star and on a fat tree.
struct Bounded {
  const char* collective;
  const char* algorithm;
  double on_star, on_tree;
};
constexpr Bounded of_mpi[] = {{"allreduce", "ring", 0.01, 0.01},
                              {"allreduce", "halving_doubling", 0.01, 0.03},
                              {"allreduce", "recursive_doubling", 0.01, 0.13},
                              {"allreduce", "double_binary_tree(pieces=32)", 0.14, 0.1},
                              {"allreduce", "two_level(group=4)", 0.01, 0.07},
                              {"allreduce", "hierarchical_ring(group=4)", 0.01, 0.02},
                              {"allgather", "ring", 0.01, 0.01},
                              {"allgather", "bruck", 0.03, 0.1},
                              {"broadcast", "binomial_tree", 0.01, 0.07},
                              {"broadcast", "chain(pieces=64)", 0.01, 0.01},
                              {"broadcast", "binary_tree(pieces=64)", 0.01, 0.01},
                              {"broadcast", "scatter_allgather", 0.18, 0.04},
                              {"reduce", "binary_tree(pieces=64)", 0.01, 0.06},
                              {"reduce_scatter", "halving_doubling", 0.01, 0.06},
                              {"alltoall", "pairwise", 0.01, 0.04},
                              {"alltoall", "direct", 0.01, 0.04}};

// Told over simulated, less 1.
double off(Simulator& simulator, MeasuredSetup e, int of_each_node, const HardwareProfile& hardware) {
  e.nodes = e.ranks / of_each_node, e.of_each_node = of_each_node;
  REQUIRE(simulator.is_told(e, hardware));
  return std::abs(simulator.told_us(e, hardware) / simulator.time_us(e, hardware) - 1);
}

}  // namespace

TEST_CASE(
    "large calls: told from smaller ones they are right to a percent where all ways are alike, to a tenth where switches are shared") {
  Simulator star = simulator_on(star_of_128, 100), tree = simulator_on(tree_of_128, 100);
  for (const Bounded& b : of_mpi)
    for (const std::int64_t size : {1 << 10, 1 << 16, 1 << 22, 1 << 26}) {
      CAPTURE(b.algorithm);
      CAPTURE(size);
      const MeasuredSetup e{b.collective, parse_algorithm(b.algorithm), 128, Bytes{size}};
      CHECK(off(star, e, 1, some_costs()) < b.on_star);
      CHECK(off(tree, e, 1, some_costs()) < b.on_tree);
    }
}

TEST_CASE("large calls: so is the mean of what broadcasts and reduces take each rank") {
  Simulator star = simulator_on(star_of_128, 100), tree = simulator_on(tree_of_128, 100);
  for (const auto& b : of_mpi)
    for (const std::int64_t size : {1 << 10, 1 << 16, 1 << 22, 1 << 26}) {
      if (std::string_view(b.collective) != "broadcast" && std::string_view(b.collective) != "reduce") continue;
      CAPTURE(b.algorithm);
      CAPTURE(size);
      MeasuredSetup e{b.collective, parse_algorithm(b.algorithm), 128, Bytes{size}};
      e.mean_of_ranks = true;
      CHECK(off(star, e, 1, some_costs()) < b.on_star);
      CHECK(off(tree, e, 1, some_costs()) < b.on_tree);
    }
}

TEST_CASE("large calls: what fits into a cache is the whole call's message, not that of the smaller ones") {
  Simulator star = simulator_on(star_of_128, 100), hosts = simulator_on(star_of_128, 100, R"({"preset": "cpu_host", "cores": 4})");
  HardwareProfile costs = some_costs();
  costs.reduce_cache = costs.last_level_cache = 32_MiB;
  costs.reduce_rate_beyond_cache = costs.reduce_rate_in_memory = BitsPerSecond{20'000'000'000};
  costs.copy_rate = BitsPerSecond{100'000'000'000}, costs.copy_rate_beyond_cache = BitsPerSecond{30'000'000'000};
  costs.initial_copies = 1;
  for (const std::int64_t size : {24 << 20, 40 << 20, 64 << 20, 256 << 20}) {
    CAPTURE(size);
    const MeasuredSetup e{"allreduce", parse_algorithm("ring"), 128, Bytes{size}};
    CHECK(off(star, e, 1, costs) < 0.01);
    CHECK(off(hosts, e, 4, costs) < 0.03);
  }
}

TEST_CASE("large calls: so are NCCL's rings, trees, NVLS trees and all-to-alls") {
  Simulator servers =
      simulator_on(R"({"type": "star", "nodes": 32, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})", 1000, "\"dgx_h100\"");
  for (const char* algorithm : {"nccl(algorithm=ring)", "nccl(algorithm=tree)", "nccl(algorithm=nvls_tree)", "alltoall"})
    for (const std::int64_t size : {1 << 13, 1 << 20, 1 << 26}) {
      CAPTURE(algorithm);
      CAPTURE(size);
      const bool all_to_all = std::string_view(algorithm) == "alltoall";
      const MeasuredSetup e{all_to_all ? "alltoall" : "allreduce", parse_algorithm(all_to_all ? "nccl" : algorithm), 256, Bytes{size}};
      CHECK(off(servers, e, 8, {}) < 0.03);
    }
}

TEST_CASE("large calls: what has few messages, or nothing that could be fewer, is simulated") {
  Simulator star = simulator_on(star_of_128, 1'000'000);
  MeasuredSetup e{"allreduce", {"ring"}, 128, 1_MB};
  e.nodes = 128, e.of_each_node = 1;
  CHECK_FALSE(star.is_told(e, {}));
  CHECK(star.told_us(e, {}) == star.time_us(e, {}));
  star = simulator_on(star_of_128, 10);
  e.ranks = e.nodes = 4;
  CHECK_FALSE(star.is_told(e, {}));
}

TEST_CASE("large calls: all calls are simulated where they have few messages together, else the largest are told until a quarter is left") {
  CHECK(max_messages_of_a_call({{100, 2}, {50, 1}}, 250) == std::numeric_limits<std::int64_t>::max());
  CHECK(max_messages_of_a_call({{1000, 1}, {10, 1}}, 400) == 90);  // 90 + 10 are a quarter of 400
}
