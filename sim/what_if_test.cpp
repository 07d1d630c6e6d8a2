// What would be gained, on cases whose answer is known beforehand.
#include "sim/what_if.hpp"

#include "models/fabric/routes.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/testing.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"

using namespace weft;

namespace {

Row row_with_what_if(const Json& json, int resources = 1) {
  const Scenario s = cases_of(json).front().scenario;
  const AlgorithmChoice& algorithm = s.workload.algorithms.front();
  const Bytes size = s.workload.sizes.front();
  Row row = s.repeat ? simulate_repeated(s, algorithm, size) : Experiment(s, algorithm).run(size, {.find_path = true});
  add_what_if(s, algorithm, size, {.resources = resources}, row);
  return row;
}

using Lines = std::vector<std::string>;

Lines said(const Row& row) {
  Lines out;
  for (const WhatIf& one : row.what_if) out.push_back(one.twice_as_fast + ": " + to_string(one.time));
  return out;
}

// One message of 1 MB over 10 Gb/s: 800 us, after two cables of 1 us.
Json slow_cable() {
  return Json::parse(R"({"schema": 1, "name": "slow", "hardware": {"profile": "ideal"},
    "fabric": {"type": "graph", "nodes": ["a", "b"], "switches": ["s"],
               "links": [{"from": "a", "to": "s", "bandwidth": "100Gbps", "latency": "1us"},
                         {"from": "s", "to": "b", "bandwidth": "10Gbps", "latency": "1us"}]},
    "workload": {"program": [{"id": "m", "send": "1MB", "from": 0, "to": 1}]}})");
}

// Six steps of 1 us of latency and 80 us for 1 MB: 486 us.
Json fast_ring() {
  return Json::parse(R"({"schema": 1, "name": "ring", "hardware": {"profile": "ideal"},
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "500ns"}},
    "workload": {"algorithm": "ring", "size": "4MB"}})");
}

}  // namespace

TEST_CASE("what if: NCCL keeps to what it chose for the row, and twice the bandwidth takes no longer") {
  // On twice the 50 Gb/s it would go over to LL, by the rates that it expects.
  const Row row = row_with_what_if(Json::parse(
      R"({"schema": 1, "name": "w", "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "50Gbps", "latency": "500ns"}},
    "hardware": "ideal", "workload": {"algorithm": "nccl", "size": "1MiB", "ranks": 8}})"));
  REQUIRE(!row.what_if.empty());
  CHECK(row.what_if.back().twice_as_fast == "all 16 links");
  CHECK(row.what_if.back().change < -0.1);
}

TEST_CASE("what if: the slowest cable twice as fast halves what it was the bottleneck of") {
  const Row row = row_with_what_if(slow_cable());
  REQUIRE(row.time == 802_us);
  CHECK(said(row) == Lines{"s->b: 402us", "all 2 links between b and s: 402us", "all 4 links: 402us"});
  CHECK(row.what_if[0].change == doctest::Approx(-400.0 / 802));
}

TEST_CASE("what if: one of several cables that are as slow gains nothing, all of them half of the bandwidth's part") {
  const Row row = row_with_what_if(fast_ring());
  REQUIRE(row.time == 486_us);
  REQUIRE(row.what_if.size() == 2);
  CHECK(row.what_if[0].twice_as_fast == row.critical_path->limits[0].name);
  CHECK(row.what_if[0].time == 486_us);
  CHECK(row.what_if[0].change == 0);
  CHECK(row.what_if[1].twice_as_fast == "all 8 links");
  CHECK(row.what_if[1].time == 246_us);
}

TEST_CASE("what if: each of several resources, and those that are alike once") {
  // Three flows share spine0->leaf0, 240 us for 1 MB each; with that twice as fast, 120 us.
  Json json = Json::parse(R"({"schema": 1, "name": "uplink", "hardware": "ideal",
    "fabric": {"type": "fat_tree", "leaves": 4, "nodes_per_leaf": 3, "spines": 1, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
    "workload": {"program": [{"id": "x", "send": "1MB", "from": 3, "to": 0}, {"id": "y", "send": "1MB", "from": 6, "to": 1},
                             {"id": "z", "send": "1MB", "from": 9, "to": 2}]}})");
  const Lines one = {"spine0->leaf0: 124us", "all 8 links between leaf* and spine*: 124us", "all 32 links: 124us"};
  CHECK(said(row_with_what_if(json)) == one);
  CHECK(said(row_with_what_if(json, 3)) == one);  // nothing else limits it
  // Rank 0 then sends 1 MB on, 80 us, over two cables, of which its own is the second of what limits: alone it gains nothing.
  json["workload"]["program"].push_back({{"id", "w"}, {"send", "1MB"}, {"from", 0}, {"to", 1}});
  const Row row = row_with_what_if(json, 2);
  REQUIRE(row.time == 326_us);
  CHECK(said(row) == Lines{"spine0->leaf0: 206us", "all 8 links between leaf* and spine*: 206us", "leaf0/node0->leaf0: 326us",
                           "all 24 links between leaf*/node* and leaf*: 286us", "all 32 links: 166us"});
}

TEST_CASE("what if: reduce engines are faster all together, launches of reductions are not") {
  // Of six steps of 81 us three reduce 1 MB at 1 GB/s, after a launch of 5 us.
  Json json = fast_ring();
  json["hardware"]["reduce_rate"] = "1GBps";
  json["hardware"]["reduce_launch"] = "5us";
  const Row row = row_with_what_if(json);
  REQUIRE(row.time == 3501_us);
  CHECK(said(row) == Lines{"all reduce engines: 2001us"});
}

TEST_CASE("what if: a cap of a flow's rate") {
  // 10 Gb/s a connection on cables of 100: 800 us and two cables of 500 ns.
  Json json = fast_ring();
  json["hardware"]["stream_rate"] = "10Gbps";
  json["workload"] = Json::parse(R"({"program": [{"id": "m", "send": "1MB", "from": 0, "to": 1}]})");
  const Row row = row_with_what_if(json);
  REQUIRE(row.time == 801_us);
  CHECK(said(row) == Lines{"all rate caps of flows: 401us"});
}

TEST_CASE("what if: caps that links have are faster with the links") {
  // A message whose way to the NIC passes a socket, which cuts packets to 64 bytes: PCIe 3 x16 then carries less than the cable's 100 Gb/s.
  // Of its time the latency stays. The rest is that of the cable where only caps double, and half where the links double, caps included.
  Json json = fast_ring();
  json["fabric"]["nodes"] = 2;
  json["server"] = "v100_nvlink";
  json["workload"] = Json::parse(R"({"program": [{"id": "m", "send": "1MB", "from": 2, "to": 10}]})");
  const Row row = row_with_what_if(json);
  const Scenario s = cases_of(json).front().scenario;
  const auto fabric = build(s.fabric.spec, s.server);
  const BitsPerSecond cap = fabric->terms(2, 10).rate_cap;
  REQUIRE(cap.count > 0);
  REQUIRE(cap < 100_Gbps);
  Routes routes(*fabric, {});
  const SimTime latency = routes.latency(routes.of(2, 10));
  REQUIRE(row.time == latency + 1_MB / cap);
  REQUIRE(row.what_if.size() == 2);
  CHECK(row.what_if[0].twice_as_fast == "all rate caps of flows");
  CHECK(row.what_if[0].time == latency + 1_MB / 100_Gbps);
  CHECK(row.what_if[1].twice_as_fast == "all 132 links");
  CHECK(row.what_if[1].time == latency + 1_MB / BitsPerSecond{2 * cap.count});
}

TEST_CASE("what if: what the cores of a socket copy together is of all sockets, and is faster with their memories") {
  // 1 MB at a byte in a nanosecond, after 50 ns.
  const Row row = row_with_what_if(Json::parse(
      R"({"schema": 1, "name": "host", "fabric": {"type": "star", "nodes": 1, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
    "server": {"preset": "cpu_host", "cores": 4}, "hardware": {"profile": "ideal", "copy_rate_of_socket": "8Gbps"},
    "workload": {"program": [{"id": "m", "send": "1MB", "from": 0, "to": 1}]}})"));
  REQUIRE(row.what_if.size() == 2);
  CHECK(said(row)[0].ends_with(": 500050ns"));
  CHECK(said(row)[1].ends_with(": 500050ns"));
}

TEST_CASE("what if: on networks that know no critical path, the busiest link") {
  for (const char* network : {"packet", "simgrid"}) {
    Json json = slow_cable();
    json["network"] = network;
    const Scenario s = cases_of(json).front().scenario;
    CAPTURE(network);
    const std::string first = in_child([&] {  // where no engine has run yet
      Row row{.size = s.workload.sizes.front(), .time = 802_us, .busiest_link = "s->b"};
      add_what_if(s, s.workload.algorithms.front(), row.size, {}, row);
      return fmt::format("{} {} {:.2f}", row.what_if.size(), row.what_if.front().twice_as_fast, row.what_if.front().change);
    });
    CHECK(first == "3 s->b -0.50");
  }
}

TEST_CASE("what if: nothing is said of a row that no link limits") {
  Json json = fast_ring();
  json["workload"] = Json::parse(R"({"program": [{"id": "c", "compute": "1ms"}]})");
  CHECK(row_with_what_if(json, 3).what_if.empty());
}

TEST_CASE("what if: of repeated runs the median") {
  // All runs take the same: two ranks have one way between them, wherever they are.
  Json json = fast_ring();
  json["workload"]["ranks"] = 2;
  json["repeat"] = Json::parse(R"({"runs": 3, "vary": ["placement"]})");
  const Row row = row_with_what_if(json);
  REQUIRE(row.time == 322_us);  // two steps of 2 MB
  REQUIRE(row.what_if.size() == 2);
  CHECK(row.what_if[0].time == 322_us);
  CHECK(row.what_if[1].time == 162_us);
}
