// What the ranks tell rank 0 of each size, over the benchmark's own transport, and what rank 0 makes of it.
#pragma once

#include "collectives/bench/measure.hpp"
#include "collectives/executors/transport.hpp"

#include <string>
#include <vector>

namespace weft::bench {

// Of one rank, at one size.
struct RankMeasured {
  std::vector<double> times_us = {}, out_of_place_us = {};
  Verdict verdict = {}, out_of_place_verdict = {};
  std::vector<Record> records = {};  // if it traced
  double clock_error_us = 0;         // of the records' times, beside that of comparing the ranks' clocks
};

// One object per rank, used by the thread of its channel 0.
class RankReport {
 public:
  RankReport(const Settings& settings, Rank rank, const Hear& hear) : settings_(settings), rank_(rank), hear_(hear) {}

  // Before the first size, where messages are traced.
  void compare_clocks(Transport& transport, bool one_clock);
  // All ranks call it; rank 0 hands the row on.
  void report(Transport& transport, const std::string& algorithm, std::int64_t elements, RankMeasured measured);
  // After the last size, where messages are traced.
  void finish();

 private:
  void send(Transport& transport, RankMeasured& measured) const;
  RankMeasured receive(Transport& transport, Rank other, Row& row);
  void add_verdicts(Row& row, std::int64_t wrong, std::int64_t out_of_place_wrong, const char* first_wrong) const;

  const Settings& settings_;
  const Rank rank_;
  const Hear& hear_;
  std::vector<ClockOffset> clocks_ = {};  // rank 0's, of all
  double clock_error_us_ = 0;             // rank 0's: the largest that any told of
  std::vector<TracedRun> traced_ = {};
};

}  // namespace weft::bench
