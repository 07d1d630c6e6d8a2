#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

#include <map>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::literals;

namespace {

Row run(const Json& json) {
  const Scenario s = cases_of(json).front().scenario;
  return Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front());
}

Json servers(int count, const char* algorithm) {
  Json json = Json::parse(R"({"schema": 1, "name": "servers", "fabric": {"type": "star", "link": {"bandwidth": "10Gbps", "latency": "0us"}},
    "server": "v100_nvlink", "hardware": "ideal", "workload": {"collective": "allreduce", "size": "16MB"}})");
  json["fabric"]["nodes"] = count;
  json["workload"]["algorithm"] = algorithm;
  return json;
}

}  // namespace

TEST_CASE("row: what a NIC sent is what left its server") {
  // 16 GPUs, 8 behind each NIC. A ring crosses from server to server once: 2 x 15/16 of 16 MB. GPUs that send a sixteenth to each of the 8
  // of the other server, in two phases: 2 x 8 x 8 x 1 MB.
  CHECK(run(servers(2, "ring")).wire_bytes_per_rank == 30_MB);
  CHECK(run(servers(2, "hierarchical_ring")).wire_bytes_per_rank == 16_MB);
  CHECK(run(servers(2, "direct")).wire_bytes_per_rank == 128_MB);
  CHECK(run(servers(1, "ring")).wire_bytes_per_rank == 0_B);
}

TEST_CASE("row: what another job sends is not counted, however often it does") {
  Json json = Json::parse(R"({"schema": 1, "name": "two", "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "10Gbps",
    "latency": "2us"}}, "hardware": "ideal", "workload": {"size": "4MB", "algorithm": "ring", "compression": "gtopk", "ranks": 4}})");
  const Bytes alone = run(json).wire_bytes_per_rank;
  json["jobs"] = Json::parse(R"([{"name": "b", "size": "25MB", "iterations": 10, "placement": "linear"}])");
  const Row row = run(json);
  CHECK(row.wire_bytes_per_rank == alone);
  REQUIRE(row.jobs.size() == 2);
  CHECK(row.jobs.back().wire_bytes_per_rank == 37'500_KB);  // 2 x 3/4 of 25 MB
}

TEST_CASE("row: the slowest endpoint is that of a rank, so that a cable which nobody uses makes no time too short") {
  Json json =
      Json::parse(R"({"schema": 1, "name": "unequal", "hardware": "ideal", "workload": {"size": "4MB", "algorithm": "ring", "ranks": 2},
    "fabric": {"type": "graph", "nodes": ["a", "b", "c"], "switches": ["s"], "links": [
      {"from": "a", "to": "s", "bandwidth": "100Gbps", "latency": "1us"}, {"from": "b", "to": "s", "bandwidth": "40Gbps", "latency": "1us"},
      {"from": "c", "to": "s", "bandwidth": "1Gbps", "latency": "1us"}]}})");
  const auto check_slowest = [&](BitsPerSecond slowest) {
    const Row row = run(json);
    CHECK(row.bottleneck == slowest);
    CHECK(too_fast(row).empty());
  };
  check_slowest(40_Gbps);
  json["placement"] = Json::parse(R"({"policy": "list", "nodes": [2, 0]})");
  check_slowest(1_Gbps);
  // Of servers it is the cable of one that has ranks: four GPUs of each are on PCIe of 105.9 Gb/s.
  json["server"] = "two_nic";
  json["workload"]["ranks"] = 8;
  json.erase("placement");
  json["fabric"]["links"][0]["bandwidth"] = "10Gbps";
  json["fabric"]["links"][1]["bandwidth"] = "10Gbps";
  const BitsPerSecond without_the_slow = run(json).bottleneck;
  json["fabric"]["links"][2]["bandwidth"] = "10Gbps";
  CHECK(run(json).bottleneck == without_the_slow);
}

TEST_CASE("row: nccl finds out which ranks share a server, whatever order they come in") {
  Json json = Json::parse(R"({"schema": 1, "name": "ranks", "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "400Gbps",
    "latency": "500ns"}}, "server": "dgx_h100", "hardware": "h100_servers", "workload": {"size": "64MiB", "algorithm": "nccl"}})");
  for (const char* collective : {"allreduce", "allgather", "broadcast", "reduce"})
    for (const char* size : {"1KiB", "64MiB"}) {
      CAPTURE(collective);
      CAPTURE(size);
      json["workload"]["collective"] = collective;
      json["workload"]["size"] = size;
      const auto time = [&](Json placement) {
        json["placement"] = std::move(placement);
        return run(json).time;
      };
      const SimTime in_order = time("linear");
      CHECK(time("round_robin") == in_order);
      CHECK(time(Json::parse(R"({"policy": "random", "seed": 7})")).seconds() == doctest::Approx(in_order.seconds()).epsilon(0.05));
    }
}

TEST_CASE("row: nccl among ranks that fill some servers only in part uses a NIC for each GPU of the smallest") {
  // 8 and 4 GPUs: rings through 4 NICs of 50 GB/s carry 2 x 11/12 of the message, 1 GiB in 9.84 ms, were nothing lost in protocols.
  Json json = Json::parse(R"({"schema": 1, "name": "partly", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "400Gbps",
    "latency": "500ns"}}, "server": "dgx_h100", "hardware": "ideal", "workload": {"size": "1GiB", "ranks": 12,
    "algorithm": {"name": "nccl", "algorithm": "ring", "protocol": "simple"}}})");
  const double least = 2 * 11.0 / 12 * (1 << 30) / 200e3;  // us
  CHECK(run(json).time.seconds() * 1e6 > least);
  CHECK(run(json).time.seconds() * 1e6 < 1.15 * least);
  // Two GPUs of each of two servers are servers of two; one of each has no other to share anything with.
  json["workload"]["ranks"] = 4;
  json["placement"] = Json::parse(R"({"policy": "list", "nodes": [0, 1, 8, 9]})");
  CHECK(cases_of(json).front().scenario.workload.algorithms.front().settings.group == 2);
  json["placement"]["nodes"] = {0, 8};
  json["workload"]["ranks"] = 2;
  CHECK(cases_of(json).front().scenario.workload.algorithms.front().settings.group == 1);
}

TEST_CASE("row: what nccl chose for a size is said") {
  Json json = Json::parse(R"({"schema": 1, "name": "chosen", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "200Gbps",
    "latency": "500ns"}}, "server": "dgx_a100", "hardware": "ideal", "workload": {"size": "1KiB", "algorithm": "nccl"}})");
  CHECK(run(json).chosen.starts_with("nccl(algorithm=tree,protocol=ll"));
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "ring", "protocol": "simple"})");
  CHECK(run(json).chosen == "nccl(algorithm=ring,protocol=simple,channels=1)");  // as few bytes have fewer channels
  const SimTime of_one = run(json).time;
  json["workload"]["algorithm"]["channels"] = 1;
  CHECK(run(json).chosen.empty());
  CHECK(run(json).algorithm.ends_with(",channels=1)"));
  CHECK(run(json).time == of_one);
  json["workload"]["algorithm"].erase("channels");
  json["workload"]["size"] = "1GiB";
  CHECK(run(json).chosen.empty());
}

TEST_CASE("row: that an all-to-all sends whole elements to each rank is said where it makes the size less") {
  Json json = Json::parse(R"({"schema": 1, "name": "few", "fabric": {"type": "star", "nodes": 8,
    "link": {"bandwidth": "100Gbps", "latency": "1us"}}, "hardware": "ideal",
    "workload": {"collective": "alltoall", "algorithm": "direct"}})");
  for (const auto& [size, sent] : {std::pair{"28B", "0B"}, {"1004B", "992B"}}) {
    json["workload"]["size"] = size;
    const Row row = run(json);
    CHECK(to_string(row.size) == sent);
    CHECK(row.notes == fmt::format("{} are rounded down to {}: a rank sends equally many whole elements to each of the 8 ranks, as in MPI "
                                   "and nccl-tests",
                                   size, sent));
  }
  json["workload"]["size"] = "992B";
  CHECK(run(json).notes.empty());
}

TEST_CASE("row: a failure after the end changes no time and no use of links") {
  // Two leaves with four servers of eight GPUs each; NCCL's protocols need more of a link than their payload, which is what counts.
  Json json = Json::parse(R"({"schema": 1, "name": "late", "fabric": {"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 4, "spines": 8,
    "link": {"bandwidth": "400Gbps", "latency": "500ns"}}, "server": "dgx_h100", "hardware": "h100_servers",
    "workload": {"algorithm": "nccl", "size": "1MiB"}})");
  const Row plain = run(json);
  json["faults"] = Json::parse(R"({"failures": [{"switch": "spine0", "at": "100s"}]})");
  const Row late = run(json);
  CHECK(late.time == plain.time);
  CHECK(late.busiest_link == plain.busiest_link);
  CHECK(late.busiest_link_utilization == plain.busiest_link_utilization);
  REQUIRE(late.faults);
  CHECK(late.faults->slowdown(late.time) == 1);
}

TEST_CASE("row: what goes over a detour counts there, and once") {
  // One spine of two is gone from the start: a broadcast of 1 MB crosses the other, and its links are used as much as those of the hosts.
  Json json = Json::parse(R"({"schema": 1, "name": "detour", "fabric": {"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 1, "spines": 2,
    "link": {"bandwidth": "100Gbps", "latency": "0us"}}, "hardware": "ideal",
    "workload": {"collective": "broadcast", "algorithm": "direct", "size": "1MB"}})");
  for (const char* spine : {"spine0", "spine1"}) {
    CAPTURE(spine);
    json["faults"]["failures"] = Json::array({{{"switch", spine}}});
    CHECK(run(json).busiest_link_utilization == doctest::Approx(1));
  }
}

TEST_CASE("row: on packet a run without failures is compared with the same acknowledgements, and a failure after the end costs nothing") {
  Json json = Json::parse(R"({"schema": 1, "name": "late", "network": "packet", "fabric": {"type": "fat_tree", "leaves": 2,
    "nodes_per_leaf": 4, "spines": 2, "link": {"bandwidth": "100Gbps", "latency": "500ns"}}, "hardware": "ideal",
    "workload": {"algorithm": "ring", "size": "256KiB"},
    "faults": {"failures": [{"switch": "spine0", "at": "100s"}], "reroute_after": "never"}})");
  const Row late = run(json);
  REQUIRE(late.faults);
  CHECK(late.faults->healthy == late.time);
}

TEST_CASE("row: on packet a link is used for no more than all of the time, also where the run ends within a packet") {
  // Traffic keeps the cable of node 1 busy from before the job begins until after it has ended, with packets of 5.2 us.
  const Json json = Json::parse(R"({"schema": 1, "name": "busy", "network": "packet", "fabric": {"type": "star", "nodes": 3, "link": {
    "bandwidth": "100Gbps", "latency": "0us"}}, "hardware": "ideal", "packet": {"packet": "64KiB"},
    "workload": {"collective": "broadcast", "algorithm": "direct", "size": "1MB", "ranks": 2},
    "traffic": [{"pattern": "pairs", "pairs": [[2, 0]], "size": "64MiB"}]})");
  const Row row = run(json);
  CHECK(row.busiest_link_utilization > 0.9);
  CHECK(row.busiest_link_utilization <= 1);
}

TEST_CASE("row: what traffic sends before the first rank begins is of the time since the traffic began") {
  // Ranks begin up to 10 us late, and a message takes 2 us; the traffic has the cable of node 0 from the start.
  const Json json = Json::parse(R"({"schema": 1, "name": "late", "network": "packet", "fabric": {"type": "star", "nodes": 2, "link": {
    "bandwidth": "400Gbps", "latency": "1us"}}, "hardware": "ideal", "start_skew": {"max": "10us", "seed": 1},
    "workload": {"collective": "reduce_scatter", "algorithm": "pairwise", "size": "8B"},
    "traffic": [{"pattern": "pairs", "pairs": [[0, 1]], "size": "1MiB"}]})");
  const Row row = run(json);
  CHECK(row.busiest_link == "node0->switch");
  CHECK(row.busiest_link_utilization > 0.5);
  CHECK(row.busiest_link_utilization <= 1);
}

TEST_CASE("row: all-to-alls of one request are of one size, a block for each rank, however blocks are cut") {
  Json json = Json::parse(R"({"schema": 1, "name": "blocks", "fabric": {"type": "star", "nodes": 6, "link": {"bandwidth": "8Gbps",
    "latency": "0us"}}, "hardware": "ideal", "workload": {"collective": "alltoall", "size": "1000B"}})");
  for (const Json& algorithm : {Json("direct"), Json("pairwise"), Json("bruck"), Json{{"name", "direct"}, {"channels", 4}},
                                Json{{"name", "pairwise"}, {"pieces", 3}}, Json("nccl")}) {
    CAPTURE(algorithm.dump());
    json["workload"]["algorithm"] = algorithm;
    json["workload"]["size"] = "1000B";
    const Row row = run(json);
    CHECK(row.size == 984_B);                                               // 6 x 41 values
    if (algorithm != "bruck") CHECK(row.wire_bytes_per_rank == 5 * 164_B);  // which passes blocks on
    json["workload"]["size"] = "24B";
    CHECK(run(json).size == 24_B);  // a value for each rank
  }
  json["workload"] = Json::parse(R"({"program": [
      {"id": "a", "collective": "alltoall", "size": "1000B", "algorithm": {"name": "pairwise", "pieces": 3}}]})");
  CHECK(run(json).wire_bytes_per_rank == 820_B);
}

// Two nodes, 100 Gb/s: 8 MB of a ring take 2 x 4 MB / 12.5 GB/s = 640 us; at a quarter from the beginning 2560 us, all of it used. Slowed
// from 320 us on, half is done at the full rate and the rest takes 1280 us: 1600 us, also all of it used.
TEST_CASE("row: a link that failures slow is as busy as the rate that they leave it") {
  Json json = Json::parse(R"({"schema": 1, "name": "slowed", "hardware": "ideal",
    "fabric": {"type": "fat_tree", "leaves": 1, "nodes_per_leaf": 2, "spines": 1, "link": {"bandwidth": "100Gbps", "latency": "0s"}},
    "workload": {"collective": "allreduce", "algorithm": "ring", "size": "8MB"},
    "faults": {"failures": [{"link": "leaf0/node0->leaf0", "remaining": 0.25}], "reroute_after": "never"}})");
  for (const auto& [at, expected] : std::map<std::string, double>{{"0s", 2560}, {"320us", 1600}}) {
    json["faults"]["failures"][0]["at"] = at;
    const Row row = run(json);
    CHECK(static_cast<double>(row.time.ps) / 1e6 == doctest::Approx(expected).epsilon(1e-6));
    CHECK(row.busiest_link == "leaf0/node0->leaf0");
    CHECK(row.busiest_link_utilization == doctest::Approx(1).epsilon(1e-6));
  }
}
