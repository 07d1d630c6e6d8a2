#include "validation/lab/in_network.hpp"

#include <doctest/doctest.h>

namespace weft::lab {
namespace {

constexpr LinkSpec link{100_Mbps, 1_us};  // packets of 2500 B

AlgorithmChoice atp() {
  AlgorithmChoice a{"atp"};
  a.atp.payload = 2304_B, a.atp.packet = 2410_B, a.atp.largest_window = 64, a.atp.timeout = 200_ms;
  return a;
}
AlgorithmChoice switchml() {
  AlgorithmChoice a{"switchml"};
  a.switchml = {.slots = 32, .payload = 1408_B, .packet = 1514_B, .timeout = 50_ms};
  return a;
}

Scenario scenario_of(FabricSpec spec, int ranks, std::vector<AlgorithmChoice> algorithms) {
  Scenario s;
  s.fabric.spec = std::move(spec);
  s.workload.ranks = ranks;
  s.workload.algorithms = std::move(algorithms);
  return s;
}

GraphFabric two_switches() {
  GraphFabric out{.nodes = {"a", "b", "c", "d"}, .switches = {"left", "right"}};
  for (const char* node : {"a", "b", "c", "d"}) out.links.push_back({node, node < std::string("c") ? "left" : "right", 100_Mbps, 1_us});
  out.links.push_back({"left", "right", 100_Mbps, 1_us});
  return out;
}

// Namespaces without what they all begin with, and the arguments.
std::string said(const Scenario& s, const AlgorithmChoice& a) {
  const auto fabric = build(s.fabric.spec);
  const InNetworkBench bench = in_network_bench(s, a, *fabric, plan(*fabric, {}, "weft-7", Programs::yes));
  std::vector<std::string> places;
  for (const Host& host : bench.nodes) places.push_back(host.in.substr(std::string("weft-7-").size()));
  return fmt::format("{}: {}", fmt::join(places, " "), fmt::join(bench.arguments, " "));
}

std::vector<std::string> problems_of(const Scenario& s) {
  std::vector<std::string> out;
  for (const Problem& p : in_network_problems(s, *build(s.fabric.spec))) out.push_back(p.where + ": " + p.what);
  return out;
}

TEST_CASE("a server sits on the node without a rank, the program at the switch") {
  const Scenario s = scenario_of(Star{.nodes = 4, .host_link = link}, 3, {atp(), switchml()});
  CHECK(programs_of(s) == Programs::yes);
  CHECK(said(s, atp()) ==
        "h0 h1 h2 h3 s0: --algorithm atp --payload 2304 --packet 2396 --timeout 200 --aggregators 20000 --window 64 --initial-window 50 "
        "--mtu 1500 --servers 1 --switches 1 --below 0,0,0,0");
  CHECK(said(s, switchml()) ==
        "h0 h1 h2 s0: --algorithm switchml --payload 1408 --packet 1500 --timeout 50 --slots 32 --switches 1 --below 0,0,0");
}

TEST_CASE("switches are numbered as ranks meet them, and those that cannot be programmed pass on") {
  Scenario s = scenario_of(two_switches(), 4, {atp()});
  s.placement = {.policy = PlacementPolicy::list, .nodes = {2, 3, 0, 1}};
  AlgorithmChoice a = atp();
  a.atp.server_nodes = {0, 3};
  CHECK(said(s, a).starts_with("h2 h3 h0 h1 h0 h3 s1 s0: "));
  CHECK(said(s, a).ends_with(" --servers 2 --switches 2 --below 0,0,1,1,1,0"));
  s.fabric.programmable.switches = {"left"};
  CHECK(said(s, a).ends_with(" --below 0,0,1,1,1,0 --passing 0"));
  s.placement = {.policy = PlacementPolicy::list, .nodes = {2, 3}};
  s.workload.ranks = 2;
  CHECK(said(s, switchml()).starts_with("h2 h3 s1 s0: "));  // it adds up in "left", below which nobody is
  CHECK(said(s, switchml()).ends_with(" --below 0,0 --passing 0"));
}

TEST_CASE("windows that are not given are those of the simulation, and the loss of every link is the bench's") {
  AlgorithmChoice a = atp();
  a.atp.largest_window = 0;
  Scenario s = scenario_of(Star{.nodes = 4, .host_link = link}, 3, {a});
  s.packet.emplace();
  s.packet->faults.loss = 0.01;
  s.packet->seed = 7;
  // 4 links of 192.8 us and 1 us for a packet there and back: 4.02 packets, twice that.
  CHECK(said(s, a).find(" --window 9 --initial-window 8 ") != std::string::npos);
  CHECK(said(s, a).ends_with(" --loss 0.01 --seed 7"));
}

TEST_CASE("what real datagrams cannot be is said at once, each in its place") {
  AlgorithmChoice large = atp(), odd = atp(), plain{"atp"}, slow = switchml();
  large.atp.payload = 2412_B;
  odd.atp.payload = 1402_B;
  slow.switchml.timeout = 61_s;
  Scenario s = scenario_of(Star{.nodes = 4, .host_link = link}, 3, {{"ring"}, large, odd, plain, slow});
  s.fabric.programmable.delay = 1_us;
  s.fabric.programmable.packets_per_second = 1000;
  s.packet.emplace();
  s.packet->faults.corruption = 0.1;
  CHECK(problems_of(s) ==
        std::vector<std::string>{
            "/workload/algorithm/1/payload: packets of this lab hold at most 2408 bytes of values, a multiple of 4, got 2412B",
            "/workload/algorithm/2/payload: packets of this lab hold at most 2408 bytes of values, a multiple of 4, got 1402B",
            "/workload/algorithm/3/packet: a link of the lab carries 106 bytes of headers with the 248 of values: write \"354B\", got 306B",
            "/workload/algorithm/4/timeout: must be at most 60s in the lab, got 61s",
            "/fabric/programmable/delay: software switches take the time they take",
            "/fabric/programmable/packets_per_second: software switches are as fast as they are",
            "/packet/faults: the lab can lose datagrams, nothing else"});
  CHECK(problems_of(scenario_of(Star{.nodes = 4, .host_link = link}, 3, {plain})).front().starts_with("/workload/algorithm/packet: "));
  s.workload.algorithms = {{"ring"}};
  CHECK(programs_of(s) == Programs::no);
  CHECK(problems_of(s).empty());
}

}  // namespace
}  // namespace weft::lab
