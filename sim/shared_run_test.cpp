#include "sim/shared_run.hpp"

#include "collectives/algorithms/ring.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "sim/engine/in_child.hpp"

#include <numeric>

#include <doctest/doctest.h>

using namespace weft;

namespace {

constexpr LinkSpec wire{100_Gbps, 500_ns};
const HardwareProfile ideal;

// Two leaves and one spine: what leaves a leaf shares one cable.
const FabricSpec one_cable = FatTree{.leaves = 2, .nodes_per_leaf = 8, .spines = 1, .host_link = wire, .fabric_link = wire};

enum class On { flow, packet, simgrid };

struct Ring {
  std::vector<int> placement;
  Bytes message;
  Repetition repetition = {};
};

SharedRun run(On network, const FabricSpec& spec, const std::vector<Ring>& rings, const std::vector<TrafficSpec>& traffic) {
  const auto fabric = build(spec);
  Routes routes(*fabric, {});
  std::vector<Schedule> schedules;
  for (const Ring& ring : rings) schedules.push_back(ring_allreduce(static_cast<int>(ring.placement.size())));
  std::vector<Program> programs;
  for (std::size_t i = 0; i < rings.size(); ++i) programs.push_back(program_of(schedules[i], rings[i].message.count / 4, 4));
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < rings.size(); ++i)
    jobs.push_back({.name = fmt::format("job{}", i),
                    .placed = PlacedProgram{.program = programs[i],
                                            .placement = rings[i].placement,
                                            .hardware = ideal,
                                            .repetition = rings[i].repetition,
                                            .name = fmt::format("job{}", i)}});
  constexpr NetworkKind kinds[] = {NetworkKind::flow, NetworkKind::packet, NetworkKind::simgrid};
  return run_on(kinds[static_cast<int>(network)], {jobs, traffic}, {routes}, Around::nothing);
}

double seconds(const SharedRun& run, std::size_t job) { return run.jobs[job].finish().seconds(); }

constexpr On networks[] = {On::flow, On::packet};

}  // namespace

TEST_CASE("shared run: n equal rings over one cable take n times as long, and all the same") {
  for (const On network : networks) {
    CAPTURE(static_cast<int>(network));
    const double alone = seconds(run(network, one_cable, {{{0, 8}, 8_MiB}}, {}), 0);
    for (int n : {2, 4}) {
      CAPTURE(n);
      std::vector<Ring> rings;
      for (int i = 0; i < n; ++i) rings.push_back({{i, 8 + i}, 8_MiB});
      const SharedRun shared = run(network, one_cable, rings, {});
      for (std::size_t i = 0; i < rings.size(); ++i) CHECK(seconds(shared, i) == doctest::Approx(n * alone).epsilon(0.01));
    }
  }
}

TEST_CASE("shared run: flow and packet agree within a tenth on two jobs of different size over one cable") {
  const std::vector<Ring> rings = {{{0, 8}, 4_MiB}, {{1, 9}, 16_MiB}};
  const SharedRun flow = run(On::flow, one_cable, rings, {}), packet = run(On::packet, one_cable, rings, {});
  for (std::size_t i = 0; i < rings.size(); ++i) CHECK(seconds(packet, i) == doctest::Approx(seconds(flow, i)).epsilon(0.1));
}

TEST_CASE("shared run: n senders to one take n times as long as one") {
  // The job's ranks 0 and 1 keep to themselves; it lasts as long as two messages of the incast and no more.
  const FabricSpec star = Star{.nodes = 16, .host_link = wire};
  for (const On network : networks)
    for (int n : {1, 4, 8}) {
      CAPTURE(static_cast<int>(network));
      CAPTURE(n);
      TrafficSpec incast{.pattern = TrafficPattern::incast, .to = 15, .size = 1_MiB};
      for (int i = 0; i < n; ++i) incast.endpoints.push_back(2 + i);
      const SharedRun shared = run(network, star, {{{0, 1}, 64_MiB}}, {incast});
      // 8 * 2^20 bits at 100 Gb/s = 83.9 us, n of them through one port
      const TrafficResult& t = shared.traffic.front();
      REQUIRE(t.count > 0);
      CHECK(t.busy.seconds() / static_cast<double>(t.count) == doctest::Approx(n * 83.9e-6).epsilon(0.1));
    }
}

TEST_CASE("shared run: traffic that shares no link with a job changes nothing for it") {
  const FabricSpec star = Star{.nodes = 8, .host_link = wire};
  for (const On network : networks) {
    CAPTURE(static_cast<int>(network));
    const std::vector<Ring> ring = {{{0, 1, 2, 3}, 4_MiB}};
    const SharedRun alone = run(network, star, ring, {});
    const SharedRun beside = run(network, star, ring, {{.endpoints = {4, 5, 6, 7}, .size = 64_KiB}});
    CHECK(beside.finish == alone.finish);
    CHECK(beside.traffic.front().count > 10);
    CHECK(beside.traffic.front().streams == 4);
  }
}

TEST_CASE("shared run: traffic goes by its period, its phases and its end") {
  const FabricSpec star = Star{.nodes = 4, .host_link = wire};
  const auto flows = [&](const TrafficSpec& traffic) {
    return run(On::flow, star, {{{0, 1}, 125_MB}}, {traffic}).traffic.front().count;  // 2 steps of 62.5 MB: 10 ms
  };
  const TrafficSpec every_ms{.pattern = TrafficPattern::pairs, .pairs = {{2, 3}}, .size = 1_KiB, .start = 500_us, .period = 1_ms};
  CHECK(flows(every_ms) == 10);  // at 0.5 ms, 1.5 ms, ... 9.5 ms
  const auto late = [&](SimTime period) {
    const TrafficSpec asked{.pattern = TrafficPattern::pairs, .pairs = {{2, 3}}, .size = 1250_KB, .period = period};  // of 100 us each
    return run(On::flow, star, {{{0, 1}, 125_MB}}, {asked}).traffic.front();
  };
  CHECK(late(200_us).late == 0);
  CHECK(late(50_us).late == late(50_us).count - 1);  // all but the first
  TrafficSpec half = every_ms;
  half.on = 2_ms, half.off = 2_ms;
  CHECK(flows(half) == 6);  // 0.5, 1.5; 4.5, 5.5; 8.5, 9.5
  TrafficSpec ended = every_ms;
  ended.stop = 3_ms;
  CHECK(flows(ended) == 3);
}

TEST_CASE("shared run: on and off traffic slows a job by what it takes") {
  // Flows of 200 us at half the rate of the job's own cable, half of the time: three quarters are left, a third more time.
  const std::vector<Ring> ring = {{{0, 8}, 512_MiB}};
  const double alone = seconds(run(On::flow, one_cable, ring, {}), 0);
  TrafficSpec traffic{.pattern = TrafficPattern::pairs, .pairs = {{1, 9}, {9, 1}}, .size = 1250_KB};
  CHECK(seconds(run(On::flow, one_cable, ring, {traffic}), 0) == doctest::Approx(2 * alone).epsilon(0.02));
  traffic.on = 1_ms, traffic.off = 1_ms;
  CHECK(seconds(run(On::flow, one_cable, ring, {traffic}), 0) == doctest::Approx(alone * 4 / 3).epsilon(0.02));
}

TEST_CASE("shared run: the same twice") {
  for (const On network : networks) {
    const auto once = [&] {
      return run(network, one_cable, {{{0, 8, 1, 9}, 1_MiB, {.iterations = 3, .compute = 10_us}}, {{2, 10}, 3_MiB}}, {{.size = 64_KiB}});
    };
    const SharedRun a = once(), b = once();
    CHECK(a.finish == b.finish);
    CHECK(a.bytes_on_link == b.bytes_on_link);
    CHECK(a.traffic.front().busy == b.traffic.front().busy);
    CHECK(a.events == b.events);
  }
}

TEST_CASE("shared run: time ends after 106 days, with one message") {
  const auto said = [](On network, const LinkSpec& link, const Ring& ring) -> std::string {
    try {
      run(network, Star{.nodes = 4, .host_link = link}, {ring}, {});
    } catch (const RunError& error) {
      return error.what();
    }
    return "";
  };
  const std::string beyond = "simulated time would pass 106 days (2^63 ps), the most that can be simulated";
  for (const On network : networks) {
    CAPTURE(static_cast<int>(network));
    CHECK(said(network, {BitsPerSecond{1}, 1_us}, {{0, 1, 2, 3}, 64_MiB}) == beyond);
    CHECK(said(network, {100_Gbps, 3'000'000_s}, {{0, 1}, 4_KiB}) == beyond);
    CHECK(said(network, wire, {{0, 1}, 4_KiB, {.iterations = 10, .compute = 2'000'000_s}}) == beyond);
    CHECK(said(network, wire, {{0, 1}, 4_KiB, {.iterations = 4, .compute = 2'000'000_s}}).empty());
  }
}

TEST_CASE("shared run: a job that can never finish is named, and who waits for whom") {
  const auto fabric = build(Star{.nodes = 8, .host_link = wire});
  Routes routes(*fabric, {});
  const Schedule ring = ring_allreduce(2);
  const std::vector<int> good{0, 1}, cut_off{4, 5};
  const Program program = program_of(ring, 1 << 16, 4);
  const auto job = [&](const char* name, const std::vector<int>& placement) {
    return Job{.name = name, .placed = PlacedProgram{.program = program, .placement = placement, .hardware = ideal, .name = name}};
  };
  const std::vector<Job> jobs = {job("good", good), job("doomed", cut_off)};
  const std::vector<TrafficSpec> traffic = {{.endpoints = {2, 3}, .size = 64_KiB}};  // goes on meanwhile
  PacketSettings settings;
  settings.timeout = 10_us;
  settings.faults.failures = {{.link = "node4->switch", .at = 0_us}};
  std::string said;
  try {
    run_on(NetworkKind::packet, {jobs, traffic}, {.routes = routes, .packet = settings}, Around::nothing);
  } catch (const RunError& error) {
    said = error.what();
  }
  CAPTURE(said);
  CHECK(said.find("timeouts in a row") != said.npos);
  CHECK(said.find("node4->switch (priority 0) waits: its link is down") != said.npos);
  CHECK(said.find("job doomed: no progress is possible:\n  rank 0 in step 0") != said.npos);
  CHECK(said.find("job good") == said.npos);
}

TEST_CASE("shared run: on a SimGrid platform, whose links have no ends, what left the endpoint that sent most is counted") {
  // A ring of 16 sends 2 * 15 / 16 of 8 MiB from each.
  const FabricSpec platform = SimgridFabric{.file = "", .platform = read_platform(R"(<platform version="4.1">
    <cluster id="c" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="12.5GBps" lat="1us"/></platform>)")};
  std::vector<int> all(16);
  std::iota(all.begin(), all.end(), 0);
  CHECK(run(On::flow, platform, {{all, 8_MiB}}, {}).jobs[0].max_sent == 15'728'640);
  const std::string reference = in_child([&] { return std::to_string(run(On::simgrid, platform, {{all, 8_MiB}}, {}).jobs[0].max_sent); });
  CHECK(reference == "15728640");
}
