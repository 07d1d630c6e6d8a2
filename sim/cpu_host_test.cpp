// Hosts of MPI ranks: cores that copy each other's messages.
#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("hosts of cores: the ranks on a socket have its last level of cache and its memory between them") {
  const auto us_with = [](int cores) {
    Json json = Json::parse(
        R"({"schema": 1, "name": "host", "fabric": {"type": "star", "nodes": 1, "link": {"bandwidth": "100Gbps", "latency": "500ns"}},
      "hardware": {"profile": "ideal", "copy_rate": "80Gbps", "reduce_cache": "1MiB", "copy_rate_in_memory": "16Gbps", "last_level_cache": "4MiB"},
      "workload": {"collective": "allgather", "algorithm": "ring", "size": "4MiB", "ranks": 2}})");
    json["server"] = Json{{"preset", "cpu_host"}, {"cores", cores}};
    const Scenario s = cases_of(json).front().scenario;
    const Row row = Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {.find_path = true});
    CHECK(row.critical_path->limits.front().name.ends_with("reduce engine"));  // which copies, too
    return row.time.microseconds();
  };
  const double half = (2 << 20) / 1e3;  // of the message, in bytes of a nanosecond
  // Each core on a socket of its own: all 4 MiB are in its cache. 64 GB/s and 130 ns, then 10 GB/s.
  CHECK(us_with(2) == doctest::Approx(half / 64 + 0.13 + half / 10).epsilon(1e-6));
  // Both on one: of their 4 MiB 2 are in the cache, so half of what is copied goes at 10 and half at 1 GB/s, of 2 for both.
  CHECK(us_with(4) == doctest::Approx(half / 64 + 0.05 + half / 2 / 10 + half / 2 / 1).epsilon(1e-6));
}

TEST_CASE("hosts of cores: with two NICs the bytes between two hosts take half of the time") {
  const auto us_with = [](int nics, const std::string& algorithm) {
    Json json = Json::parse(
        R"({"schema": 1, "name": "hosts", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "25Gbps", "latency": "300ns"}},
      "server": {"preset": "cpu_host", "cores": 4}, "hardware": "ideal", "workload": {"collective": "allreduce", "size": "1000MB"}})");
    json["server"]["nics"] = nics;
    json["workload"]["algorithm"] = algorithm;
    const Scenario s = cases_of(json).front().scenario;
    return Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {}).time.microseconds();
  };
  // Each host sends all of the message once, 1 GB at 25 Gb/s = 320 ms or, over two NICs, 160 ms. Its cores send to one another in 24 ms.
  for (const std::string algorithm : {"halving_doubling", "hierarchical_ring"}) {
    CAPTURE(algorithm);
    CHECK(us_with(1, algorithm) - us_with(2, algorithm) == doctest::Approx(160'000).epsilon(1e-4));
    CHECK(us_with(1, algorithm) / us_with(2, algorithm) > 1.7);
  }
  // One core of each host sends to the other.
  CHECK(us_with(2, "ring") == doctest::Approx(us_with(1, "ring")).epsilon(1e-3));
}
