#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::literals;

namespace {

Row run(const Json& json) {
  const Scenario s = cases_of(json).front().scenario;
  return Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front());
}

Json servers(int count, const char* algorithm) {
  Json json = Json::parse(R"({"schema": 1, "name": "servers", "fabric": {"type": "star", "link": {"bandwidth": "10Gbps", "latency": "0us"}},
    "server": "v100_nvlink", "hardware": "ideal", "workload": {"collective": "allreduce", "size": "16MB"}})");
  json["fabric"]["nodes"] = count;
  json["workload"]["algorithm"] = algorithm;
  return json;
}

}  // namespace

TEST_CASE("row: what a NIC sent is what left its server") {
  // 16 GPUs, 8 behind each NIC. A ring crosses from server to server once: 2 x 15/16 of 16 MB. GPUs that send a sixteenth to each of the 8
  // of the other server, in two phases: 2 x 8 x 8 x 1 MB.
  CHECK(run(servers(2, "ring")).wire_bytes_per_rank == 30_MB);
  CHECK(run(servers(2, "hierarchical_ring")).wire_bytes_per_rank == 16_MB);
  CHECK(run(servers(2, "direct")).wire_bytes_per_rank == 128_MB);
  CHECK(run(servers(1, "ring")).wire_bytes_per_rank == 0_B);
}

TEST_CASE("row: what another job sends is not counted, however often it does") {
  Json json = Json::parse(R"({"schema": 1, "name": "two", "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "10Gbps",
    "latency": "2us"}}, "hardware": "ideal", "workload": {"size": "4MB", "algorithm": "ring", "compression": "gtopk", "ranks": 4}})");
  const Bytes alone = run(json).wire_bytes_per_rank;
  json["jobs"] = Json::parse(R"([{"name": "b", "size": "25MB", "iterations": 10, "placement": "linear"}])");
  const Row row = run(json);
  CHECK(row.wire_bytes_per_rank == alone);
  REQUIRE(row.jobs.size() == 2);
  CHECK(row.jobs.back().wire_bytes_per_rank == 37'500_KB);  // 2 x 3/4 of 25 MB
}
