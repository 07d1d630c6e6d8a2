#include "collectives/bench/measure.hpp"

#include "collectives/bench/device_run.hpp"
#include "collectives/bench/fastest.hpp"
#include "collectives/bench/memory.hpp"
#include "collectives/bench/rank_run.hpp"
#include "collectives/transports/on_threads.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>

#include <sched.h>

namespace weft::bench {
namespace {

// Where every thread can have a core, each gets its own, as mpirun does with processes: the scheduler may otherwise keep two
// that wait for each other on one.
void bind_to_core(std::size_t thread, std::size_t threads) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || threads > static_cast<std::size_t>(CPU_COUNT(&allowed))) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || thread-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);  // of this thread; without it the run is only slower
    return;
  }
}

// Runs every rank and channel of this process to its end, or to the first error, which is thrown.
void run_all(World& world, std::deque<RankRun>& ranks, int channels) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto stop = [&](const std::string& reason) {
    {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
    world.fail(reason);
    for (RankRun& r : ranks) r.break_up();
  };
  const auto run = [&](RankRun& rank, int channel) {
    try {
      rank.run(channel);
    } catch (const Team::Broken&) {  // another thread's error is the one to report
    } catch (const std::exception& e) {
      stop(e.what());
    }
  };
  if (ranks.size() == 1 && channels == 1) {
    run(ranks.front(), 0);
  } else {
    const auto per_rank = static_cast<std::size_t>(channels);
    const std::size_t all = ranks.size() * per_rank;
    const auto run_bound = [&](std::size_t i) {
      bind_to_core(i, all);
      run(ranks[i / per_rank], static_cast<int>(i % per_rank));
    };
    on_threads(all, run_bound, [&](const std::string& reason) {
      world.fail(reason);
      for (RankRun& r : ranks) r.break_up();
    });
  }
  if (!first) return;
  if (const std::string report = world.report(); !report.empty()) throw RunError(report);
  std::rethrow_exception(first);
}

// The slowest rank's time, on all ranks.
double slowest(World& world, Rank rank, double own) {
  const Schedule schedule = build({.algorithm = "ring", .ranks = world.ranks()});
  std::vector<std::byte> memory(buffer_bytes(schedule, 1, DType::float64));
  std::memcpy(memory.data(), &own, sizeof own);
  FilteredSteps steps(schedule.channels.front(), rank);
  run_blocking(steps, 0, ReduceOp::max, {{.elements = 1, .chunks = schedule.chunks}, DType::float64, memory.data()}, world.at(rank, 0));
  std::memcpy(&own, memory.data(), sizeof own);
  return own;
}

// By the rank of this process, with those of the others.
std::vector<PlannedAlgorithm> measured_algorithms(World& world, const Settings& settings, const Hear& hear) {
  const Rank rank = world.here().front();
  Fastest fastest = fastest_algorithms(settings, world, [&](const PlannedAlgorithm& algorithm, std::int64_t elements) {
    TouchedMemory memory;
    memory.resize(buffer_bytes(algorithm.schedule, elements, settings.dtype));
    const Buffer buffer{{.elements = elements, .chunks = algorithm.schedule.chunks}, settings.dtype, memory.data()};
    fill(algorithm.schedule, settings.op, test_data(settings), rank, buffer);
    slowest(world, rank, 0);  // all ranks have come
    DeviceRun run(*world.device(algorithm.name), settings, algorithm, rank);
    run.prepare(buffer, DeviceRun::Marks::off);
    run.run(1);
    slowest(world, rank, 0);
    return slowest(world, rank, run.run(runs_to_choose_by));
  });
  if (rank == 0) hear.note(note_of(fastest));
  return std::move(fastest.algorithms);
}

void run_to_the_end(World& world, const Settings& settings, const Hear& hear) {
  const Benchmark benchmark{
      .world = world,
      .settings = settings,
      .algorithms = chooses_by_measuring(settings) ? measured_algorithms(world, settings, hear) : plan(settings, world),
      .barrier = build({.collective = Collective::barrier, .algorithm = "dissemination", .ranks = settings.with_servers()}),
      .hear = hear,
      .data = test_data(settings)};
  std::size_t largest = 0;
  for (const PlannedAlgorithm& a : benchmark.algorithms)
    for (const std::int64_t elements : a.elements) largest = std::max(largest, buffer_bytes(a.schedule, elements, settings.dtype));
  if (runs_out_of_place(settings)) largest *= 2;
  require_memory(ranks_of_this_machine(settings, settings.with_servers()), static_cast<std::int64_t>(largest));
  std::deque<RankRun> ranks;
  for (const Rank r : world.here()) ranks.emplace_back(benchmark, r);
  run_all(world, ranks, benchmark.threads());
}

}  // namespace

void measure(World& world, const Settings& settings, const Hear& hear) {
  if (!chooses_by_measuring(settings)) return run_to_the_end(world, settings, hear);
  try {
    run_to_the_end(world, settings, hear);
  } catch (const std::exception& e) {
    world.fail(e.what());  // the others wait
    throw;
  }
}

}  // namespace weft::bench
