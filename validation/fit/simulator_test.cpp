#include "validation/fit/simulator.hpp"

#include "sim/engine/in_child.hpp"
#include "sim/scenario/cases.hpp"
#include "validation/testing.hpp"

#include <random>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Any cluster and anything beside the workload that a scenario can say.
std::vector<std::string> any_settings(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto one_of = [&](std::initializer_list<const char*> all) { return std::string(all.begin()[below(all.size())]); };
  std::vector<std::string> out = {
      one_of(
          {R"(/fabric={"type": "star", "nodes": 8, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})",
           R"(/fabric={"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 4, "spines": 1, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})",
           R"(/fabric={"type": "bigraph", "switches": 4, "nodes_per_switch": 2, "link": {"bandwidth": "100Gbps", "latency": "500ns"}})"}),
      one_of({"/network=flow", "/network=flow", "/network=packet", "/network=simgrid"}),
      "/workload/algorithm=" + one_of({"ring", "halving_doubling", R"({"name": "ring", "channels": 2})"}),
      "/workload/ranks=" + one_of({"2", "4", "8"}),
      "/workload/size=" + one_of({"64KiB", "1MiB"}),
      "/placement=" + one_of({"linear", "random", "round_robin"}),
      "/hardware=" + one_of({"ideal", "eflops_simulator"})};
  const bool shared = out[1] != "/network=simgrid";
  if (below(2) == 0) out.emplace_back(R"(/start_skew={"max": "20us", "seed": 3})");
  if (below(2) == 0 && out[1] != "/network=simgrid" && out[0].find("bigraph") == std::string::npos)
    out.push_back("/server=" + one_of({"two_nic", "congestionless", "dgx_h100"}));
  if (out[1] == "/network=flow" && out.back().starts_with("/server")) out.emplace_back(R"(/copies=[{"gpus": [0], "bytes": "1MiB"}])");
  if (shared && below(2) == 0) out.emplace_back(R"(/traffic=[{"pattern": "permutation", "size": "256KiB"}])");
  if (shared && below(2) == 0 && out[3] != "/workload/ranks=8")
    out.emplace_back(R"(/jobs=[{"ranks": 2, "size": "256KiB", "start": "5us"}])");
  if (shared && below(3) == 0) out.push_back("/workload/iterations=2");
  return out;
}

}  // namespace

TEST_CASE("simulator: a measurement is told the time that weft run prints, to the picosecond, whatever the scenario says") {
  const ScratchFolder folder;
  const auto file = folder.file("any.json", star_scenario(8));
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    std::vector<Setting> settings;
    std::string said;
    for (const std::string& text : any_settings(random)) settings.push_back(parse_setting(text)), said += text + " ";
    CAPTURE(said);
    const Scenario s = load_cases(file, settings).front().scenario;
    const AlgorithmChoice& algorithm = s.workload.algorithms.front();
    const Bytes size = s.workload.sizes.front();
    const auto ran_ps = std::stoll(in_child([&] { return std::to_string(simulate(s, algorithm, size).time.ps); }));
    Simulator simulator(s);
    const MeasuredSetup setup{"allreduce", algorithm, s.workload.ranks, size};
    for (int again = 0; again < 2; ++again) CHECK(simulator.time_us(setup, s.hardware) == SimTime{ran_ps}.microseconds());
    HardwareProfile other = s.hardware;
    other.send_overhead += 3_us;
    Scenario slower = s;
    slower.hardware = other;
    const auto slower_ps = std::stoll(in_child([&] { return std::to_string(simulate(slower, algorithm, size).time.ps); }));
    CHECK(simulator.time_us(setup, other) == SimTime{slower_ps}.microseconds());
  }
}
