// Whatever text a scenario file has, it is read or refused (fuzz_reader.cpp is the same for libFuzzer).
#include "kernels/testing/mutations.hpp"
#include "sim/cases/plan.hpp"
#include "sim/cases/testing.hpp"

using namespace weft;

namespace {

std::vector<std::string> seeds() {
  return {
      good_scenario().dump(),
      R"({"schema": 1, "fabric": {"type": "fat_tree", "k": 4, "link": {"bandwidth": "100Gbps", "latency": "500ns"}, "ecmp": {"policy": "hash", "seed": 3}},
        "server": {"preset": "dgx", "gpus": 2}, "hardware": {"send_overhead": "1us"}, "workload": {"collective": "allgather", "algorithm":
        [{"name": "ring", "channels": 2}, "bruck"], "size": {"from": "8B", "to": "1MiB", "factor": 4}, "dtype": "bfloat16"}})",
      R"({"schema": 1, "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "25GBps", "latency": "1us"}}, "placement": {"policy": "list",
        "nodes": [3, 1, 0, 2]}, "workload": {"ranks": 4, "program": [{"id": "b", "compute": "3ms"}, {"id": "g", "collective": "allreduce",
        "size": "25MiB", "algorithm": "ring", "stream": 1, "after": ["b"]}]}, "repeat": {"runs": 3, "vary": ["start"], "seed": 1}})",
      R"({"schema": 1, "fabric": {"type": "graph", "nodes": ["a", "b"], "links": [{"between": ["a", "b"], "bandwidth": "1Gbps", "latency": "1us"}]},
        "network": "packet", "workload": {"model": "resnet50", "batch_per_gpu": 8, "device": "v100", "engine": ["ddp", {"name": "aiacc",
        "streams": 2}], "algorithm": "ring"}, "sweep": {"/workload/batch_per_gpu": [8, 16]}})",
  };
}

}  // namespace

TEST_CASE("whatever text a scenario has, it is read or refused, and what is read shows as text that reads back") {
  const int rounds = mutation_rounds(600);
  Mutations mutations(seeds(), 20260404);
  int good = 0, bad = 0;
  for (int round = 0; round < rounds; ++round) {
    Input in{.profiles = &project_profiles()};
    Json json = parse_json(mutations.next(), in.problems);
    std::vector<Case> cases;
    if (in.problems.empty() || !json.is_null()) cases = expand(std::move(json), {}, "fuzzed", in);
    for (const Problem& problem : in.problems) CHECK(!problem.what.empty());
    if (!in.problems.empty() || cases.empty()) {
      ++bad;
      continue;
    }
    ++good;
    const std::string shown = to_json(cases).dump();
    CHECK(lines_for(shown) == Lines{});
  }
  CHECK(good > 0);
  CHECK(bad > 0);
}
