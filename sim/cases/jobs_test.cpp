#include "sim/cases/jobs.hpp"

#include "sim/cases/testing.hpp"

#include <set>

using namespace weft;

namespace {

// 16 endpoints on a star; the workload takes 8.
Json with_jobs(const char* jobs, const char* traffic = "[]") {
  Json json = Json::parse(R"({
    "schema": 1, "fabric": {"type": "fat_tree", "leaves": 4, "nodes_per_leaf": 4, "spines": 2, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
    "workload": {"algorithm": "ring", "size": "1MiB", "ranks": 8}})");
  json["jobs"] = Json::parse(jobs);
  json["traffic"] = Json::parse(traffic);
  return json;
}

std::vector<std::vector<int>> placed(const char* jobs) {
  const Scenario s = cases_of(with_jobs(jobs)).front().scenario;
  return placements_of_jobs(s, s.workload.algorithms.front());
}

}  // namespace

TEST_CASE("jobs: what is not given is as the workload has it") {
  const Scenario s =
      cases_of(
          with_jobs(R"([{"ranks": 4}, {"name": "late", "algorithm": "halving_doubling", "size": "4KiB", "ranks": 2, "start": "1ms"}])"))
          .front()
          .scenario;
  REQUIRE(s.jobs.size() == 2);
  CHECK(s.jobs[0].name == "job1");
  const Scenario first = scenario_of_job(s, s.workload.algorithms.front(), 1_MiB, JobChoice{.ranks = 4});
  CHECK(first.workload.algorithms.front().name == "ring");
  CHECK(first.workload.sizes == std::vector{1_MiB});
  CHECK(first.workload.ranks == 4);
  const Scenario late = scenario_of_job(s, s.workload.algorithms.front(), 1_MiB, s.jobs[1]);
  CHECK(late.workload.algorithms.front().name == "halving_doubling");
  CHECK(late.workload.sizes == std::vector{4_KiB});
}

TEST_CASE("jobs: each takes endpoints that those before it leave free") {
  CHECK(placed(R"([{"ranks": 4}, {"ranks": 2}])") == std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13}});
  CHECK(placed(R"([{"ranks": 4, "placement": "round_robin"}, {"ranks": 2}])")[1] == std::vector{8, 12, 9, 13});
  CHECK(placed(R"([{"ranks": 2, "placement": {"policy": "list", "nodes": [15, 9]}}, {"ranks": 3}])")[2] == std::vector{8, 10, 11});
  const auto random = placed(R"([{"ranks": 8, "placement": {"policy": "random", "seed": 5}}])")[1];
  CHECK(std::set<int>(random.begin(), random.end()) == std::set<int>{8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(random != std::vector{8, 9, 10, 11, 12, 13, 14, 15});
}

TEST_CASE("jobs: one that says so shares the endpoints of others") {
  CHECK(placed(R"([{"ranks": 4, "share_endpoints": true}, {"ranks": 2}])") ==
        std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3}, {8, 9}});
  CHECK(placed(R"([{"ranks": 2, "share_endpoints": true, "placement": {"policy": "list", "nodes": [7, 9]}}, {"ranks": 2}])") ==
        std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7}, {7, 9}, {8, 10}});
  CHECK(lines_for(with_jobs(R"([{"ranks": 17, "share_endpoints": true}])")) ==
        Lines{"f.json: /jobs/0/ranks: must be at most 16, the endpoints of the fabric, got 17"});
  CHECK(lines_for(with_jobs(R"([{"ranks": 2, "share_endpoints": true, "algorithm": "switchml"}])")) ==
        Lines{"f.json: /jobs/0/share_endpoints: switchml needs endpoints of its own for its workers"});
}

TEST_CASE("jobs: two on one endpoint are refused, and so is what does not fit") {
  CHECK(lines_for(with_jobs(R"([{"name": "a", "ranks": 2, "placement": {"policy": "list", "nodes": [8, 9]}},
                                {"ranks": 3, "placement": {"policy": "list", "nodes": [7, 9, 10]}}])")) ==
        Lines{"f.json: /jobs/1/placement/nodes/0: endpoint 7 is taken by the workload",
              "f.json: /jobs/1/placement/nodes/1: endpoint 9 is taken by job \"a\""});
  CHECK(lines_for(with_jobs(R"([{}, {"ranks": 1}])")) ==
        Lines{"f.json: /jobs/1/ranks: needs 1 endpoints; 0 of 16 are free beside the workload and the jobs before it"});
  CHECK(lines_for(with_jobs(R"([{"ranks": 3, "size": "6B"}])")) ==
        Lines{"f.json: /jobs/0/size: must be a multiple of 4 bytes, the size of a float32, got \"6B\""});
  CHECK(lines_for(with_jobs(R"([{"rank": 4}])")) == Lines{"f.json: /jobs/0/rank: unknown key (did you mean \"ranks\"?)"});
  CHECK(lines_for(with_jobs(R"([{"ranks": 4, "size": "7B", "algorithm": "hdrm", "name": "x"}, {"ranks": 1, "name": "x"}])")).size() == 2);
  CHECK(lines_for(with_jobs(R"([{"ranks": 4, "placement": "hdrm"}])")) ==
        Lines{"f.json: /jobs/0/placement: hdrm fills the whole fabric; only the workload can"});
}

TEST_CASE("jobs: extra servers take endpoints that the ranks of all jobs leave") {
  Json json = with_jobs(R"([{"ranks": 2, "placement": {"policy": "list", "nodes": [8, 10]}}, {"ranks": 1, "algorithm": "ring"}])");
  json["workload"]["algorithm"] = Json::parse(R"({"name": "parameter_server", "servers": 2, "server_hosts": "extra"})");
  const Scenario s = cases_of(json).front().scenario;
  CHECK(placements_of_jobs(s, s.workload.algorithms.front()) ==
        std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7, 11, 12}, {8, 10, 13, 14}, {9}});
  CHECK(placement_of_workload(s, s.workload.algorithms.front()) == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 11, 12});

  json["workload"]["algorithm"]["servers"] = 3;
  CHECK(lines_for(json) ==
        Lines{"f.json: /jobs/0: needs 3 endpoints for servers; 2 of 16 are left by the ranks of all jobs and the servers before"});
  json["workload"]["algorithm"]["servers"] = 6;
  CHECK(lines_for(json) == Lines{"f.json: /workload/algorithm/servers: needs 6 endpoints for servers; 5 of 16 are left by the ranks of all "
                                 "jobs and the servers before"});
  json["workload"]["algorithm"] = "ring";
  json["jobs"][1]["algorithm"] = Json::parse(R"({"name": "parameter_server", "server_hosts": "extra"})");
  json["jobs"][1]["ranks"] = 6;
  CHECK(lines_for(json) == Lines{"f.json: /jobs/1/algorithm/server_hosts: needs 1 endpoints for servers; 0 of 16 are left by the ranks of "
                                 "all jobs and the servers before"});
}

TEST_CASE("jobs: networks that know none refuse them") {
  Json json = with_jobs(R"([{"ranks": 4}])", R"([{"pattern": "permutation", "size": "1MiB"}])");
  json["workload"]["iterations"] = 2;
  CHECK(lines_for(json) == Lines{});
  json["network"] = "packet";
  CHECK(lines_for(json) == Lines{});
  json["network"] = "simgrid";
  CHECK(lines_for(json) == Lines{"f.json: /traffic: runs on the networks \"flow\" and \"packet\" only, got \"simgrid\"",
                                 "f.json: /jobs: on the networks \"flow\" and \"packet\" only, got \"simgrid\"",
                                 "f.json: /workload/iterations: on the networks \"flow\" and \"packet\" only, got \"simgrid\""});
}

TEST_CASE("traffic: read, printed and checked with its place") {
  const Json traffic = Json::parse(R"([
    {"pattern": "permutation", "endpoints": "all", "seed": 4, "size": "1MiB", "start": "0ps", "stop": "never", "period": "1ms", "on": "2ms", "off": "1ms"},
    {"pattern": "incast", "endpoints": [1, 2], "to": 3, "size": "64KiB", "start": "1us", "stop": "1ms", "period": "0ps", "on": "0ps", "off": "0ps"},
    {"pattern": "pairs", "pairs": [[0, 15], [3, 4]], "size": "64KiB", "start": "1us", "stop": "1ms", "period": "0ps", "on": "0ps", "off": "0ps"}])");
  Json json = with_jobs("[]");
  json["traffic"] = traffic;
  CHECK(lines_for(json) == Lines{});
  CHECK(lines_for(to_json(cases_of(json).front().scenario)) == Lines{});
  CHECK(cases_of(to_json(cases_of(json).front().scenario)).front().scenario.traffic == cases_of(json).front().scenario.traffic);
  CHECK(lines_for(
            with_jobs("[]", R"([{"pattern": "incast", "to": 16, "size": "0B"}, {"pattern": "pairs", "pairs": [[1]], "size": "1B"}])")) ==
        Lines{"f.json: /traffic/0/size: must be more than 0 B, got 0B", "f.json: /traffic/0/to: must be between 0 and 15, got 16",
              "f.json: /traffic/1/pairs/0: must be a sender and a receiver, got 1 endpoints"});
}

TEST_CASE("jobs: beside a workload that trains, a job has a size of its own, which is looked at like any other") {
  Json json = with_jobs(R"([{"name": "b", "ranks": 4}])");
  json["workload"] = {{"model", "resnet50"}, {"device", "v100"}, {"engine", "ddp"}, {"algorithm", "ring"}, {"ranks", 8}};
  CHECK(lines_for(json) ==
        Lines{"f.json: /jobs/0/size: missing: a job beside a workload that trains is one collective, of a size of its own: write such as "
              "\"64MiB\""});
  json["jobs"][0]["size"] = "63B";
  CHECK(lines_for(json) == Lines{"f.json: /jobs/0/size: must be a multiple of 4 bytes, the size of a float32, got \"63B\""});
  json["jobs"][0]["size"] = "64MiB";
  CHECK(lines_for(json) == Lines{});
}
