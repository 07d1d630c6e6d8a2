#include "sim/flow/link_faults.hpp"

#include "models/fabric/fat_tree.hpp"
#include "models/fabric/routes.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/network/background_flows.hpp"

#include <deque>

#include <doctest/doctest.h>

using namespace weft;

namespace {

constexpr LinkSpec link_of_1us{100_Gbps, 1_us};
const FatTree two_spines{.leaves = 2, .nodes_per_leaf = 2, .spines = 2, .host_link = link_of_1us, .fabric_link = link_of_1us};

std::vector<BitsPerSecond> rates_of(const Fabric& fabric) {
  std::vector<BitsPerSecond> out;
  for (LinkId id = 0; id < fabric.links(); ++id) out.push_back(fabric.link(id).bandwidth);
  return out;
}

struct Ends {
  std::vector<SimTime> of_messages;
  std::vector<double> carried;  // bytes, by link
  std::int64_t rerouted = 0, interrupted = 0;
};

// Messages of 1 MB, one for each of `pairs`; each alone takes 80 us and four times 1 us of latency.
Ends run(const Fabric& fabric, const Faults& faults, const std::vector<std::pair<int, int>>& pairs) {
  Routes routes(fabric, {});
  SharedNetwork<FluidNetwork> network(rates_of(fabric));
  LinkFaults injected(faults, fabric, {}, network);
  std::deque<BackgroundFlows<FluidNetwork>> messages;
  for (const auto& [from, to] : pairs) {
    const RouteId id = routes.of(from, to);
    messages.emplace_back(network, BackgroundFlows<FluidNetwork>::Awaited::once)
        .add(routes.hops(id), routes.latency(id), {}, 1_MB, {.stop = 1_ps});
  }
  run_to_end(network, Around::nothing);
  Ends out{.of_messages = {}, .carried = {}, .rerouted = network.model().rerouted(), .interrupted = network.model().interrupted()};
  for (const auto& one : messages) out.of_messages.push_back(one.result().front().busy);
  out.carried.resize(static_cast<std::size_t>(fabric.links()));
  for (std::uint32_t route = 0; route < network.model().routes(); ++route)
    network.model().for_carried(route, 1'000'000, [&](LinkId link, std::int64_t bytes) {
      out.carried[static_cast<std::size_t>(link)] += static_cast<double>(bytes);
    });
  return out;
}

// The link from leaf0 to the spine that the message from endpoint 0 to 2 goes over.
LinkId way_up(const Fabric& fabric) {
  Routes routes(fabric, {});
  return routes.hops(routes.of(0, 2))[1].link;
}

Faults of(Failure failure, SimTime reroute_after) { return {.failures = {std::move(failure)}, .reroute_after = reroute_after}; }

}  // namespace

TEST_CASE("failures: a message goes on over the other spine with the bytes that are left") {
  const auto fabric = build(two_spines);
  const LinkId up = way_up(*fabric);
  const std::string spine = fabric->device(fabric->to(up)).name;
  // 40 us on the links, 10 us until routes follow, 40 us for the other half.
  const Ends ends = run(*fabric, of({.network_switch = spine, .at = 44_us}, 10_us), {{0, 2}});
  CHECK(ends.of_messages == std::vector{94_us});
  CHECK(ends.rerouted == 1);
  CHECK(ends.interrupted == 1);
  CHECK(ends.carried[static_cast<std::size_t>(up)] == doctest::Approx(500'000));
  double from_leaf = 0;
  for (LinkId id = 0; id < fabric->links(); ++id)
    if (fabric->from(id) == fabric->from(up) && fabric->between_switches(id)) from_leaf += ends.carried[static_cast<std::size_t>(id)];
  CHECK(from_leaf == doctest::Approx(1'000'000));
  // Before anything runs there is nothing to wait for.
  CHECK(run(*fabric, of({.network_switch = spine}, 0_us), {{0, 2}}).of_messages == std::vector{84_us});
}

TEST_CASE("failures: where routes stay, a message waits until its link works again, and routes go back") {
  const auto fabric = build(two_spines);
  const std::string up = fabric->link_name(way_up(*fabric));
  CHECK(run(*fabric, of({.link = up, .at = 44_us, .until = 60_us}, SimTime::never()), {{0, 2}}).of_messages == std::vector{100_us});
  CHECK(run(*fabric, of({.cable = up, .at = 44_us, .until = 60_us}, SimTime::never()), {{2, 0}, {0, 2}}).of_messages.back() == 100_us);
  // Away at 44 us and back at 50 us, at once both times: nothing is lost.
  const Ends back = run(*fabric, of({.link = up, .at = 44_us, .until = 50_us}, 0_us), {{0, 2}});
  CHECK(back.of_messages == std::vector{84_us});
  CHECK(back.rerouted == 2);
  CHECK(back.interrupted == 0);
}

TEST_CASE("failures: a link that is slow keeps its routes, and others get what it leaves") {
  const auto fabric = build(two_spines);
  const std::string up = fabric->link_name(way_up(*fabric));
  // Half of the bytes at a quarter of the rate: 160 us.
  CHECK(run(*fabric, of({.link = up, .at = 44_us, .remaining = 0.25}, 0_us), {{0, 2}}).of_messages == std::vector{204_us});
  // Two into one cable of a host, one of them over the slow link: it gets 25 Gb/s, the other 75.
  const Ends shared = run(*fabric, of({.link = up, .remaining = 0.25}, 0_us), {{0, 2}, {3, 2}});
  CHECK(shared.of_messages[0].microseconds() == doctest::Approx(4 + 320).epsilon(1e-6));
  CHECK(shared.of_messages[1].microseconds() == doctest::Approx(2 + 80.0 / 0.75).epsilon(0.01));
}

TEST_CASE("failures: a message that can never arrive is an error that names the link, also beside traffic that goes on") {
  const auto fabric = build(two_spines);
  const std::string up = fabric->link_name(way_up(*fabric));
  CHECK_THROWS_WITH_AS(run(*fabric, of({.link = up, .at = 44_us}, SimTime::never()), {{0, 2}}),
                       ("1 flows in the background have not ended\n" + up + " is down: 1 message waits for it").c_str(), RunError);
  // An NVLink: what PCIe would carry is not rerouted.
  const auto servers = build(FabricSpec(Star{.nodes = 1, .host_link = {100_Gbps, 1_us}}), server_preset("v100_nvlink"));
  std::vector<Hop> nvlinks;
  servers->append_path(0, 1, 0, nvlinks);
  const std::string nvlink = servers->link_name(nvlinks.front().link);
  CHECK_THROWS_WITH_AS(run(*servers, of({.cable = nvlink}, 0_us), {{0, 1}}),
                       doctest::Contains((nvlink + " (in a server, where nothing is rerouted) is down: 1 message waits for it").c_str()),
                       RunError);
  // The cable of a host: there is no other way.
  CHECK_THROWS_AS(run(*fabric, of({.cable = "leaf0/node0->leaf0", .at = 44_us}, 0_us), {{0, 2}}), RunError);
  Routes routes(*fabric, {});
  SharedNetwork<FluidNetwork> network(rates_of(*fabric));
  LinkFaults injected(of({.link = up, .at = 44_us}, SimTime::never()), *fabric, {}, network);
  BackgroundFlows<FluidNetwork> endless(network, BackgroundFlows<FluidNetwork>::Awaited::no);
  BackgroundFlows<FluidNetwork> awaited(network, BackgroundFlows<FluidNetwork>::Awaited::once);
  const RouteId inside = routes.of(2, 3), across = routes.of(0, 2);
  endless.add(routes.hops(inside), routes.latency(inside), {}, 1_MB, {});
  awaited.add(routes.hops(across), routes.latency(across), {}, 1_MB, {.stop = 1_ps});
  CHECK_THROWS_AS(run_to_end(network, Around::nothing), RunError);
}
