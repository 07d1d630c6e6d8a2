// Programs of scenarios through the whole simulator.
#include "sim/program_of_workload.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/cases/cases.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"
#include "sim/scenario/profiles.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Four nodes on 100 Gb/s, half a microsecond a cable.
Json step() {
  return Json::parse(R"({
    "schema": 1, "name": "step",
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "500ns"}}, "hardware": "ideal",
    "workload": {"program": [
      {"id": "backward2", "compute": "3ms"},
      {"id": "gradients2", "collective": "allreduce", "size": "4MB", "algorithm": "ring", "stream": 1, "after": ["backward2"]},
      {"id": "backward1", "compute": "100us"},
      {"id": "gradients1", "collective": "allreduce", "size": "4MB", "stream": 1, "after": ["backward1"]}]}})");
}

std::vector<Case> cases_read(const Json& json, Input& in) { return expand(json, {}, "f", in); }

Scenario scenario_of(const Json& json) {
  const ProfileLibrary profiles = ProfileLibrary::beside("f.json");
  Input in{.profiles = &profiles};
  auto cases = cases_read(json, in);
  REQUIRE(in.problems.empty());
  return cases.front().scenario;
}

std::vector<Problem> problems_of(const Json& json) {
  const ProfileLibrary profiles = ProfileLibrary::beside("f.json");
  Input in{.profiles = &profiles};
  cases_read(json, in);
  return in.problems;
}

SimTime time_of_first(const Json& json) {
  const Scenario s = scenario_of(json);
  const AlgorithmChoice& row = s.workload.algorithms.front();
  return {std::stoll(in_child([&] { return std::to_string(simulate(s, row, s.workload.sizes.front()).time.ps); }))};
}

}  // namespace

TEST_CASE("program of a workload: a step whose gradients are reduced while the next part is computed") {
  // Each ring: 6 steps of 1 us and 80 us. The second part ends at 3.1 ms, within the first ring, and its ring follows on stream 1.
  CHECK(time_of_first(step()) == 3_ms + 12 * 81_us);
  Json late = step();
  late["workload"]["program"][2]["compute"] = "2ms";
  CHECK(time_of_first(late) == 5_ms + 6 * 81_us);
  Json two_streams = step();
  two_streams["workload"]["program"][3]["stream"] = 2;  // they share every cable from 3.1 ms on
  const SimTime shared = time_of_first(two_streams);
  CHECK(shared > 3_ms + 6 * 81_us);
  CHECK(shared <= 3_ms + 12 * 81_us);
  for (const char* network : {"packet", "simgrid"}) {
    CAPTURE(network);
    Json other = two_streams;
    other["network"] = network;
    CHECK(time_of_first(other).seconds() == doctest::Approx(shared.seconds()).epsilon(network == std::string("packet") ? 0.05 : 1e-4));
  }
}

TEST_CASE("program of a workload: some ranks do an operation, others go on; a message joins two of them") {
  Json json = step();
  json["workload"]["program"] = Json::parse(R"([
    {"id": "slow", "compute": "1ms", "ranks": [1]},
    {"id": "pair", "collective": "allreduce", "size": "2MB", "ranks": [0, 2]},
    {"id": "message", "send": "1MB", "from": 1, "to": 0, "after": ["slow", "pair"]}])");
  const Scenario s = scenario_of(json);
  CHECK(time_of_first(json) == 1_ms + 81_us);
  CHECK(s.workload.sizes == std::vector{3_MB});
  Prover prover;
  const Program p = program_of_workload(s, s.workload.algorithms.front(), {*build(s.fabric.spec, s.server), {0, 1, 2, 3}, prover});
  CHECK(p.operations.size() == 4);
  CHECK(p.of_rank(3).empty());
  CHECK(p.of_rank(0).size() == 2);
}

TEST_CASE("program of a workload: it runs on servers, beside jobs and traffic, several times") {
  Json json = step();
  json["workload"]["iterations"] = 3;
  json["server"] = "dgx_h100";
  json["traffic"] = Json::parse(R"([{"pattern": "permutation", "size": "1MiB"}])");
  json["jobs"] = Json::parse(R"([{"ranks": 4, "size": "1MiB", "algorithm": "ring"}])");
  json["workload"]["ranks"] = 8;
  CHECK(time_of_first(json) > 3_ms);
}

TEST_CASE("program of a workload: what cannot be run is refused, all at once") {
  const auto problems = [](const char* operations) {
    Json json = step();
    json["workload"]["program"] = Json::parse(operations);
    return problems_of(json);
  };
  using P = std::vector<Problem>;
  CHECK(problems(R"([{"id": "a"}, {"id": "a", "compute": "1ms", "size": "1KiB", "after": ["b"]}])") ==
        P{{"/workload/program/0", "must have one of \"compute\", \"collective\" and \"send\", got 0 of them"},
          {"/workload/program/1/after/0", "\"b\" is no operation before this one"},
          {"/workload/program/1/id", "\"a\" is the id of an operation before"},
          {"/workload/program/1/size", "goes with \"collective\" only"}});
  CHECK(problems(R"([{"id": "a", "collective": "allreduce"}, {"id": "m", "send": "1KiB", "from": 2, "to": 4}])") ==
        P{{"/workload/program/0/size", "missing: write a size such as \"256KiB\""},
          {"/workload/program/1/to", "must be a rank, 0 to 3, got 4"}});
  CHECK(problems(R"([{"id": "a", "collective": "allreduce", "size": "3B", "algorithm": "atp", "ranks": [1, 1]}])").size() == 1);
  CHECK(problems(R"([{"id": "a", "collective": "allreduce", "size": "4KiB", "algorithm": "atp"}])").front().where ==
        "/workload/program/0/algorithm");
  Json sized = step();
  sized["workload"]["size"] = "1MiB";
  sized["network"] = "ns3";
  const auto of_sized = problems_of(sized);
  CHECK(std::ranges::find(of_sized, "/workload/size", &Problem::where) != of_sized.end());
  Json neither = step();
  neither["workload"].erase("program");
  CHECK(problems_of(neither).size() == 2);  // algorithm and size are missing
}

TEST_CASE("two jobs on the same endpoints share every cable, and take twice as long") {
  Json json = step();
  json["workload"] = Json::parse(R"({"algorithm": "ring", "size": "4MB"})");
  CHECK(time_of_first(json) == 6 * 81_us);
  json["jobs"] = Json::parse(R"([{"share_endpoints": true}])");
  CHECK(time_of_first(json) == 6 * 161_us);
}

TEST_CASE("program of a workload: nccl knows which of a collective's ranks share a server") {
  Json json = Json::parse(R"({"schema": 1, "name": "pairs", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "400Gbps",
    "latency": "500ns"}}, "server": "dgx_h100", "hardware": "h100_servers", "workload": {}})");
  Json alone = json;
  alone["workload"] = Json::parse(R"({"algorithm": "nccl", "size": "1MiB", "ranks": 2})");
  for (const char* ranks : {"[0, 8]", "[0, 1]", "[3, 9]"}) {
    CAPTURE(ranks);
    json["workload"]["program"] = Json::parse(R"([{"id": "a", "collective": "allreduce", "size": "1MiB", "algorithm": "nccl"}])");
    json["workload"]["program"][0]["ranks"] = Json::parse(ranks);
    alone["placement"] = {{"policy", "list"}, {"nodes", Json::parse(ranks)}};
    CHECK(time_of_first(json) == time_of_first(alone));
  }
}

TEST_CASE("program of a workload: a collective costs what a profile says of its size, as it does by itself") {
  Json program = step(), alone = step();
  program["workload"] = Json::parse(R"({"program": [{"id": "a", "collective": "allreduce", "size": "4MB", "algorithm": "ring"}]})");
  alone["workload"] = {{"size", "4MB"}, {"algorithm", "ring"}};
  for (Json* json : {&program, &alone})
    (*json)["hardware"] = Json::parse(R"({"call_overhead": "10us",
        "cost_by_size": [{"collective": "allreduce", "algorithm": "ring", "ranks": 4, "size": "4MB", "factor": 2}]})");
  CHECK(time_of_first(program) == time_of_first(alone));
  alone["hardware"] = "ideal";
  CHECK(time_of_first(program) > time_of_first(alone) + 10_us);
}
