#include "sim/scenario/packet_fields.hpp"

#include "sim/cases/testing.hpp"

using namespace weft;

namespace {

Json with_packet(const char* packet) {
  Json json = with("/network", "packet");
  json["packet"] = Json::parse(packet);
  return json;
}

}  // namespace

TEST_CASE("packet: every setting can be said, and reads back as it was") {
  const Json said = Json::parse(R"({
    "packet": "1KiB", "header": "78B", "switching": "store_and_forward", "cut_through_after": "128B", "switch_buffer": "16MiB",
    "dynamic_threshold": 0.5, "ecn": {"on": true, "min": "100KiB", "max": "100KiB", "probability": 1.0},
    "pfc": {"on": false, "xoff": "512KiB", "xon": "480KiB"}, "transport": "dctcp",
    "dcqcn": {"notification_interval": "50us", "alpha_interval": "55us", "gain": 0.25, "increase_interval": "1ms", "increase_bytes": "1MiB",
              "fast_recovery": 3, "additive_increase": "40Mbps", "hyper_increase": "400Mbps", "least_rate": "10Mbps"},
    "window": "128KiB", "dctcp_gain": 0.125, "acknowledgement": "80B", "acknowledge_every": 2, "timeout": "2ms", "retries": 3,
    "faults": {"loss": 0.001, "corruption": 0.0001, "links": ["lower0->upper1"],
               "failures": [{"link": "lower0->upper1", "at": "1ms", "until": "2ms"}, {"link": "upper1->lower0", "at": "1ms", "until": "never"}]},
    "seed": 9})");
  Json json = good_scenario();
  json["network"] = "packet";
  json["packet"] = said;
  CHECK(lines_for(json) == Lines{});
  const Json shown_again = to_json(cases_of(json).front().scenario)["packet"];
  CHECK(shown_again == said);
  CHECK(shown_again.size() == 18);  // a new member of PacketSettings belongs here
}

TEST_CASE("packet: settings are filled in for the packet network, and their seed is the scenario's") {
  Json json = with("/seed", 7);
  CHECK(!cases_of(json).front().scenario.packet);
  json["network"] = "packet";
  CHECK(cases_of(json).front().scenario.packet->seed == 7);
  json["packet"]["seed"] = 3;
  CHECK(cases_of(json).front().scenario.packet->seed == 3);
  json["network"] = "flow";  // of no effect there
  CHECK(lines_for(json) == Lines{});
}

TEST_CASE("packet: the scenario that is shown is one that is read") {
  for (const Json& json : {with("/network", "packet"), with_packet(R"({"faults": {"loss": 0.1}})")})
    CHECK(lines_for(to_json(cases_of(json).front().scenario)) == Lines{});
}

TEST_CASE("packet: a sweep reaches every setting") {
  Json json =
      with("/sweep",
           Json::parse(R"({"/packet/faults/loss": [0, 0.01], "/packet/transport": ["rdma", "dcqcn"], "/network": ["flow", "packet"]})"));
  const auto cases = cases_of(json);
  REQUIRE(cases.size() == 8);
  CHECK(cases.back().scenario.packet->faults.loss == 0.01);
  CHECK(cases.back().scenario.packet->transport == PacketTransport::dcqcn);
}

TEST_CASE("packet: what cannot be is refused with its place, all at once") {
  CHECK(lines_for(with_packet(R"({"packet": "0B", "faults": {"loss": 1.5, "corruption": -0.1}, "ecn": {"min": "2MiB"}, "retries": 99})")) ==
        Lines{"f.json: /packet/packet: must be between 1 B and 64KiB, got 0B",
              "f.json: /packet/ecn/max: must be at least min = 2MiB, got 1.6MB",
              "f.json: /packet/retries: must be between 0 and 40, got 99",
              "f.json: /packet/faults/loss: must be at least 0 and less than 1, got 1.5",
              "f.json: /packet/faults/corruption: must be at least 0 and less than 1, got -0.1"});
  CHECK(lines_for(with_packet(R"({"transport": "dctpc", "window": 4096, "pfc": {"xof": "1MiB"}})")) ==
        Lines{"f.json: /packet/pfc/xof: unknown key (did you mean \"xoff\"?)",
              "f.json: /packet/transport: unknown transport \"dctpc\" (did you mean \"dctcp\"?); allowed: \"rdma\", \"dcqcn\", \"dctcp\", "
              "\"fixed_window\"",
              "f.json: /packet/window: a bare number has no unit: write a size with B, KiB, MiB, GiB, KB, MB or GB, such as \"256KiB\"; "
              "got 4096"});
  CHECK(lines_for(with_packet(R"({"faults": {"failures": [{"link": "lower0->uper1", "at": "2ms", "until": "1ms"}, {"at": "0s"}]}})")) ==
        Lines{"f.json: /packet/faults/failures/1/link: missing: write a string"});
  CHECK(lines_for(with_packet(R"({"faults": {"failures": [{"link": "lower0->uper1", "at": "2ms", "until": "1ms"}]}})")) ==
        Lines{"f.json: /packet/faults/failures/0/until: must come after at = 2ms, got 1ms",
              "f.json: /packet/faults/failures/0/link: the fabric has no link \"lower0->uper1\" (did you mean \"lower0->upper1\"?)"});
}
