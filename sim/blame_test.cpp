// What limits a run, on cases whose answer is known beforehand.
#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

#include <algorithm>

using namespace weft;

namespace {

Row row_of(const Json& json) {
  const Scenario s = cases_of(json).front().scenario;
  return Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {.find_path = true});
}

Row row_of(const char* text) { return row_of(Json::parse(text)); }

SimTime sum(const CriticalPath& path) { return path.latency + path.overhead + path.waiting + path.computing + path.bandwidth; }

SimTime limited_by(const CriticalPath& path, const std::string& name) {
  const auto at = std::ranges::find(path.limits, name, &LimitingResource::name);
  return at == path.limits.end() ? SimTime{} : at->time;
}

// Four nodes on 100 Gb/s, half a microsecond a cable.
Json ring_of_four() {
  return Json::parse(R"({
    "schema": 1, "name": "ring",
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "500ns"}}, "hardware": {"profile": "ideal"},
    "workload": {"algorithm": "ring", "size": "4KB"}})");
}

}  // namespace

TEST_CASE("blame: a single message is limited by the slowest cable on its way") {
  // 1 MB over 10 Gb/s: 800 us, after two cables of 1 us
  const Row row = row_of(R"({"schema": 1, "name": "slow", "hardware": "ideal",
    "fabric": {"type": "graph", "nodes": ["a", "b"], "switches": ["s"],
               "links": [{"from": "a", "to": "s", "bandwidth": "100Gbps", "latency": "1us"},
                         {"from": "s", "to": "b", "bandwidth": "10Gbps", "latency": "1us"}]},
    "workload": {"program": [{"id": "m", "send": "1MB", "from": 0, "to": 1}]}})");
  REQUIRE(row.critical_path);
  const CriticalPath& path = *row.critical_path;
  CHECK(path.latency == 2_us);
  CHECK(path.bandwidth == 800_us);
  REQUIRE(path.limits.size() == 1);
  CHECK(path.limits[0] == LimitingResource{"s->b", 800_us});
  CHECK(path.limiting_share() == doctest::Approx(800.0 / 802));
  CHECK(sum(path) == row.time);
}

TEST_CASE("blame: the bottleneck of a message changes while it is under way") {
  // Both get 50 Gb/s of s->b until the 4 Mb of c have passed, in 80 us. Then the 8 Mb that a has left go at its cable's 60 Gb/s.
  const Row row = row_of(R"({"schema": 1, "name": "changing", "hardware": "ideal",
    "fabric": {"type": "graph", "nodes": ["a", "b", "c"], "switches": ["s"],
               "links": [{"from": "a", "to": "s", "bandwidth": "60Gbps", "latency": "1us"},
                         {"from": "s", "to": "b", "bandwidth": "100Gbps", "latency": "1us"},
                         {"from": "c", "to": "s", "bandwidth": "100Gbps", "latency": "1us"}]},
    "workload": {"program": [{"id": "long", "send": "1500KB", "from": 0, "to": 1},
                             {"id": "short", "send": "500KB", "from": 2, "to": 1, "stream": 1}]}})");
  REQUIRE(row.critical_path);
  const CriticalPath& path = *row.critical_path;
  CHECK(limited_by(path, "s->b") == 80_us);
  CHECK(limited_by(path, "a->s").seconds() == doctest::Approx(8e6 / 60e9));
  CHECK(path.limits[0].name == "a->s");
  CHECK(sum(path) == row.time);
}

TEST_CASE("blame: an oversubscribed link between switches, and not the cables of hosts that carry as much") {
  // Each flow has its cables, its source's leaf and its spine's port to itself; all three share spine0->leaf0: 240 us for 1 MB each.
  const Row row = row_of(R"({"schema": 1, "name": "uplink", "hardware": "ideal",
    "fabric": {"type": "fat_tree", "leaves": 4, "nodes_per_leaf": 3, "spines": 1, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
    "workload": {"program": [{"id": "x", "send": "1MB", "from": 3, "to": 0}, {"id": "y", "send": "1MB", "from": 6, "to": 1},
                             {"id": "z", "send": "1MB", "from": 9, "to": 2}]}})");
  REQUIRE(row.critical_path);
  REQUIRE(row.critical_path->limits.size() == 1);
  CHECK(row.critical_path->limits[0] == LimitingResource{"spine0->leaf0", 240_us});
  CHECK(row.critical_path->limiting_share() == doctest::Approx(240.0 / 244));
}

TEST_CASE("blame: a ring of small messages is latency and overheads") {
  // 6 steps of 2 us send overhead, 1 us of latency, 80 ns for 1 KB and 1 us receive overhead
  Json json = ring_of_four();
  json["hardware"]["send_overhead"] = "2us";
  json["hardware"]["receive_overhead"] = "1us";
  json["workload"]["iterations"] = 3;
  const Row row = row_of(json);
  REQUIRE(row.critical_path);
  const CriticalPath& path = *row.critical_path;
  CHECK(path.overhead == 18_us);
  CHECK(path.latency == 6_us);
  CHECK(path.bandwidth == 480_ns);
  CHECK(path.waiting + path.computing == 0_us);
  CHECK(sum(path) == row.time);
}

TEST_CASE("blame: slow reductions") {
  // Three steps reduce 1 MB at 1 GB/s; a launch of 5 us each is an overhead. Six steps cross the fabric, 80 us each. All ranks do
  // the same at the same time: the path stays with one, whose sends end when its receives do.
  Json json = ring_of_four();
  json["hardware"]["reduce_rate"] = "1GBps";
  json["hardware"]["reduce_launch"] = "5us";
  json["workload"]["size"] = "4MB";
  const Row row = row_of(json);
  REQUIRE(row.critical_path);
  const CriticalPath& path = *row.critical_path;
  CHECK(path.bandwidth == 3480_us);
  CHECK(path.overhead == 15_us);
  CHECK(path.limits[0].name.ends_with(" reduce engine"));
  CHECK(path.limits[0].time == 3_ms);
  CHECK(path.limiting_share() == doctest::Approx(3000.0 / 3501));
  CHECK(sum(path) == row.time);
}

TEST_CASE("blame: a rank that starts late is waited for") {
  Json json = ring_of_four();
  json["fabric"]["nodes"] = 2;
  json["start_skew"] = {{"max", "100us"}, {"seed", 4}};
  const Scenario s = cases_of(json).front().scenario;
  const auto [first, last] = std::ranges::minmax(starts_of(s));
  REQUIRE(last > first);
  const Row row = row_of(json);
  REQUIRE(row.critical_path);
  CHECK(row.critical_path->waiting == last - first);
  CHECK(sum(*row.critical_path) == row.time);
}

TEST_CASE("blame: a receiver that computes before it takes part, and what waits for it") {
  // Rank 1 computes for 500 us; then the handshake of 3 us, 1 us of latency and 80 us for 1 MB.
  Json json = ring_of_four();
  json["hardware"]["rendezvous"] = "3us";
  json["hardware"]["rendezvous_threshold"] = "1B";
  json["workload"] = Json::parse(R"({"program": [{"id": "c", "compute": "500us", "ranks": [1]},
                                                 {"id": "m", "send": "1MB", "from": 0, "to": 1}]})");
  const Row row = row_of(json);
  REQUIRE(row.critical_path);
  const CriticalPath& path = *row.critical_path;
  CHECK(path.computing == 500_us);
  CHECK(path.overhead == 3_us);
  CHECK(path.latency == 1_us);
  CHECK(path.bandwidth == 80_us);
}

TEST_CASE("blame: sends that queue up for one thread wait") {
  // Two streams of rank 0 send at once, each for 10 us of its CPU: the second message leaves after 20 us, 10 of them waiting.
  Json json = ring_of_four();
  json["hardware"]["send_overhead"] = "10us";
  json["hardware"]["send_queue"] = "rank";
  json["workload"] = Json::parse(R"({"program": [{"id": "x", "send": "1KB", "from": 0, "to": 1},
                                                 {"id": "y", "send": "1KB", "from": 0, "to": 2, "stream": 1}]})");
  const Row row = row_of(json);
  REQUIRE(row.critical_path);
  CHECK(row.critical_path->waiting == 10_us);
  CHECK(row.critical_path->overhead == 10_us);
  CHECK(sum(*row.critical_path) == row.time);
}

TEST_CASE("blame: the parts sum up to the time, whatever runs") {
  for (const char* algorithm : {"ring", "halving_doubling", "double_binary_tree", "recursive_doubling", "direct", "parameter_server"})
    for (const char* queue : {"channel", "rank", "nic"}) {
      Json json = ring_of_four();
      json["fabric"] = Json::parse(
          R"({"type": "fat_tree", "leaves": 4, "nodes_per_leaf": 4, "spines": 2, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})");
      json["hardware"] = {{"profile", "ideal"},  {"send_overhead", "1us"},        {"receive_overhead", "500ns"},
                          {"send_queue", queue}, {"reduce_rate", "50GBps"},       {"rendezvous", "2us"},
                          {"first_use", "3us"},  {"rendezvous_threshold", "10KB"}};
      json["workload"]["algorithm"] = algorithm;
      json["workload"]["size"] = "1MB";
      json["start_skew"] = {{"max", "20us"}};
      CAPTURE(algorithm);
      CAPTURE(queue);
      const Row row = row_of(json);
      REQUIRE(row.critical_path);
      CHECK(sum(*row.critical_path) == row.time);
      SimTime limited;
      for (const LimitingResource& limit : row.critical_path->limits) limited += limit.time;
      CHECK(limited <= row.critical_path->bandwidth);
    }
}

TEST_CASE("blame: networks and jobs that do not know their critical path say nothing of it") {
  Json json = ring_of_four();
  json["network"] = "packet";
  CHECK(!row_of(json).critical_path);
  json["network"] = "flow";
  json["workload"] = {{"model", "resnet50"}, {"device", "v100"}, {"engine", "ddp"}, {"algorithm", "ring"}};
  CHECK(!row_of(json).critical_path);
}
