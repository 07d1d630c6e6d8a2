#include "collectives/training/real_rank.hpp"

#include "collectives/algorithms/registry.hpp"
#include "collectives/transports/threads.hpp"

#include <algorithm>
#include <mutex>

#include <doctest/doctest.h>

namespace weft {
namespace {

StepWork small_work() {
  return {.forward = 1_ms,
          .optimizer = 1_ms,
          .backward = {{1_ms, {4, 3}}, {1_ms, {2}}, {1_ms, {1, 0}}},
          .gradients = {4000_B, 400_B, 40'000_B, 4_B, 120'000_B}};
}

std::shared_ptr<const Schedule> ring(int ranks) {
  return std::make_shared<const Schedule>(build({.collective = Collective::allreduce, .algorithm = "ring", .ranks = ranks}));
}

struct Ran {
  std::vector<StepMeasurement> steps;  // of rank 0
  std::string report;
};
// Three steps with each engine in turn, each rank a thread. `lost` leaves before its second step.
Ran run(int ranks, const std::vector<EngineSettings>& engines, Rank lost = -1) {
  int streams = 1;
  for (const EngineSettings& e : engines) streams = std::max(streams, streams_of(e));
  ThreadsWorld world(ranks, RealRank::channels(ranks, streams), {.patience = std::chrono::seconds(20)});
  Ran out;
  std::vector<std::thread> threads;
  for (Rank r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        RealRank rank({.rank = r,
                       .ranks = ranks,
                       .at = [&, r](int channel) -> Transport& { return world.at(r, channel); },
                       .fail = [&](const std::string& why) { world.fail(why); },
                       .patience = std::chrono::seconds(20)},
                      small_work(), streams);
        for (const EngineSettings& engine : engines) {
          rank.use({.engine = engine, .schedule = ring(ranks)});
          for (int step = 0; step < 3; ++step) {
            if (r == lost && step == 1) throw RunError("rank 1 has had enough");
            const StepMeasurement m = rank.step();
            if (r == 0) out.steps.push_back(m);
          }
        }
        rank.end();
      } catch (const std::exception& e) {
        world.fail(e.what());
      }
    });
  for (std::thread& t : threads) t.join();
  out.report = world.report();
  return out;
}

}  // namespace

TEST_CASE("real rank: every engine reduces every gradient of every step, for any number of ranks") {
  for (const int ranks : {1, 2, 3, 4}) {
    CAPTURE(ranks);
    const std::vector<EngineSettings> engines = {NoneSettings{}, DdpSettings{.bucket = 50'000_B, .first_bucket = 1000_B},
                                                 HorovodSettings{.cycle_time = 500_us},
                                                 AiaccSettings{.granularity = 10'000_B, .streams = 3}};
    const Ran ran = run(ranks, engines);
    CHECK(ran.report == "");
    REQUIRE(ran.steps.size() == 12);
    for (const StepMeasurement& m : ran.steps) CHECK(m.seconds >= 0.005);  // what is computed takes its time
    CHECK(ran.steps[0].orders == 1);
    // Buckets from the last gradient on: 120000 passes 1000; 4 + 40000 + 400 + 4000 stay below 50000.
    CHECK(ran.steps[3].orders == 2);
    // 164404 bytes in units of 10000.
    if (ranks > 1) CHECK(ran.steps[9].orders == 17);
    // A rank of a ring sends 2 (n - 1) / n of what is reduced.
    CHECK(ran.steps[0].sent_bytes == 2 * (ranks - 1) * std::int64_t{164'404} / ranks);
  }
}

TEST_CASE("real rank: a rank that gives up ends the run on all, and nobody hangs") {
  const Ran ran = run(3, {AiaccSettings{.granularity = 10'000_B, .streams = 2}}, 1);
  CHECK(ran.report.find("rank 1") != std::string::npos);
  CHECK(ran.steps.size() <= 1);  // rank 0 may still wait for the end of the first
}

}  // namespace weft
