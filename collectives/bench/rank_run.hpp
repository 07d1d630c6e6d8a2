// One rank of a benchmark: it runs every algorithm and size, timed, checked and perhaps traced.
#pragma once

#include "collectives/bench/compressed_run.hpp"
#include "collectives/bench/device_run.hpp"
#include "collectives/bench/measure.hpp"
#include "collectives/bench/memory.hpp"
#include "collectives/bench/plan.hpp"
#include "collectives/bench/rank_report.hpp"
#include "collectives/bench/team.hpp"

#include <optional>
#include <vector>

namespace weft::bench {

// What is the same for all ranks of this process.
struct Benchmark {
  World& world;
  const Settings& settings;
  std::vector<PlannedAlgorithm> algorithms;
  Schedule barrier;
  const Hear& hear;
  TestData data;

  // Of each rank: one alone enqueues on a device.
  int threads() const { return world.device("") != nullptr ? 1 : settings.cut.channels; }
};

// One rank, run by one thread per channel, or by one where a device does the work. Channel 0's thread also talks to the other ranks.
class RankRun {
 public:
  RankRun(const Benchmark& benchmark, Rank rank);

  void run(int channel);
  void break_up() { team_.break_up(); }

 private:
  struct Case {
    const PlannedAlgorithm& algorithm;
    std::int64_t elements;
  };
  // Collectives back to back; `copied`: each from the other buffer.
  struct Runs {
    std::int64_t count = 1;
    bool copied = false;
  };

  Transport& transport() { return b_.world.at(rank_, 0); }
  void measure(const Case& c, int channel);
  void time_runs(const Case& c, int channel, bool copied, std::vector<double>& times_us);
  void fill_source(const Case&);
  void measure_out_of_place(const Case& c, int channel);
  void copy_own(const Schedule& schedule);
  void begin_compression(const Case& c);
  void begin_on_device(const Case& c);
  double run_once(const Case& c, int channel, Transport& transport_of_channel, Runs runs);
  void run_collective(const Case& c, int channel, Transport& transport_of_channel);
  void wait_for_all_ranks();
  void check_result(const Case& c, int channel, Runs runs, Verdict& verdict);
  void add_kept();
  void trace(const Case& c, int channel);
  void report(const Case& c);

  const Benchmark& b_;
  const Rank rank_;
  Team team_;
  TouchedMemory memory_, source_memory_;
  Buffer buffer_, source_;
  std::optional<CompressedRun> compressed_;
  std::optional<DeviceRun> device_;
  RankMeasured measured_;                     // at the size that is run
  std::vector<std::vector<Record>> records_;  // of each channel
  RankReport report_;
};

}  // namespace weft::bench
