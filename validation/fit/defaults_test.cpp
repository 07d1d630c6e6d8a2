#include "validation/fit/defaults.hpp"

#include "validation/fit/profile_text.hpp"
#include "validation/fit/simulator.hpp"
#include "validation/fit/testing.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// What is fitted to all-reduces of NCCL of 8 B to 64 MiB on so many servers.
Lines fitted_to_nccl(const std::string& server, int servers, const std::string& algorithm) {
  const ScratchFolder folder;
  const auto file = folder.file("nccl.json", fmt::format(R"({{"schema": 1, "name": "nccl", "server": "{}", "hardware": "ideal",
    "fabric": {{"type": "star", "nodes": 2, "link": {{"bandwidth": "200Gbps", "latency": "500ns"}}}},
    "workload": {{"algorithm": {}, "size": "1MiB"}}}})",
                                                         server, algorithm));
  Simulator simulator(OpenScenario(file, {}, {}).scenario());
  std::vector<FitPoint> points;
  for (const Bytes size : {8_B, 64_KiB, 64_MiB})
    points.push_back({.measured = {},
                      .setup = {.collective = "allreduce",
                                .algorithm = simulator.scenario().workload.algorithms.front(),
                                .ranks = 8 * servers,
                                .size = size,
                                .nodes = servers}});
  const OpenScenario open = open_by_default(file, {}, points, {}, simulator);
  Lines out;
  for (const FitParameter& p : open.parameters()) out.push_back(p.name);
  return out;
}

bool has(const Lines& names, const char* name) { return std::ranges::count(names, name) == 1; }

}  // namespace

TEST_CASE("defaults: of NCCL's table those entries are fitted that some way has in which it may run the calls") {
  const Lines a100 = fitted_to_nccl("dgx_a100", 2, "\"nccl\""), one = fitted_to_nccl("dgx_a100", 1, "\"nccl\"");
  const Lines h100 = fitted_to_nccl("dgx_h100", 1, "\"nccl\"");
  const Lines ring = fitted_to_nccl("dgx_a100", 2, R"({"name": "nccl", "algorithm": "ring", "protocol": "simple"})");
  for (const char* name : {"nccl_base", "simple_hops", "simple_efficiency"})
    for (const Lines& names : {a100, one, h100, ring}) CHECK(has(names, name));
  for (const char* name : {"ll_hops", "ll_efficiency", "ll_bias", "ll128_hops", "ll128_efficiency", "tree_efficiency", "tree_bias"}) {
    CAPTURE(name);
    CHECK(has(a100, name));
    CHECK_FALSE(has(ring, name));
  }
  // Of LL128 it is between servers that a network may not allow it, and an A100's NVSwitch adds nothing.
  CHECK(has(a100, "ll128_bias"));
  CHECK_FALSE(has(one, "ll128_bias"));
  CHECK(has(a100, "network_hops"));
  CHECK_FALSE(has(one, "network_hops"));
  for (const char* name : {"nvls_efficiency", "nvls_bias"}) {
    CHECK(has(h100, name));
    CHECK_FALSE(has(a100, name));
  }
}

TEST_CASE("defaults: to ranks that share a GPU its memory is fitted, and points that are held out say nothing of what is fitted") {
  const ScratchFolder folder;
  const auto file = folder.file("gpu.json", R"({"schema": 1, "name": "gpu", "server": "shared_gpu", "hardware": "ideal",
    "fabric": {"type": "star", "nodes": 1, "link": {"bandwidth": "1Gbps", "latency": "1us"}}, "workload": {"algorithm": "ring", "size": "1MiB"}})");
  Simulator on_gpu(OpenScenario(file, {}, {}).scenario());
  const OpenScenario open = open_by_default(file, {}, {}, {}, on_gpu);
  CHECK(std::ranges::count(open.parameters(), "copy_rate_in_memory", &FitParameter::name) == 1);
  CHECK(open.usual().empty());  // a host's

  const auto pair = folder.file("pair.json", pair_scenario);
  Simulator simulator(OpenScenario(pair, {}, {}).scenario());
  std::vector<FitPoint> points;
  for (const Bytes size : {1_KiB, 64_MiB})
    points.push_back({.measured = {}, .setup = {.collective = "allreduce", .algorithm = {"ring"}, .ranks = 2, .size = size, .nodes = 2}});
  const auto page_faults = [&] {
    const OpenScenario of_pair = open_by_default(pair, {}, points, {}, simulator);
    return std::ranges::count(of_pair.parameters(), "page_fault_rate", &FitParameter::name);
  };
  CHECK(page_faults() == 1);
  points.back().fitted = false;
  CHECK(page_faults() == 0);
}

TEST_CASE("defaults: what no measured call of MPI needs is as is usual of hosts") {
  const MeasuredSetup gather{.collective = "allgather", .algorithm = {"ring"}, .ranks = 8, .size = 1_KiB, .nodes = 8};
  MeasuredSetup reduce = gather, large = gather, on_hosts = gather, of_nccl = gather, latency = gather;
  reduce.collective = large.collective = "allreduce", large.size = 32_MiB;
  on_hosts.ranks = 16;
  MeasuredSetup large_on_hosts = on_hosts;
  large_on_hosts.collective = "allreduce", large_on_hosts.size = 16_MiB;
  of_nccl.algorithm.name = "nccl", latency.collective = "latency";
  const auto usual = [](const std::vector<MeasuredSetup>& measured) { return unmeasured_parameters(measured); };
  const Lines reductions{"initial_copies", "reduce_rate", "reduce_cache", "reduce_rate_beyond_cache"},
      in_memory{"last_level_cache", "reduce_rate_in_memory", "page_fault_rate"}, own{"local_copy"},
      in_host{"sockets_overhead", "copy_rate", "copy_rate_in_memory", "copy_rate_of_socket", "host_eager_copy_rate", "host_handshake"};
  const auto all = [](std::vector<Lines> lists) {
    Lines out;
    for (const Lines& list : lists) out.insert(out.end(), list.begin(), list.end());
    return out;
  };
  CHECK(usual({gather}) == all({reductions, in_memory, own, in_host}));
  CHECK(usual({gather, reduce}) == all({in_memory, own, in_host}));
  CHECK(usual({gather, large}) == all({own, in_host}));
  // Ranks that share a host share its cache, too: what is beyond it, large calls tell.
  CHECK(usual({reduce, on_hosts}) == all({in_memory, own, {"copy_rate_in_memory"}}));
  CHECK(usual({reduce, large_on_hosts}) == all({{"page_fault_rate"}, own}));
  CHECK(usual({of_nccl, latency}).empty());

  const OpenScenario open = open_pair({"send_overhead"}).with_usual(reductions);
  CHECK(open.usual() == reductions);
  CHECK(open.scenario().hardware.reduce_rate == 190_Gbps);
  CHECK(open.hardware({1e6}).initial_copies == 1);
  FitResult result;
  result.parameters = {{open.parameters().front(), 1e6}};
  const Json profile = Json::parse(profile_text(open, {}, result, {}));
  CHECK(profile["reduce_rate"] ==
        Json::parse(R"({"value": "190Gbps", "source": "no call that was measured needs it; as is usual of hosts"})"));
  CHECK(open.with_usual({"reduce_rate"}).usual() == reductions);  // the profile says something of it
}

TEST_CASE("defaults: what hosts do of MPI's protocols is fitted by default where it was measured") {
  const MeasuredSetup latency{.collective = "latency", .algorithm = {"latency"}, .ranks = 2, .size = 1_KiB, .nodes = 2};
  MeasuredSetup bandwidth = latency, ring{.collective = "allreduce", .algorithm = {"ring"}, .ranks = 8, .size = 1_KiB, .nodes = 8};
  bandwidth.collective = "bandwidth";
  const auto fits = [](const std::vector<MeasuredSetup>& measured, const char* name) {
    return std::ranges::count(default_parameters(measured, {PathClass::rail}), name) == 1;
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
  MeasuredSetup gather = ring;
  gather.collective = "allgather", gather.size = 8_MiB;
  CHECK_FALSE(fits({gather}, "copy_rate_in_memory"));
  gather.nodes = 2;  // four ranks on each, whose messages are together as large as a host's cache
  CHECK(fits({gather}, "copy_rate_in_memory"));
  CHECK(fits({gather}, "last_level_cache"));
  CHECK_FALSE(fits({gather}, "reduce_rate_in_memory"));
  ring.nodes = 1;  // within one server there is no library's buffer
  CHECK_FALSE(fits({ring}, "eager_copy_rate"));
}
