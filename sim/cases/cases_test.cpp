#include "sim/cases/cases.hpp"

#include "sim/cases/testing.hpp"

using namespace weft;

TEST_CASE("an object of lists is swept as a product, the last list fastest") {
  Json json = good_scenario();
  json["sweep"] = Json::parse(R"({"/fabric/switches": [8, 16], "/workload/dtype": ["float32", "float64"]})");
  const auto cases = cases_of(json);
  REQUIRE(cases.size() == 4);
  CHECK(std::get<BiGraph>(cases[1].scenario.fabric.spec).switches == 8);
  CHECK(cases[1].scenario.workload.dtype == DType::float64);
  CHECK(std::get<BiGraph>(cases[2].scenario.fabric.spec).switches == 16);
  CHECK(cases[2].scenario.workload.dtype == DType::float32);
  CHECK(cases[2].scenario.workload.ranks == 64);  // resolved for each case
  CHECK(cases[2].axes[0].pointer == "/fabric/switches");
  CHECK(cases[2].axes[0].value == 16);
}

TEST_CASE("a list of settings is swept case by case, whole objects included") {
  Json json = good_scenario();
  json["sweep"] = Json::parse(R"([{}, {"/fabric/switches": 16, "/fabric/nodes_per_switch": 8},
      {"/fabric": {"type": "star", "nodes": 5, "link": {"bandwidth": "1Gbps", "latency": "1us"}}, "/workload/algorithm": "ring"}])");
  const auto cases = cases_of(json);
  REQUIRE(cases.size() == 3);
  CHECK(cases[0].scenario.workload.ranks == 32);
  CHECK(cases[1].scenario.workload.ranks == 128);
  CHECK(cases[2].scenario.workload.ranks == 5);
  CHECK(cases[2].scenario.workload.algorithms.size() == 1);
}

TEST_CASE("a sweep reaches keys that the file does not write, and into shorthands") {
  Json json = with("/placement", "random");
  json["hardware"] = "eflops_simulator";
  json["sweep"] = Json::parse(
      R"({"/network": ["simgrid"], "/placement/seed": [7], "/hardware/send_overhead": ["1us"], "/fabric/ecmp/policy": ["d_mod_k"],
      "/start_skew/max": ["3us"], "/workload/algorithm/0/pieces": [2]})");
  const Scenario scenario = cases_of(json).at(0).scenario;
  CHECK(scenario.network == NetworkKind::simgrid);
  CHECK(scenario.placement == Placement{.policy = PlacementPolicy::random, .seed = 7});
  CHECK(scenario.hardware.name == "eflops_simulator");
  CHECK(scenario.hardware.send_overhead == 1_us);
  CHECK(scenario.hardware.sources.at("send_overhead") == "given in the scenario");
  CHECK(scenario.fabric.ecmp.policy == EcmpPolicy::d_mod_k);
  CHECK(scenario.start_skew->max == 3_us);
  CHECK(scenario.workload.algorithms[0].settings.pieces == 2);
}

TEST_CASE("a sweep pointer to nowhere is refused with the nearest") {
  const auto swept = [](const char* sweep) { return lines_for(with("/sweep", Json::parse(sweep))); };
  CHECK(swept(R"({"/fabric/swiches": [8, 16]})") ==
        Lines{"f.json: /sweep: \"/fabric/swiches\" points to nothing (did you mean \"/fabric/switches\"?)"});
  CHECK(swept(R"({"/fabric/leaves": [8]})") ==
        Lines{"f.json: /sweep: \"/fabric/leaves\" points to nothing; keys at \"/fabric\": \"type\", \"switches\", "
              "\"nodes_per_switch\", \"priorities\", \"link\", \"host_link\", \"fabric_link\", \"ecmp\", \"programmable\", \"sharp\""});
  CHECK(swept(R"([{"/seed": 2}, {"/sed": 3}])") == Lines{"f.json: /sweep/1: \"/sed\" points to nothing (did you mean \"/seed\"?)"});
  CHECK(swept(R"({"/workload/size/7": ["1B"]})") ==
        Lines{"f.json: /sweep: \"/workload/size/7\": \"/workload/size\" is a list of 2; give the index of an element"});
  CHECK(swept(R"({"/seed/x": [1]})") == Lines{"f.json: /sweep: \"/seed/x\" points to nothing: nothing lies below \"/seed\""});
  CHECK(swept(R"({"seed": [1]})") == Lines{"f.json: /sweep: \"seed\" is not a pointer: write for example \"/workload/size\""});
}

TEST_CASE("a sweep that is none is refused") {
  const auto swept = [](const char* sweep) { return lines_for(with("/sweep", Json::parse(sweep))); };
  CHECK(swept("null") == Lines{"f.json: /sweep: must be an object of pointers to lists, or a list of settings, got null"});
  CHECK(swept("3") == Lines{"f.json: /sweep: must be an object of pointers to lists, or a list of settings, got 3"});
  CHECK(swept("[]") == Lines{"f.json: /sweep: an empty list asks for nothing: give at least one case"});
  CHECK(swept("[3]") == Lines{"f.json: /sweep/0: must be an object of pointers and values, got 3"});
  CHECK(swept(R"({"/seed": 3})") ==
        Lines{"f.json: /sweep/~1seed: must be a list of at least one value, or a range such as {\"from\": 2, \"to\": 24, \"step\": 2}, "
              "got 3"});
}

TEST_CASE("the errors of all cases come together, each once") {
  Json json = good_scenario();
  json["sweep"] = Json::parse(R"({"/fabric/switches": [7, 8, 9], "/workload/op": ["sum", "bor"]})");
  CHECK(lines_for(json) == Lines{"f.json: /fabric/switches: must be even and at least 2, got 7 (a value of \"sweep\")",
                                 "f.json: /workload/op: \"bor\" is not defined on float32; it is on integers only (a value of \"sweep\")",
                                 "f.json: /fabric/switches: must be even and at least 2, got 9 (a value of \"sweep\")"});
}

TEST_CASE("a sweep of too many cases is refused before it is made") {
  Json json = good_scenario(), list = Json::array();
  for (int i = 0; i < 1000; ++i) list.push_back(i);
  json["sweep"] = {{"/seed", list}, {"/fabric/ecmp/seed", list}};
  CHECK(lines_for(json) == Lines{"f.json: /sweep: stands for more than 10000 cases"});
}

TEST_CASE("a list of more values than cases is refused, not left out") {
  Json list = Json::array();
  for (std::size_t i = 0; i <= max_cases; ++i) list.push_back(i);
  CHECK(lines_for(with("/sweep", Json{{"/seed", list}})) == Lines{"f.json: /sweep: stands for more than 10000 cases"});
}

TEST_CASE("settings that undo each other are refused, since rows are labelled with all of them") {
  const auto swept = [](const char* sweep) { return lines_for(with("/sweep", Json::parse(sweep))); };
  const char* star = R"({"type": "star", "nodes": 8, "link": {"bandwidth": "1Gbps", "latency": "1us"}})";
  CHECK(swept(fmt::format(R"({{"/fabric/switches": [8, 16], "/fabric": [{}]}})", star).c_str()).front() ==
        "f.json: /sweep: \"/fabric\" undoes \"/fabric/switches\", which stands before it; sweep one of them, or write it first");
  CHECK(swept(R"([{}, {"/workload/size/0": "1MiB", "/workload/size": "2MiB"}])") ==
        Lines{"f.json: /sweep/1: \"/workload/size\" undoes \"/workload/size/0\", which stands before it; sweep one of them, or write it "
              "first"});
  // The other way round both are in effect.
  Json both = with("/workload/algorithm", "ring");
  both["sweep"] = {{"/fabric", Json::array({Json::parse(star)})}, {"/fabric/nodes", {2, 4}}};
  CHECK(cases_of(both).at(0).scenario.workload.ranks == 2);
}

TEST_CASE("a sweep in a sweep is refused, not dropped") {
  const Lines refused = {"f.json: /sweep/0: sets \"/sweep\": a sweep in a sweep is not run; write one sweep"};
  CHECK(lines_for(with("/sweep", Json::parse(R"([{"/sweep": {"/seed": [1, 2]}}])"))) == refused);
  CHECK(lines_for(with("/sweep", Json::parse(R"([{"/sweep/~1seed": [1, 2]}])"))).front() == refused.front());
}

TEST_CASE("a setting of the command line is JSON, or else a string") {
  CHECK(parse_setting("/seed=3").value == 3);
  CHECK(parse_setting("/workload/size=1MiB").value == "1MiB");
  CHECK(parse_setting("/workload/size=[\"1MiB\"]").value == Json::array({"1MiB"}));
  CHECK(parse_setting("/name=a=b").value == "a=b");
  CHECK_THROWS_WITH_AS(parse_setting(R"(/faults={"failures": [)"), doctest::Contains("--set /faults: "), InputError);  // no string
  CHECK_THROWS_WITH_AS(parse_setting("seed=3"), "--set: must be /pointer=value, such as /workload/size=1MiB, got \"seed=3\"", InputError);
  CHECK(cases_of(good_scenario(), {{"/workload/algorithm", "ring"}}).at(0).scenario.workload.algorithms.size() == 1);
  CHECK(lines_for(good_scenario(), {{"/workload/sizes", 3}}) ==
        Lines{"f.json: --set: \"/workload/sizes\" points to nothing (did you mean \"/workload/size\"?)"});
  Json swept = with("/sweep", Json::parse(R"({"/fabric/switches": [8, 16]})"));
  CHECK(lines_for(swept, {{"/fabric/switches", 4}}) ==
        Lines{"f.json: /fabric/switches: is set, and swept by \"/fabric/switches\", which would undo it; --set /sweep={} drops the sweep"});
  CHECK(cases_of(swept, {{"/sweep", Json::object()}}).size() == 1);
  CHECK(lines_for(swept, {{"/sweep/~1fabric~1switches", Json{4}}}) ==
        Lines{"f.json: --set: a sweep is set as a whole, such as /sweep={\"/workload/size\": [\"1MiB\"]}, got "
              "/sweep/~1fabric~1switches"});
}

TEST_CASE("seeds that are not given are the scenario's") {
  Json json = with("/seed", 9);
  json["placement"] = "random";
  json["start_skew"] = {{"max", "1us"}};
  Scenario scenario = cases_of(json).at(0).scenario;
  CHECK(scenario.fabric.ecmp.seed == 9);
  CHECK(scenario.placement.seed == 9);
  CHECK(scenario.start_skew->seed == 9);
  json["fabric"]["ecmp"] = {{"seed", 4}};
  CHECK(cases_of(json).at(0).scenario.fabric.ecmp.seed == 4);
}

TEST_CASE("one link stands for all, and one kind of link may be given beside it") {
  Json json = good_scenario();
  json["fabric"]["host_link"] = {{"bandwidth", "25Gbps"}, {"latency", "1us"}};
  const auto spec = std::get<BiGraph>(cases_of(json).at(0).scenario.fabric.spec);
  CHECK(spec.host_link == LinkSpec{25_Gbps, 1_us});
  CHECK(spec.fabric_link == LinkSpec{100_Gbps, 500_ns});
  json["fabric"]["host_link"] = {{"bandwidth", "25Gbps"}};
  CHECK(std::get<BiGraph>(cases_of(json).front().scenario.fabric.spec).host_link == LinkSpec{25_Gbps, 500_ns});
}

TEST_CASE("a shown scenario reads back as the same one, every fabric and setting") {
  const std::vector<std::string> fabrics = {
      R"({"type": "bigraph", "switches": 8, "nodes_per_switch": 4, "priorities": 1)",
      R"({"type": "fat_tree", "k": 4)",
      R"({"type": "fat_tree", "leaves": 4, "nodes_per_leaf": 2, "spines": 2)",
      R"({"type": "star", "nodes": 4)",
      R"({"type": "torus", "dims": [2, 3])",
      R"({"type": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 2, "global_links_per_router": 1)"};
  for (const std::string& fabric : fabrics) {
    CAPTURE(fabric);
    Json json =
        with("/fabric", Json::parse(fabric + R"(, "link": {"bandwidth": "10Gbps", "latency": "1.5us"}, "ecmp": {"policy": "d_mod_k"}})"));
    json["workload"]["algorithm"] = Json::parse(R"(["ring", {"name": "hierarchical_ring", "group": 2, "channels": 2}])");
    json["hardware"] = {{"profile", "eflops_testbed"}, {"send_overhead", "1us"}, {"rendezvous_threshold", "never"}};
    json["placement"] = {{"policy", "random"}, {"seed", 3}};
    json["start_skew"] = {{"max", "10us"}};
    if (fabric.find("3,") != fabric.npos && fabric.find("torus") != fabric.npos) json["workload"]["algorithm"] = "ring";
    const Json shown_once = to_json(cases_of(json).at(0).scenario);
    const Json shown_twice = to_json(cases_of(shown_once).at(0).scenario);
    CHECK(shown_once == shown_twice);
    CHECK(shown_once["fabric"]["host_link"]["latency"] == "1.5us");
    CHECK(shown_once["hardware"]["rendezvous_threshold"] == "never");
  }
  const Json graph =
      Json::parse(R"({"type": "graph", "nodes": ["a", "b"], "links": [{"from": "a", "to": "b", "bandwidth": "1Gbps", "latency": "1us"}]})");
  Json json = with("/fabric", graph);
  json["workload"]["algorithm"] = "ring";
  const Json once = to_json(cases_of(json).at(0).scenario);
  CHECK(once == to_json(cases_of(once).at(0).scenario));
}

TEST_CASE("several cases are shown as one scenario that stands for them") {
  Json json = good_scenario();
  json["sweep"] = Json::parse(R"([{}, {"/fabric/switches": 16}, {"/network": "simgrid"}])");
  const auto cases = cases_of(json);
  const auto again = cases_of(to_json(cases));
  REQUIRE(again.size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) CHECK(to_json(cases[i].scenario) == to_json(again[i].scenario));
}

TEST_CASE("all ranks are all endpoints but those of extra servers, as many for every algorithm") {
  Json json = good_scenario();
  json["workload"]["algorithm"] = Json::parse(R"(["ring", {"name": "parameter_server", "servers": 2, "server_hosts": "extra"},
      {"name": "parameter_server", "server_hosts": "extra"}, {"name": "parameter_server", "servers": 9}])");
  const Scenario s = cases_of(json).front().scenario;
  CHECK(s.workload.ranks == 30);
  std::string labels;
  for (const AlgorithmChoice& choice : s.workload.algorithms) labels += label(choice) + " ";
  CHECK(labels == "ring parameter_server(servers=2,server_hosts=extra) parameter_server(server_hosts=extra) parameter_server(servers=9) ");
  const Json written = to_json(s);
  CHECK(written["workload"]["algorithm"][1]["server_hosts"] == "extra");
  CHECK(cases_of(written).front().scenario.workload == s.workload);
}

TEST_CASE("a sweep may set a key of an algorithm that is written by its name only") {
  Json json = with("/workload/algorithm", "ring");
  json["sweep"] = {{"/workload/algorithm/channels", {1, 2}}};
  const auto cases = cases_of(json);
  REQUIRE(cases.size() == 2);
  CHECK(label(cases[1].scenario.workload.algorithms.front()) == "ring(channels=2)");
}
