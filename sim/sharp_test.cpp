// Switches between servers that add for NCCL, on the network `flow`.
#include "sim/testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Hosts of one GPU and one NIC of 100 Gb/s on four leaves, with one cable from each leaf to the one spine.
Json hosts(int ranks, const char* algorithm = "collnet_chain") {
  Json json = Json::parse(R"({"schema": 1, "name": "hosts", "fabric": {"type": "fat_tree", "leaves": 4, "nodes_per_leaf": 8, "spines": 1,
    "link": {"bandwidth": "100Gbps", "latency": "500ns"}, "sharp": true}, "hardware": "ideal", "placement": "round_robin",
    "workload": {"algorithm": {"name": "nccl"}, "size": "64MiB"}})");
  json["workload"]["ranks"] = ranks;
  json["workload"]["algorithm"]["algorithm"] = algorithm;
  return json;
}

// Servers of 8 H100 on rails.
Json rail_servers(int ranks, const char* algorithm) {
  Json json = hosts(ranks, algorithm);
  json["fabric"]["leaves"] = 8, json["fabric"]["link"]["bandwidth"] = "400Gbps", json["placement"] = "linear";
  json["server"] = Json::parse(R"({"preset": "dgx_h100", "wiring": "rails"})");
  json["workload"]["size"] = "1GiB";
  return json;
}

double us(const Json& json) { return first_row(json).time.microseconds(); }

constexpr double mib64 = 67.108864e6, gib = 1073.741824e6;  // bytes

}  // namespace

TEST_CASE("sharp: every NIC sends the message once and gets it once at the same time, whatever the number of hosts and of cables") {
  // 64 MiB at 12.5 GB/s, and a tree's 14 us of the only GPU: however many hosts share the one cable of their leaf.
  for (const int ranks : {2, 3, 8, 32}) {
    CAPTURE(ranks);
    const Row row = first_row(hosts(ranks));
    CHECK(row.time.microseconds() == doctest::Approx(mib64 / 12.5e3 + 14).epsilon(1e-6));
    CHECK(row.wire_bytes_per_rank == 64_MiB);
    CHECK(row.busiest_link_utilization == doctest::Approx(mib64 / 12.5e3 / row.time.microseconds()).epsilon(1e-3));
    CHECK(row.ranks == ranks);
    CHECK(row.aggregates);
  }
  CHECK(us(hosts(32, "ring")) > 4 * us(hosts(32)));
}

TEST_CASE("sharp: pieces take no more than whole messages, as what goes up comes down at once") {
  Json json = hosts(8);
  json["workload"]["algorithm"]["pieces"] = 1;
  const double whole = us(json);
  CHECK(whole == doctest::Approx(mib64 / 12.5e3 + 14).epsilon(1e-6));
  json["workload"]["algorithm"]["pieces"] = 64;
  CHECK(us(json) == doctest::Approx(whole).epsilon(1e-6));
}

TEST_CASE("sharp: hosts have overheads, and switches have none, nor do they reduce at the rate of a host") {
  Json json = hosts(2);
  json["workload"]["algorithm"]["pieces"] = 1;
  json["hardware"] = Json::parse(R"({"profile": "ideal", "send_overhead": "10us", "receive_overhead": "20us", "reduce_rate": "10Gbps",
    "reduce_launch": "5us"})");
  CHECK(us(json) == doctest::Approx(mib64 / 12.5e3 + 14 + 10 + 20).epsilon(1e-6));
  json["workload"]["ranks"] = 32;
  CHECK(us(json) == doctest::Approx(mib64 / 12.5e3 + 14 + 10 + 20).epsilon(1e-6));
  // What is staged in host memory is so at hosts only: 64 MiB there at 20 GB/s, and from there again, in which the way down passes.
  json["hardware"] = Json::parse(R"({"profile": "ideal", "staging_rate": "20GBps"})");
  CHECK(us(json) == doctest::Approx(mib64 / 12.5e3 + 7 + 2 * mib64 / 20e3).epsilon(1e-6));
}

TEST_CASE("sharp: CollNet of servers of 8 H100 is limited by NVLinks, which carry the message twice; of few NICs by these") {
  // 14/8 of 1 GiB at 0.85 of 370.8 GB/s, and the pieces' way in: one of 128 before each half.
  const double on_links = gib * 14 / 8 / (0.85 * 370.8e3);
  for (const int ranks : {16, 32, 128})
    CHECK(us(rail_servers(ranks, "collnet_direct")) == doctest::Approx(on_links * (1 + 1.0 / 128) + 44).epsilon(0.005));
  Json slow = rail_servers(32, "collnet_direct");
  slow["fabric"]["link"]["bandwidth"] = "100Gbps";
  CHECK(us(slow) == doctest::Approx(gib / (0.85 * 100e3) + 44).epsilon(0.02));
  // The chain sends it on as it comes, in 16 steps.
  CHECK(us(rail_servers(32, "collnet_chain")) == doctest::Approx(gib * 14 / 8 / 370.8e3 + 69.2).epsilon(0.02));
  // Where the NVSwitch adds too: 14/9 of 0.85 times less on NVLinks, and two turns of 16 channels x 8 GPUs x 128 KiB until the last stage.
  const double added = gib * 14 / 8 / (14.0 / 9 * 0.85 * 370.8e3);
  for (const int ranks : {16, 128})
    CHECK(us(rail_servers(ranks, "nvls")) == doctest::Approx(added * (1 + 2.0 * 16 * 8 * 128 / (1 << 20)) + 43).epsilon(0.02));
}

TEST_CASE("sharp: NCCL chooses NVLS with in-network aggregation between more than two servers, and nothing of it without") {
  Json json = rail_servers(64, "auto");
  CHECK(us(json) == us(rail_servers(64, "nvls")));
  json["fabric"].erase("sharp");
  CHECK(us(json) == doctest::Approx(us(rail_servers(64, "nvls_tree"))).epsilon(1e-9));
}

TEST_CASE("sharp: a job beside another has trees of its own, and takes its part of the cables that both use") {
  Json json = hosts(4);
  json["workload"]["algorithm"]["pieces"] = 1;
  json["jobs"] = Json::parse(R"([{"name": "second", "placement": "round_robin"}])");
  const Row row = first_row(json);
  REQUIRE(row.jobs.size() == 2);
  for (const JobResult& job : row.jobs) {
    CHECK(job.alone.microseconds() == doctest::Approx(mib64 / 12.5e3 + 14).epsilon(1e-6));
    CHECK(job.time.microseconds() == doctest::Approx(2 * mib64 / 12.5e3 + 14).epsilon(1e-3));  // on the cables of three leaves
  }
}

TEST_CASE("sharp: ranks that start late are waited for") {
  Json json = hosts(8);
  json["start_skew"] = Json::parse(R"({"max": "1ms", "seed": 3})");
  const double late = us(json);
  CHECK(late > us(hosts(8)) - 1);
  CHECK(late < us(hosts(8)) + 1000);
}

TEST_CASE("sharp: what cannot be simulated with in-network aggregation is refused, all at once") {
  Json json = hosts(8);
  json["network"] = "packet";
  json["faults"] = Json::parse(R"({"failures": [{"switch": "spine0"}]})");
  CHECK(lines_for(json) ==
        Lines{"f.json: /network: \"packet\" has no in-network aggregation as the fabric's \"sharp\" asks for; \"flow\" has",
              "f.json: /faults: in-network aggregation (\"sharp\") is not rerouted around failures: leave one of them out"});
  json = hosts(8);
  json["fabric"].erase("sharp");
  CHECK(lines_for(json) == Lines{"f.json: /workload/algorithm: collnet_chain adds in the switches between servers, which do so only where "
                                 "the fabric has \"sharp\""});
  json = hosts(8);
  json["workload"] = Json::parse(R"({"algorithm": "nccl", "program": [{"id": "a", "collective": "allreduce", "size": "1MiB"}]})");
  CHECK(lines_for(json) ==
        Lines{"f.json: /workload/program: in-network aggregation (\"sharp\") is for a collective by itself: leave one of them out"});
  json = hosts(8);
  json["fabric"]["sharp"] = 1;
  CHECK(lines_for(json) == Lines{"f.json: /fabric/sharp: must be true or false, got 1"});
}

TEST_CASE("sharp: NVLinks carry what is left for them where the NVSwitch adds, and are no busier than all of their time") {
  Json json = rail_servers(16, "nvls");
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "nvls_tree"})");
  const Row row = first_row(json);
  CHECK(row.busiest_link_utilization > 0.5);
  CHECK(row.busiest_link_utilization <= 1);
  json["workload"]["ranks"] = 8;  // one server
  json["workload"]["algorithm"] = Json::parse(R"({"name": "nccl", "algorithm": "nvls"})");
  CHECK(first_row(json).busiest_link_utilization <= 1);
}
