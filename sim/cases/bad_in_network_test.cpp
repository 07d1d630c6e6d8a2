// What a scenario cannot ask of programmable switches is refused before anything runs, all of it at once.
#include "sim/cases/testing.hpp"

using namespace weft;

TEST_CASE("in-network: SwitchML needs a switch with endpoints that can be programmed, in the workload and in a job") {
  Json json = Json::parse(
      R"({"schema": 1, "fabric": {"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 2, "spines": 1,
                                  "link": {"bandwidth": "100Gbps", "latency": "1us"}, "programmable": {"switches": ["spine0"]}},
          "workload": {"algorithm": ["ring", "switchml", "atp"], "size": "1MB"}})");
  const Lines wrong = {
      "f.json: /fabric/programmable/switches: switchml adds up in a switch with endpoints, such as \"leaf1\", and none of them can be "
      "programmed; got [\"spine0\"]"};
  CHECK(lines_for(json) == wrong);
  json["workload"] = Json::parse(R"({"algorithm": "ring", "size": "1MB", "ranks": 2})");
  json["jobs"] = Json::parse(R"([{"ranks": 2, "algorithm": "switchml"}])");
  CHECK(lines_for(json) == wrong);
  json["fabric"]["programmable"]["switches"] = {"spine0", "leaf0"};
  CHECK(lines_for(json) == Lines{});
}

TEST_CASE("in-network: what a scenario cannot ask of switches is refused, all at once") {
  Json wrong = good_scenario();
  wrong["workload"] = Json::parse(R"({"algorithm": {"name": "atp", "aggregators": 0}, "size": "1MiB"})");
  CHECK(lines_for(wrong) == Lines{"f.json: /workload/algorithm/aggregators: must be at least 1, got 0"});
  wrong["workload"] = Json::parse(R"({"algorithm": {"name": "atp", "payload": "400B", "servers": 99}, "size": "1MiB", "op": "max"})");
  wrong["network"] = "simgrid";
  CHECK(lines_for(wrong) ==
        Lines{"f.json: /workload/op: in-network aggregation adds; atp cannot do \"max\"",
              "f.json: /network: \"simgrid\" has no programmable switches, which atp needs; \"flow\" and \"packet\" have",
              "f.json: /workload/algorithm/packet: must be more than the payload of 400 bytes and at most 65536, got 306",
              "f.json: /workload/algorithm/servers: must be at most 32, the endpoints of the fabric, got 99"});

  wrong = good_scenario();
  wrong["workload"] =
      Json::parse(R"({"algorithm": {"name": "atp", "server_nodes": [3, 32], "servers": 2, "timeout": "0s"}, "size": "1MiB"})");
  CHECK(lines_for(wrong) ==
        Lines{"f.json: /workload/algorithm/timeout: must be longer than nothing, got \"0s\"",
              "f.json: /workload/algorithm/server_nodes/1: must be between 0 and 31, the endpoints of the fabric, got 32",
              "f.json: /workload/algorithm/servers: follows from \"server_nodes\": leave one of them out"});
  Json greedy = good_scenario();
  greedy["workload"] = Json::parse(R"({"algorithm": {"name": "atp", "aggregators": 2147483647}, "size": "1MiB"})");
  CHECK(lines_for(greedy) == Lines{"f.json: /workload/algorithm/aggregators: must be at most 1048576, got 2147483647"});
  greedy["workload"]["algorithm"] = "atp";
  greedy["fabric"]["programmable"] = Json::parse(R"({"aggregators": 2147483647})");
  CHECK(lines_for(greedy).front() == "f.json: /fabric/programmable/aggregators: must be between 1 and 1048576, got 2147483647");
  greedy["fabric"]["programmable"] = Json::parse(R"({"packets_per_second": -1})");
  CHECK(lines_for(greedy) == Lines{"f.json: /fabric/programmable/packets_per_second: must be at least 1, got -1"});
  wrong["fabric"]["programmable"] = Json::parse(R"({"switches": ["nowhere"], "payload": "100B"})");
  wrong["workload"] = Json::parse(R"({"algorithm": "atp", "size": "1MiB"})");
  const Lines lines = lines_for(wrong);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("f.json: /fabric/programmable/switches/0: the fabric has no switch \"nowhere\"; it has switches such as "));
  CHECK(lines[1] ==
        "f.json: /workload/algorithm/payload: must be at most 100B, which is what the fabric's switches aggregate of a packet, got 248B");
}

TEST_CASE("in-network: slots of SwitchML for which the switches have no memory are refused, in the workload and in a job") {
  Json json = good_scenario();
  json["fabric"]["programmable"] = {{"aggregators", 17}};
  json["workload"] = Json::parse(R"({"algorithm": [{"name": "switchml", "slots": 8}, "switchml"], "size": "1MiB"})");
  CHECK(lines_for(json) == Lines{});
  json["workload"]["algorithm"][0]["slots"] = 9;
  CHECK(lines_for(json) == Lines{"f.json: /workload/algorithm/0/slots: must be at most 8: the fabric's switches hold 17 packets "
                                 "(\"aggregators\"), and a slot two; got 9"});
  json["workload"] = Json::parse(R"({"algorithm": "ring", "size": "1MiB", "ranks": 4})");
  json["jobs"] = Json::parse(R"([{"algorithm": {"name": "switchml", "slots": 9}}])");
  CHECK(lines_for(json) == Lines{"f.json: /jobs/0/algorithm/slots: must be at most 8: the fabric's switches hold 17 packets "
                                 "(\"aggregators\"), and a slot two; got 9"});
  json = good_scenario();
  json["fabric"]["programmable"] = {{"aggregators", 1}};
  json["workload"]["algorithm"] = "switchml";
  CHECK(lines_for(json) ==
        Lines{"f.json: /fabric/programmable/aggregators: must be at least 2 for switchml, the packets of a slot, got 1"});
}

TEST_CASE("in-network: programmable switches run one program, with the same memory for all") {
  Json both = good_scenario();
  both["workload"] = Json::parse(R"({"algorithm": "atp", "size": "1MiB", "ranks": 4})");
  both["jobs"] = Json::parse(R"([{"algorithm": "switchml"}, {"algorithm": {"name": "atp", "aggregators": 7}}, {"algorithm": "ring"}])");
  CHECK(lines_for(both) ==
        Lines{"f.json: /jobs/0/algorithm: programmable switches run one program at a time: switchml cannot run beside atp",
              "f.json: /jobs/1/algorithm: jobs share the switches: atp(aggregators=7) and atp must not differ in aggregators, split, "
              "slots, payload and packet"});
  both["jobs"] = Json::parse(R"([{"algorithm": {"name": "atp", "framing": "24B"}}])");
  CHECK(lines_for(both).empty());
  both["fabric"]["programmable"] = {{"packets_per_second", 1'000'000}};
  CHECK(lines_for(both) ==
        Lines{"f.json: /jobs/0/algorithm: on flow jobs that share switches of so many \"packets_per_second\" must not differ "
              "in framing, as atp(framing=24B) and atp do; packet simulates them"});
  both["network"] = "packet";
  CHECK(lines_for(both).empty());
}

TEST_CASE("in-network: more at a switch than a packet has bits for is refused before anything runs") {
  Json wide = good_scenario();
  wide["fabric"] = Json::parse(R"({"type": "star", "nodes": 130, "link": {"bandwidth": "100Gbps", "latency": "1us"}})");
  wide["workload"] = Json::parse(R"({"algorithm": ["ring", "atp"], "size": "1MiB", "ranks": 129})");
  CHECK(lines_for(wide) == Lines{"f.json: /workload/algorithm/1: 129 workers meet at a switch, and a packet has bits for 128"});
  wide["fabric"]["programmable"] = Json::parse(R"({"switches": []})");
  CHECK(lines_for(wide) == Lines{});
}
