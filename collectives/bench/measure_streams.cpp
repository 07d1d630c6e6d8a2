#include "collectives/bench/device_run.hpp"
#include "collectives/bench/fastest.hpp"
#include "collectives/bench/measure.hpp"
#include "collectives/bench/plan.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace weft::bench {
namespace {

// On rank 0's clock: every run compares the clocks anew.
std::vector<Record> records_of(const StreamWorld& world) {
  const std::vector<double> times_us = world.marks_us();
  const std::vector<ClockOffset> clocks = world.clocks();
  std::vector<Record> records;
  for (const MarkedOperation& m : world.marked()) {
    const double offset_us = clocks[static_cast<std::size_t>(m.rank)].offset_us;
    records.push_back({m.rank, operation_of(m.what), m.peer, m.channel, m.step, m.message, m.bytes,
                       times_us[static_cast<std::size_t>(m.start)] - offset_us, times_us[static_cast<std::size_t>(m.end)] - offset_us});
  }
  return records;
}

// One algorithm at one size.
class StreamRun {
 public:
  StreamRun(StreamWorld& world, const Settings& settings, const PlannedAlgorithm& algorithm, std::int64_t elements)
      : world_(world),
        settings_(settings),
        algorithm_(algorithm),
        elements_(elements),
        bytes_(buffer_bytes(algorithm.schedule, elements, settings.dtype)) {}

  Row measure() {
    Row row = row_of(settings_, algorithm_.name, elements_);
    prepare(false);
    const std::int64_t together = settings_.aggregated;
    for (int i = 0; i < settings_.warmup; ++i) world_.run(together);
    const int runs = timed_runs(settings_);
    for (int i = 0; i < runs; ++i) row.times_us.push_back(world_.run(together * (settings_.iterations / runs)));
    if (settings_.check) check(row);
    return row;
  }
  double time_us() {
    prepare(false);
    world_.run(1);
    return world_.run(runs_to_choose_by);
  }
  TracedRun trace(const Row& row) {
    prepare(true);
    world_.run(1);
    return {algorithm_.name, row.size_bytes, row.times_us, records_of(world_)};
  }

 private:
  void prepare(bool marks) {
    world_.prepare({.schedule = algorithm_.schedule,
                    .algorithm = algorithm_.name,
                    .library = algorithm_.library,
                    .elements = elements_,
                    .dtype = settings_.dtype,
                    .op = settings_.op,
                    .marks = marks});
    fill_all();
    if (!settings_.graph) return;
    world_.run(1);
    world_.capture();
  }

  void fill_all() {
    for_ranks([&](Rank r, const Buffer& buffer) {
      fill(algorithm_.schedule, settings_.op, test_data(settings_), r, buffer);
      world_.write(r, {buffer.data, bytes_});
    });
  }
  void check(Row& row) {
    fill_all();
    world_.run(1);
    TestData data = test_data(settings_);
    data.scaled_first = algorithm_.name == "nccl";
    std::vector<Verdict> verdicts(static_cast<std::size_t>(settings_.with_servers()));
    for_ranks([&](Rank r, const Buffer& buffer) {
      world_.read(r, {buffer.data, bytes_});
      const RankResult result{r, buffer};
      verdicts[static_cast<std::size_t>(r)] = verify(algorithm_.schedule, settings_.op, data, std::span(&result, 1));
    });
    for (const Verdict& v : verdicts) {
      if (row.wrong == 0 && v.wrong > 0) row.first_wrong = v.first_wrong;
      row.wrong += v.wrong;
    }
  }

  // Calls `what` for every rank, with memory on the host; as many at once as there are cores, since the host's part of a
  // check takes far longer than the device's. The first error is thrown.
  template <class What>
  void for_ranks(What what) {
    const int workers = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, settings_.with_servers());
    std::atomic<int> next = 0;
    std::exception_ptr error;
    const auto work = [&] {
      try {
        const std::unique_ptr<std::byte[]> memory(new std::byte[bytes_]);
        const Buffer buffer{{.elements = elements_, .chunks = algorithm_.schedule.chunks}, settings_.dtype, memory.get()};
        for (Rank r; (r = next++) < settings_.with_servers();) what(r, buffer);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error) error = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      try {
        for (int i = 1; i < workers; ++i) threads.emplace_back(work);
      } catch (const std::system_error&) {  // those that could be started, and this one, are enough
      }
      work();
    }
    if (error) std::rethrow_exception(error);
  }

  StreamWorld& world_;
  const Settings& settings_;
  const PlannedAlgorithm& algorithm_;
  const std::int64_t elements_;
  const std::size_t bytes_;
  std::mutex mutex_;
};

}  // namespace

void measure(StreamWorld& world, const Settings& settings, const Hear& hear) {
  std::vector<ClockOffset> clocks(static_cast<std::size_t>(settings.with_servers()));
  std::vector<TracedRun> traced;
  std::vector<PlannedAlgorithm> algorithms;
  if (chooses_by_measuring(settings)) {
    Fastest fastest = fastest_algorithms(settings, world, [&](const PlannedAlgorithm& algorithm, std::int64_t elements) {
      return StreamRun(world, settings, algorithm, elements).time_us();
    });
    hear.note(note_of(fastest));
    algorithms = std::move(fastest.algorithms);
  } else {
    algorithms = plan(settings, world);
  }
  for (const PlannedAlgorithm& algorithm : algorithms) {
    hear.begin(algorithm.name);
    for (const std::int64_t elements : algorithm.elements) {
      StreamRun run(world, settings, algorithm, elements);
      const Row row = run.measure();
      hear.row(row);
      if (settings.trace.empty()) continue;
      traced.push_back(run.trace(row));
      const auto compared = world.clocks();
      for (std::size_t r = 0; r < clocks.size(); ++r) clocks[r].error_us = std::max(clocks[r].error_us, compared[r].error_us);
    }
  }
  if (!settings.trace.empty()) hear.traces(clocks, traced);
}

}  // namespace weft::bench
