#include "sim/repeated.hpp"

#include "sim/cases/testing.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"
#include "sim/scenario/repeat_fields.hpp"

#include <algorithm>
#include <sstream>

using namespace weft;

namespace {

// Halving-doubling in random order on a Fat-Tree: congested as the seeds say.
Scenario congested(const std::string& network = "flow", const Json& changes = Json::object()) {
  Json json = good_scenario();
  json["fabric"] = Json::parse(R"({"type": "fat_tree", "leaves": 4, "nodes_per_leaf": 4, "spines": 2,
                                   "link": {"bandwidth": "100Gbps", "latency": "500ns"}})");
  json["network"] = network;
  json["workload"] = Json::parse(R"({"algorithm": "halving_doubling", "size": "1MiB"})");
  json["repeat"] = Json::parse(R"({"runs": 7, "vary": ["placement", "ecmp", "start"]})");
  json.merge_patch(changes);
  return cases_of(json).at(0).scenario;
}

Row repeated(const Scenario& scenario, unsigned processes) {
  return simulate_repeated(scenario, scenario.workload.algorithms.front(), scenario.workload.sizes.front(), {.processes = processes});
}

}  // namespace

TEST_CASE("repeat: quantiles lie between the order statistics in proportion") {
  const std::vector<SimTime> times = {10_ps, 20_ps, 40_ps, 80_ps};
  CHECK(quantile(times, 0) == 10_ps);
  CHECK(quantile(times, 1) == 80_ps);
  CHECK(quantile(times, 0.5) == 30_ps);
  CHECK(quantile(times, 0.05) == 12_ps);  // 10 + 0.15 of 10, rounded
  CHECK(quantile(times, 0.95) == 74_ps);  // 40 + 0.85 of 40
  CHECK(quantile({times.data(), 1}, 0.95) == 10_ps);
}

TEST_CASE("repeat: a row has the median of its runs, and is the same in however many processes") {
  const Scenario scenario = congested();
  Row row = repeated(scenario, 1);
  std::vector<SimTime> alone;
  for (int run = 0; run < 7; ++run)
    alone.push_back(Experiment(scenario_of_run(scenario, run), scenario.workload.algorithms.front()).run(1_MiB).time);
  CHECK(row.times == alone);
  std::ranges::sort(alone);
  CHECK(alone.front() < alone.back());
  CHECK(row.runs == 7);
  CHECK(row.time == alone[3]);
  CHECK(row.time_p05 == quantile(alone, 0.05));
  CHECK(row.time_p95 == quantile(alone, 0.95));
  CHECK(row.critical_path.has_value());
  for (const unsigned processes : {2U, 3U, 16U}) {
    Row again = repeated(scenario, processes);
    again.wall_s = row.wall_s;
    CHECK(again == row);
  }
}

TEST_CASE("repeat: each job beside the row's own has the spread of its own times, and the rest of it is of the row's run") {
  const Scenario scenario =
      congested("flow", Json::parse(R"({"workload": {"ranks": 8}, "jobs": [{"name": "b", "ranks": 8, "size": "2MiB"}]})"));
  const Row row = repeated(scenario, 3);
  std::vector<SimTime> of_b;
  for (int run = 0; run < 7; ++run)
    of_b.push_back(Experiment(scenario_of_run(scenario, run), scenario.workload.algorithms.front()).run(1_MiB).jobs.at(1).time);
  REQUIRE(row.jobs.size() == 2);
  CHECK(std::ranges::count(of_b, row.jobs[1].time) > 0);
  std::ranges::sort(of_b);
  CHECK(row.jobs[1].time_p05 == std::min(row.jobs[1].time, quantile(of_b, 0.05)));
  CHECK(row.jobs[1].time_p95 == std::max(row.jobs[1].time, quantile(of_b, 0.95)));
  CHECK(*row.jobs[1].time_p05 < *row.jobs[1].time_p95);
  CHECK(row.jobs[0].time_p05 == row.time_p05);
  CHECK(row.jobs[0].time_p95 == row.time_p95);
}

TEST_CASE("repeat: of an even number of runs a row is of the shorter one in the middle, with all that follows from its time") {
  Json changes = Json::parse(R"({"workload": {"ranks": 8}, "jobs": [{"name": "beside", "ranks": 4}]})");
  for (const int runs : {2, 4}) {
    CAPTURE(runs);
    changes["repeat"]["runs"] = runs;
    const Row row = repeated(congested("flow", changes), 1);
    std::vector<SimTime> sorted = row.times;
    std::ranges::sort(sorted);
    const auto middle = static_cast<std::size_t>(runs) / 2;
    REQUIRE(sorted[middle - 1] < sorted[middle]);
    CHECK(row.time == sorted[middle - 1]);
    CHECK(row.time_p05 <= row.time);
    CHECK(row.time_p95 >= row.time);
    REQUIRE(!row.jobs.empty());
    CHECK(row.jobs.front().time == row.time);
  }
}

TEST_CASE("repeat: networks that run once in a process are repeated in processes of their own") {
  const Scenario flow = congested(), reference = congested("simgrid");
  const Row ours = repeated(flow, 2);
  std::istringstream theirs(in_child([&] {  // where SimGrid's engine has not run yet
    std::string out;
    for (const SimTime time : repeated(reference, 2).times) out += fmt::format("{} ", time.seconds());
    return out;
  }));
  for (const SimTime time : ours.times) {
    double seconds = 0;
    REQUIRE(static_cast<bool>(theirs >> seconds));
    CHECK(seconds == doctest::Approx(time.seconds()).epsilon(1e-5));
  }
}

TEST_CASE("repeat: a run that fails says which it is") {
  Json json = good_scenario();
  json["workload"] = Json::parse(R"({"algorithm": "ring", "size": "1MiB"})");
  json["repeat"] = Json::parse(R"({"runs": 3, "vary": ["start"]})");
  json["faults"] = Json::parse(R"({"failures": [{"cable": "upper0/node0->upper0"}]})");
  const Scenario scenario = cases_of(json).at(0).scenario;
  std::string why;
  try {
    repeated(scenario, 1);
  } catch (const RunError& error) {
    why = error.what();
  }
  CAPTURE(why);
  CHECK(why.starts_with("run 1 of 3: job workload: no progress is possible:"));
  CHECK(why.ends_with("is down: 1 message waits for it"));
}
