#include "sim/scenario/repeat_fields.hpp"

#include "sim/cases/testing.hpp"

#include <set>

using namespace weft;

namespace {

Scenario repeated(const char* repeat, Json json = good_scenario()) {
  json["repeat"] = Json::parse(repeat);
  return cases_of(json).at(0).scenario;
}

}  // namespace

TEST_CASE("repeat: each run has seeds of its own, the same whenever it is asked for, and nothing else changes") {
  const Scenario scenario = repeated(R"({"runs": 3, "vary": ["placement", "ecmp", "start"]})");
  std::set<std::uint64_t> seeds;
  for (int run = 0; run < 3; ++run) {
    const Scenario one = scenario_of_run(scenario, run);
    CHECK(!one.repeat);
    CHECK(one.placement.policy == PlacementPolicy::random);
    CHECK(one.start_skew->max == 1_ns);  // none was given
    for (const std::uint64_t seed : {one.placement.seed, one.fabric.ecmp.seed, one.start_skew->seed}) seeds.insert(seed);
    CHECK(one.placement == scenario_of_run(scenario, run).placement);
    CHECK(one.fabric.spec == scenario.fabric.spec);
    CHECK(one.workload == scenario.workload);
  }
  CHECK(seeds.size() == 9);
  const Scenario other = repeated(R"({"runs": 3, "vary": ["placement"], "seed": 2})");
  CHECK(scenario_of_run(other, 0).placement.seed != scenario_of_run(scenario, 0).placement.seed);
  CHECK(!scenario_of_run(other, 0).start_skew);
  CHECK(scenario_of_run(other, 0).fabric.ecmp == other.fabric.ecmp);
  CHECK(describe(*scenario.repeat, scenario) ==
        "3 runs (seed 1), each with another random placement, another ECMP hash, other starts within 1ns");
}

TEST_CASE("repeat: a list of endpoints is shuffled, a skew keeps its maximum, and the scenario's seed is the default") {
  Json json = good_scenario();
  json["seed"] = 9;
  json["start_skew"] = Json::parse(R"({"max": "5us"})");
  json["workload"]["ranks"] = 4;
  json["workload"]["algorithm"] = "ring";
  json["placement"] = Json::parse(R"({"policy": "list", "nodes": [3, 9, 17, 30]})");
  const Scenario scenario = repeated(R"({"runs": 40, "vary": ["placement", "start"]})", json);
  CHECK(scenario.repeat->seed == 9);
  std::set<std::vector<int>> seen;
  for (int run = 0; run < 40; ++run) {
    const Scenario one = scenario_of_run(scenario, run);
    CHECK(one.start_skew->max == 5_us);
    CHECK(std::set<int>(one.placement.nodes.begin(), one.placement.nodes.end()) == std::set{3, 9, 17, 30});
    seen.insert(one.placement.nodes);
  }
  CHECK(seen.size() > 10);  // of 24 orders
}

TEST_CASE("repeat: what varies nothing, stands twice or is unknown is refused") {
  const auto lines = [](const char* repeat, Json json = good_scenario()) {
    json["repeat"] = Json::parse(repeat);
    return lines_for(json);
  };
  CHECK(lines(R"({"runs": 0, "vary": ["start"]})") == Lines{"f.json: /repeat/runs: must be between 1 and 10000, got 0"});
  CHECK(lines(R"({"runs": 2})") == Lines{"f.json: /repeat/vary: missing: write a list"});
  CHECK(lines(R"({"runs": 2, "vary": []})") ==
        Lines{"f.json: /repeat/vary: an empty list says nothing: give at least one value, or leave it out"});
  CHECK(lines(R"({"runs": 2, "vary": ["starts"]})") == Lines{"f.json: /repeat/vary/0: unknown random choice \"starts\" (did you mean "
                                                             "\"start\"?); allowed: \"placement\", \"ecmp\", \"start\", "
                                                             "\"traffic\", \"packet\", \"stragglers\""});
  CHECK(lines(R"({"runs": 2, "vary": ["start", "start", "traffic"]})") ==
        Lines{"f.json: /repeat/vary/1: \"start\" stands at /repeat/vary/0 already",
              "f.json: /repeat/vary/2: \"traffic\" would change nothing: there is no \"traffic\" with a random permutation"});
  CHECK(lines(R"({"runs": 2, "vary": ["packet"]})") == Lines{"f.json: /repeat/vary/0: \"packet\" would change nothing: losses and marks "
                                                             "are random on the network \"packet\", not on \"flow\""});
  Json d_mod_k = good_scenario();
  d_mod_k["fabric"]["ecmp"]["policy"] = "d_mod_k";
  CHECK(lines(R"({"runs": 2, "vary": ["ecmp"]})", d_mod_k) ==
        Lines{"f.json: /repeat/vary/0: \"ecmp\" would change nothing: the policy \"d_mod_k\" makes no random choice"});
  CHECK(lines(R"({"runs": 2, "vary": ["ecmp", "start"]})", d_mod_k).empty());
  Json star = good_scenario();
  star["fabric"] = Json::parse(R"({"type": "star", "nodes": 8, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})");
  star["workload"]["algorithm"] = "ring";
  CHECK(lines(R"({"runs": 2, "vary": ["ecmp"]})", star) ==
        Lines{"f.json: /repeat/vary/0: \"ecmp\" would change nothing: the fabric has one path between any two endpoints"});
}
