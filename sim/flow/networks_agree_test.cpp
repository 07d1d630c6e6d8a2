// The differential test: our flow network and SimGrid's own model, same fabric, same schedule, same costs.
#include "sim/engine/in_child.hpp"
#include "sim/flow/flow_network.hpp"
#include "sim/network/testing.hpp"
#include "sim/reference/s4u_network.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::vector<double> rank_seconds(const NetworkRun& run) {
  std::vector<double> seconds;
  for (const SimTime t : run.rank_finish) seconds.push_back(t.seconds());
  return seconds;
}

// How far each rank's end moves when one rank starts a picosecond later: what rounding may change. A sequence of sharings can
// turn a picosecond into a thousand where two messages nearly coincide.
std::vector<double> moved_by_a_picosecond(const AnyRun& c, const Schedule& schedule, const Fabric& fabric, Routes& routes) {
  const auto run = [&](std::span<const SimTime> start) {
    return rank_seconds(run_flow_bare({schedule, c.placement, c.elements, 4, c.hardware, start}, fabric, routes));
  };
  std::vector<SimTime> start = c.start;
  start.resize(static_cast<std::size_t>(c.request.ranks));
  const std::vector<double> as_it_is = run(start);
  std::vector<double> moved(as_it_is.size(), 0);
  for (SimTime& one : start) {
    one.ps += 1;
    const std::vector<double> later = run(start);
    one.ps -= 1;
    for (std::size_t r = 0; r < moved.size(); ++r) moved[r] = std::max(moved[r], std::abs(later[r] - as_it_is[r]));
  }
  return moved;
}

}  // namespace

TEST_CASE("flow and SimGrid's own network agree to a millionth on 400 cases of round numbers") {
  int congested = 0, sensitive = 0;  // these to a picosecond at a start
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const AnyRun c = any_run(seed);
    CAPTURE(seed);
    CAPTURE(type_name(c.fabric));
    CAPTURE(c.request.algorithm);
    CAPTURE(c.request.ranks);
    CAPTURE(c.elements);
    const auto fabric = build(c.fabric);
    const Schedule schedule = build(c.request);
    const PlacedSchedule job{schedule, c.placement, c.elements, 4, c.hardware, c.start};
    Routes routes(*fabric, c.ecmp);
    const NetworkRun flow = run_flow_bare(job, *fabric, routes);
    congested += flow.solves > 0;
    const std::string bytes = in_child([&] {
      const std::vector<double> seconds = rank_seconds(run_s4u(job, routes));
      return std::string(reinterpret_cast<const char*>(seconds.data()), seconds.size() * sizeof(double));
    });
    std::vector<double> reference(bytes.size() / sizeof(double));
    std::memcpy(reference.data(), bytes.data(), bytes.size());
    const std::vector<double> ours = rank_seconds(flow);
    REQUIRE(ours.size() == reference.size());
    // Each message is rounded up to a picosecond: tiny runs differ by a few of them.
    const auto near = [&](std::size_t r) { return std::abs(ours[r] - reference[r]) <= 1e-6 * reference[r] + 20e-12; };
    std::vector<double> moved;
    for (std::size_t r = 0; r < ours.size(); ++r) {
      if (near(r)) continue;
      if (moved.empty()) moved = moved_by_a_picosecond(c, schedule, *fabric, routes), ++sensitive;
      CAPTURE(r);
      CHECK(std::abs(ours[r] - reference[r]) <= 2 * moved[r]);
    }
  }
  CHECK(sensitive <= 2);
  CHECK(congested > 100);  // the agreement is about sharing, not only about latencies
}
