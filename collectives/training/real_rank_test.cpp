#include "collectives/training/real_rank.hpp"

#include "collectives/registry/registry.hpp"
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
struct Job {
  int ranks = 1;
  std::vector<EngineSettings> engines = {};
  std::optional<CompressionSettings> compression = {};
  int servers = 0;  // on hosts of their own
  Rank lost = -1;   // leaves before its second step
  Rank other = -1;  // has other settings of compression
  std::function<double(Rank, int)> slowdown = {};
};
// Three steps with each engine in turn, each rank a thread.
Ran run(const Job& job) {
  const int ranks = job.ranks;
  RankShape shape{.pushes = true};
  for (const EngineSettings& e : job.engines) shape.streams = std::max(shape.streams, streams_of(e));
  const RankLinks of_all{.ranks = ranks, .at = {}, .fail = {}, .servers = job.servers};
  ThreadsWorld world(of_all.all(), RealRank::channels(of_all, shape), {.patience = std::chrono::seconds(20)});
  Ran out;
  std::vector<std::thread> threads;
  for (Rank r = 0; r < of_all.all(); ++r)
    threads.emplace_back([&, r] {
      try {
        const RankLinks links{.rank = r,
                              .ranks = ranks,
                              .at = [&, r](int channel) -> Transport& { return world.at(r, channel); },
                              .fail = [&](const std::string& why) { world.fail(why); },
                              .patience = std::chrono::seconds(20),
                              .servers = job.servers};
        if (r >= ranks) return serve(links, shape);
        StepWork work = small_work();
        work.slowdown = job.slowdown;
        RealRank rank(links, work, shape);
        for (const EngineSettings& engine : job.engines) {
          ReductionChoice choice{.engine = engine, .schedule = ring(ranks)};
          if (job.compression) choice.compression = {*job.compression, {.algorithm = "ring", .ranks = ranks}};
          if (r == job.other) ++choice.compression->settings.seed;
          rank.use(choice);
          for (int step = 0; step < 3; ++step) {
            if (r == job.lost && step == 1) throw RunError("rank 1 has had enough");
            const StepMeasurement m = rank.step();
            if (r == 0) out.steps.push_back(m);
          }
          rank.check_nothing_lost();
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
    const Ran ran = run({.ranks = ranks, .engines = engines});
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
  const Ran ran = run({.ranks = 3, .engines = {AiaccSettings{.granularity = 10'000_B, .streams = 2}}, .lost = 1});
  CHECK(ran.report.find("rank 1") != std::string::npos);
  CHECK(ran.steps.size() <= 1);  // rank 0 may still wait for the end of the first
}

TEST_CASE("real rank: whatever an engine puts together, compressed steps lose nothing of any gradient") {
  const std::vector<EngineSettings> engines = {NoneSettings{}, DdpSettings{.bucket = 50'000_B, .first_bucket = 1000_B},
                                               HorovodSettings{.cycle_time = 500_us}, AiaccSettings{.granularity = 10'000_B, .streams = 3}};
  for (const std::string_view name : compression_names())
    for (const int ranks : {1, 3, 4}) {
      CAPTURE(name);
      CAPTURE(ranks);
      const Ran ran = run({.ranks = ranks, .engines = engines, .compression = CompressionSettings{.name = std::string(name)}});
      CHECK(ran.report == "");  // sent and kept add up, to the bit, on every rank
      REQUIRE(ran.steps.size() == 12);
      for (const StepMeasurement& m : ran.steps) CHECK(m.kernels_s > 0);
    }
}

TEST_CASE("real rank: a list of k entries is what a step of gtopk sends") {
  // 164404 bytes are 41101 values, of which 1 % are 411 entries of 8 bytes. Of two ranks one sends its list up, the other sends it down.
  const Ran ran = run({.ranks = 2, .engines = {NoneSettings{}}, .compression = CompressionSettings{.name = "gtopk"}});
  REQUIRE(ran.report == "");
  CHECK(ran.steps[0].sent_bytes == 411 * 8);
  CHECK(ran.steps[0].messages == 2);
}

TEST_CASE("real rank: ranks with different settings of compression are refused before the first step") {
  const Ran ran = run({.ranks = 3, .engines = {DdpSettings{}}, .compression = CompressionSettings{}, .other = 2});
  CHECK(ran.report.find("seed 2 on rank 2, 1 on rank 0") != std::string::npos);
  CHECK(ran.steps.empty());
}

TEST_CASE("real rank: parameter servers beside the workers, or on hosts of their own, sum every partition") {
  for (const int servers : {0, 1, 2})
    for (const int ranks : {1, 2, 3}) {
      CAPTURE(servers);
      CAPTURE(ranks);
      const ServerHosts where = servers > 0 ? ServerHosts::extra : ServerHosts::workers;
      const Ran ran = run({.ranks = ranks,
                           .engines = {BytepsSettings{.partition = 10'000_B, .credit = 2, .servers = servers, .server_hosts = where},
                                       NoneSettings{}, BytepsSettings{.partition = 50'000_B, .servers = 2}},
                           .servers = servers});
      CHECK(ran.report == "");
      REQUIRE(ran.steps.size() == 9);
      CHECK(ran.steps[0].orders == 1 + 1 + 4 + 1 + 12);  // 4000, 400, 40000, 4 and 120000 bytes in partitions of 10000
      CHECK(ran.steps[0].sent_bytes == 164'404);
    }
}

TEST_CASE("real rank: what a straggler computes takes longer, and all ranks wait for it") {
  const Ran ran =
      run({.ranks = 2, .engines = {NoneSettings{}}, .slowdown = [](Rank r, int step) { return r == 1 && step == 1 ? 10.0 : 1.0; }});
  REQUIRE(ran.report == "");
  CHECK(ran.steps[0].seconds < 0.05);
  CHECK(ran.steps[1].seconds >= 0.05);                       // 5 ms of compute ten times
  CHECK(ran.steps[1].computed_s == doctest::Approx(0.005));  // of rank 0
}

}  // namespace weft
