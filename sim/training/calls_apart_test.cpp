#include "sim/training/calls_apart.hpp"

#include "collectives/registry/registry.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"
#include "sim/flow/goodput.hpp"

#include <numeric>

using namespace weft;

namespace {

Json ddp_on(const char* algorithm, int nodes, const char* bandwidth) {
  Json out = Json::parse(R"({
    "schema": 1, "name": "apart",
    "fabric": {"type": "star", "link": {"latency": "700ns"}},
    "hardware": {"profile": "ideal", "send_overhead": "300ns", "receive_overhead": "500ns"},
    "workload": {"model": "resnet50", "device": "v100", "batch_per_gpu": 32, "engine": "ddp", "iterations": 3, "detail": "messages"}})");
  out["workload"]["algorithm"] = algorithm;
  out["fabric"]["nodes"] = nodes;
  out["fabric"]["link"]["bandwidth"] = bandwidth;
  return out;
}

struct Outcome {
  Row row;
  std::uint64_t events = 0;
};

// A timeline has every message, so that all calls are gone through together.
Outcome outcome_of(const Json& json, Timeline* timeline = nullptr) {
  const Scenario s = cases_of(json).front().scenario;
  Outcome out;
  RunWork work;
  out.row = Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {.timeline = timeline, .work = &work});
  out.row.wall_s = 0;
  out.events = work.events;
  return out;
}

// Whether its calls were run apart. What comes out has to be what they take together, to the picosecond.
bool runs_apart(const Json& json) {
  Timeline timeline;
  const Outcome own = outcome_of(json), together = outcome_of(json, &timeline);
  CHECK(own.row.time == together.row.time);
  CHECK(own.row.training->compute == together.row.training->compute);
  CHECK(own.row.training->stragglers == together.row.training->stragglers);
  CHECK(own.row.messages == together.row.messages);
  CHECK(own.row.wire_bytes_per_rank == together.row.wire_bytes_per_rank);
  CHECK(own.row == together.row);
  REQUIRE(together.events > static_cast<std::uint64_t>(together.row.messages));
  return own.events < together.events;
}

// Calls of a ring of four at 8 Gb/s, a byte a nanosecond, without any costs but the bytes': a step of `elements` takes elements / 4 ns.
struct Ring {
  std::shared_ptr<const Fabric> fabric = build(FabricSpec{Star{.nodes = 4, .host_link = {8_Gbps, {}}}});
  Routes routes{*fabric, {}};
  HardwareProfile hardware = {};
  Schedule schedule = build(Request{.ranks = 4});
  std::vector<int> placement = {0, 1, 2, 3};
  CallsApart calls{routes, goodput_of_links(*fabric, hardware), UINT64_MAX};
  SentApart sent = {};

  std::vector<SimTime> run(std::int64_t elements, const std::vector<SimTime>& start) {
    return calls.run({.schedule = schedule, .placement = placement, .elements = elements, .hardware = hardware, .start = start}, sent);
  }
};

}  // namespace

TEST_CASE("calls apart: a training step takes what it takes with all messages together, to the picosecond") {
  for (const std::string algorithm : {"ring", "halving_doubling", "double_binary_tree", "nccl"})
    for (const int nodes : {2, 6, 8})
      for (const std::string bandwidth : {"10Gbps", "100Gbps"}) {
        CAPTURE(algorithm);
        CAPTURE(nodes);
        CAPTURE(bandwidth);
        const bool apart = runs_apart(ddp_on(algorithm.c_str(), nodes, bandwidth.c_str()));
        // Among six ranks some of a tree are done while others still send, on links that the next call uses.
        if (algorithm != "double_binary_tree" || nodes != 6) CHECK(apart);
      }
}

TEST_CASE("calls apart: where calls cost anew in each rank, ranks begin at different times, or a call comes after all of backward") {
  Json skewed = ddp_on("ring", 8, "100Gbps"), slower = skewed, at_once = skewed;
  skewed["start_skew"] = {{"max", "3ms"}};
  slower["workload"]["stragglers"] = {{"spread", 0.2}};
  at_once["workload"]["engine"] = "none";
  for (const Json& json : {skewed, slower, at_once}) CHECK(runs_apart(json));
}

TEST_CASE("calls apart: on servers, whose GPUs share links, and where parts of a model have ranks of their own") {
  Json json = ddp_on("nccl", 4, "200Gbps");
  json["server"] = "dgx_a100";
  json["hardware"] = "a100_servers";
  CHECK(runs_apart(json));
  json["workload"]["model_parallel"] = 2;
  runs_apart(json);
  Json parts = ddp_on("ring", 8, "100Gbps");
  parts["workload"]["model_parallel"] = 2;
  CHECK(runs_apart(parts));
}

TEST_CASE("calls apart: what calls leave behind for the next one, or send beside it, keeps them together") {
  Json connects = ddp_on("ring", 4, "100Gbps"), negotiates = connects, concurrent = connects, beside = connects;
  connects["hardware"]["first_use"] = "1ms";
  negotiates["workload"]["engine"] = "horovod";
  concurrent["workload"]["engine"] = "aiacc";
  beside["traffic"] = Json::array({{{"pattern", "incast"}, {"to", 0}, {"size", "1MB"}}});
  for (const Json& json : {connects, negotiates, concurrent, beside}) CHECK(!runs_apart(json));
}

TEST_CASE("calls apart: of more messages than events are gone through for, chunks of one size, and no merged steps") {
  Json json = ddp_on("ring", 240, "100Gbps");
  json["workload"]["iterations"] = 2;
  const Outcome exact = outcome_of(json);
  json["workload"]["detail"] = "automatic";
  const Outcome rounded = outcome_of(json);
  CHECK(!rounded.row.training->merged);
  CHECK(rounded.row.messages == exact.row.messages);
  CHECK(rounded.row.time >= exact.row.time);
  CHECK(rounded.row.time.seconds() == doctest::Approx(exact.row.time.seconds()).epsilon(1e-3));
  Timeline timeline;
  const Row shown = outcome_of(json, &timeline).row;
  CHECK(shown.training->merged);
  CHECK(shown.notes.starts_with("steps are merged because a timeline is recorded"));
  CHECK(rounded.row.notes.empty());
}

TEST_CASE("calls apart: a call that begins as another did takes as long again, and what it sends counts again") {
  Ring ring;
  const std::vector<SimTime> start = {0_ns, 10_ns, 0_ns, 0_ns};
  // Six steps of 1000 ns, of which the first waits for the rank that begins late.
  const std::vector<SimTime> done = ring.run(4000, start);
  CHECK(std::ranges::max(done) == 6010_ns);
  std::vector<SimTime> later = start;
  for (SimTime& at : later) at += 1_ms;
  const std::vector<SimTime> again = ring.run(4000, later);
  for (std::size_t rank = 0; rank < 4; ++rank) CHECK(again[rank] - done[rank] == 1_ms);
  CHECK(ring.sent.messages == 2 * 6 * 4);
  NetworkRun sum;
  ring.sent.add_to(sum);
  CHECK(std::accumulate(sum.bytes_from.begin(), sum.bytes_from.end(), std::int64_t{0}) == 2 * 6 * 4 * 1000);
}

TEST_CASE("calls apart: ranks may begin a call while others are in the one before, as long as no link has messages of both") {
  const auto second_begins = [](const std::vector<SimTime>& start) {
    Ring ring;
    ring.run(4000, {0_ns, 0_ns, 0_ns, 0_ns});  // all links are used until 6000 ns
    ring.run(4000, start);
  };
  CHECK_NOTHROW(second_begins({6000_ns, 6000_ns, 6000_ns, 6000_ns}));
  CHECK_NOTHROW(second_begins({6000_ns, 7000_ns, 9000_ns, 6000_ns}));
  CHECK_THROWS_AS(second_begins({5999_ns, 6000_ns, 6000_ns, 6000_ns}), CallsMeet);
  CHECK_THROWS_AS(second_begins({0_ns, 6000_ns, 6000_ns, 6000_ns}), CallsMeet);
}

TEST_CASE("calls apart: no more events than are wanted") {
  Ring ring;
  HardwareProfile hardware;
  const Schedule tree = build(Request{.algorithm = "double_binary_tree", .ranks = 4});
  const std::vector<SimTime> start(4);
  const auto with_at_most = [&](std::uint64_t events) {
    SentApart sent;
    CallsApart calls(ring.routes, goodput_of_links(*ring.fabric, hardware), events);
    calls.run({.schedule = tree, .placement = ring.placement, .elements = 4096, .hardware = hardware, .start = start}, sent);
  };
  CHECK_NOTHROW(with_at_most(10'000));
  CHECK_THROWS_AS(with_at_most(3), CallsMeet);
}

TEST_CASE("calls apart: where events are limited, not many calls that each begin otherwise") {
  Ring ring;
  const auto calls_until_given_up = [&](SimTime later) {
    SentApart sent;
    CallsApart calls(ring.routes, goodput_of_links(*ring.fabric, ring.hardware), 1'000'000);
    constexpr int most = 12;
    for (int i = 0; i < most; ++i) try {
        const SimTime at = 1_ms * i;
        const std::vector<SimTime> start = {at, at + later * i, at, at};
        calls.run({.schedule = ring.schedule, .placement = ring.placement, .elements = 4000, .hardware = ring.hardware, .start = start},
                  sent);
      } catch (const CallsMeet&) {
        return i;
      }
    return most;
  };
  CHECK(calls_until_given_up(0_ns) == 12);
  CHECK(calls_until_given_up(10_ns) == 4);
}
