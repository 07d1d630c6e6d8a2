#include "sim/library/run_scenario.hpp"

#include "collectives/registry/registry.hpp"
#include "sim/cases/testing.hpp"

using namespace weft;

namespace {

// Two endpoints, and two cables of different length between them, of which messages take the second.
class LongWayRound : public Fabric {
 public:
  LongWayRound() {
    const NodeId a = add_endpoint("a"), b = add_endpoint("b");
    near_ = add_cable(a, b, {100_Gbps, 1_us});
    far_ = add_cable(a, b, {100_Gbps, 5_us});
  }
  int path_count(int, int) const override { return 1; }
  void append_path(int from, int, int, std::vector<Hop>& path) const override { path.push_back({far_ + from}); }

 private:
  LinkId near_, far_;
};

// Every rank sends its whole share to every other: right, and dear.
Schedule everyone_to_everyone(const Request& request) {
  Schedule out{.name = "everyone_to_everyone", .ranks = request.ranks, .chunks = 1};
  Step& step = out.add_step();
  for (Rank from = 0; from < request.ranks; ++from)
    for (Rank to = 0; to < request.ranks; ++to)
      if (from != to) step.reduce({.from = from, .to = to, .chunk = 0});
  return out;
}

Algorithm algorithm_of(const char* name, Schedule (*build)(const Request&)) {
  return {.name = name, .collective = Collective::allreduce, .description = "For a test.", .source = "this test", .build = build};
}

// Before the first scenario is read, whichever test that is in.
void add_ours() {
  static const bool added = [] {
    add_algorithm(algorithm_of("everyone_to_everyone", everyone_to_everyone));
    add_algorithm(algorithm_of("forgetful",
                               [](const Request& request) { return Schedule{.name = "forgetful", .ranks = request.ranks, .chunks = 1}; }));
    return true;
  }();
  CHECK(added);
}

Json scenario_on_a_star() {
  add_ours();
  return Json::parse(
      R"({"schema": 1, "name": "two", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
    "hardware": "ideal", "workload": {"collective": "allreduce", "algorithm": ["ring"], "size": "1MB"}})");
}

}  // namespace

TEST_CASE("a scenario runs from JSON, rows in the order of weft run, its sweep beside the columns") {
  Json scenario = scenario_on_a_star();
  scenario["sweep"] = {{"/workload/size", {"1MB", "2MB"}}};
  const auto rows = run_scenario(scenario, {.set = {parse_setting("/workload/dtype=float16")}});
  REQUIRE(rows.size() == 2);
  // Two steps of 0.5 MB over two cables: 2 (2 us + 40 us), and of 1 MB: 2 (2 us + 80 us).
  CHECK(rows[0].row.time == 84_us);
  CHECK(rows[1].row.time == 164_us);
  const Json line = columns(rows[1]);
  CHECK(line.at("time_us") == 164.0);
  CHECK(line.at("dtype") == "float16");
  CHECK(line.at("/workload/size") == "2MB");
}

TEST_CASE("a fabric of the program's own is simulated with its routes") {
  // Two steps of 40 us on the cable of 5 us; the routes of a graph would take that of 1 us or either.
  const auto rows = run_scenario(scenario_on_a_star(), {.fabric = std::make_shared<const LongWayRound>()});
  CHECK(rows.front().row.time == 90_us);
  CHECK(rows.front().row.fabric == "graph");
}

TEST_CASE("an algorithm of the program's own is proved and simulated like the others") {
  Json scenario = scenario_on_a_star();
  scenario["fabric"]["nodes"] = 4;
  scenario["workload"]["algorithm"] = "everyone_to_everyone";
  // Each NIC sends three times 1 MB: 3 x 80 us, and two cables of 1 us.
  const auto rows = run_scenario(scenario);
  CHECK(rows.front().row.time == 242_us);
  CHECK(rows.front().row.messages == 12);
  scenario["workload"]["algorithm"] = "everyone";
  CHECK_THROWS_WITH_AS(run_scenario(scenario), doctest::Contains("\"everyone_to_everyone\""), InputError);
}

TEST_CASE("an algorithm that does not add up is refused with what is wrong") {
  Json scenario = scenario_on_a_star();
  scenario["workload"]["algorithm"] = "forgetful";
  CHECK_THROWS_WITH_AS(run_scenario(scenario), doctest::Contains("forgetful on 2 ranks is wrong"), RunError);
  CHECK_THROWS_WITH_AS(add_algorithm(algorithm_of("ring", everyone_to_everyone)), "allreduce has an algorithm \"ring\" already",
                       InputError);
  CHECK_THROWS_WITH_AS(add_algorithm(algorithm_of("Ring 2", everyone_to_everyone)), doctest::Contains("such as my_ring, got \"Ring 2\""),
                       InputError);
  CHECK_THROWS_WITH_AS(add_algorithm(algorithm_of("unbuilt", nullptr)), doctest::Contains("nothing that builds"), InputError);
}

TEST_CASE("what is wrong with a scenario is said all at once, before anything runs") {
  Json scenario = scenario_on_a_star();
  scenario["workload"]["algoritm"] = "ring";
  scenario["fabric"]["nodes"] = 0;
  try {
    run_scenario(scenario);
    FAIL("it ran");
  } catch (const InputError& error) {
    CHECK(error.problems().size() == 2);
    CHECK(error.problems().front().starts_with("scenario: /"));
  }
  Json swept = scenario_on_a_star();
  swept["sweep"] = {{"/fabric/link/latency", {"1us"}}};
  CHECK_THROWS_AS(run_scenario(swept, {.fabric = std::make_shared<const LongWayRound>()}), InputError);
  Json with_server = scenario_on_a_star();
  with_server["server"] = "sub_node";
  CHECK_THROWS_WITH_AS(run_scenario(with_server, {.fabric = std::make_shared<const LongWayRound>()}),
                       doctest::Contains("/server: must not be given"), InputError);
}

TEST_CASE("a schedule can be had without simulating it") {
  const Schedule ring = schedule_of(scenario_on_a_star());
  CHECK(ring.ranks == 2);
  CHECK(ring.steps() == 2);
  CHECK(ring.messages() == 4);
  Json in_switches = scenario_on_a_star();
  in_switches["workload"]["algorithm"] = "atp";
  CHECK_THROWS_WITH_AS(schedule_of(in_switches), doctest::Contains("has no schedule"), InputError);
}
