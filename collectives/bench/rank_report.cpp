#include "collectives/bench/rank_report.hpp"

#include "collectives/bench/talk.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::bench {
namespace {

constexpr int clock_rounds = 32;

// What a rank tells rank 0 after every size; its times follow, then its records if it traced.
struct Told {
  std::int64_t wrong = 0, out_of_place_wrong = 0;
  std::int64_t records = 0;
  double clock_error_us = 0;  // of their times, beside that of comparing the ranks' clocks
  std::array<char, 160> first_wrong = {};
};

Tag talk(int what) { return tag_of({.channel = talk_channel, .step = what}); }
void send_to(Transport& t, Rank to, int what, ByteView bytes) {
  t.send(to, talk(what), bytes);
  t.wait();
}
void receive_from(Transport& t, Rank from, int what, ByteSpan into) {
  t.receive(from, talk(what), into);
  t.wait();
}

void slowest(std::vector<double>& all_us, const std::vector<double>& theirs_us) {
  for (std::size_t i = 0; i < all_us.size(); ++i) all_us[i] = std::max(all_us[i], theirs_us[i]);
}

}  // namespace

// Rank 0 answers every other rank's question after the time; the quickest answer is the best.
void RankReport::compare_clocks(Transport& transport, bool one_clock) {
  clocks_.assign(static_cast<std::size_t>(settings_.with_servers()), {});
  if (one_clock) return;
  for (Rank other = 1; other < settings_.with_servers(); ++other) {
    ClockOffset best{.error_us = HUGE_VAL};
    double time = 0;
    for (int round = 0; round < clock_rounds; ++round) {
      if (rank_ == 0) {
        receive_from(transport, other, 3, {});
        time = now_us();
        send_to(transport, other, 3, bytes_of(time));
      } else if (rank_ == other) {
        const double asked = now_us();
        transport.receive(0, talk(3), bytes_of(time));
        transport.send(0, talk(3), {});
        transport.wait();
        const double heard = now_us();
        if ((heard - asked) / 2 < best.error_us) best = {(asked + heard) / 2 - time, (heard - asked) / 2};
      }
    }
    if (rank_ == other) send_to(transport, 0, 4, bytes_of(best));
    if (rank_ == 0) receive_from(transport, other, 4, bytes_of(clocks_[static_cast<std::size_t>(other)]));
  }
}

void RankReport::report(Transport& transport, const std::string& algorithm, std::int64_t elements, RankMeasured measured) {
  if (rank_ != 0) return send(transport, measured);
  Row row = row_of(settings_, algorithm, elements);
  const Verdict& first = measured.verdict.wrong > 0 ? measured.verdict : measured.out_of_place_verdict;
  add_verdicts(row, measured.verdict.wrong, measured.out_of_place_verdict.wrong, first.first_wrong.c_str());
  clock_error_us_ = std::max(clock_error_us_, measured.clock_error_us);
  for (Rank other = 1; other < settings_.with_servers(); ++other) {
    const RankMeasured theirs = receive(transport, other, row);
    measured.records.insert(measured.records.end(), theirs.records.begin(), theirs.records.end());
    clock_error_us_ = std::max(clock_error_us_, theirs.clock_error_us);
    if (other >= settings_.ranks) continue;
    slowest(measured.times_us, theirs.times_us);
    slowest(measured.out_of_place_us, theirs.out_of_place_us);
  }
  row.times_us = std::move(measured.times_us);
  row.out_of_place_us = std::move(measured.out_of_place_us);
  hear_.row(row);
  if (!settings_.trace.empty()) traced_.push_back({algorithm, row.size_bytes, row.times_us, std::move(measured.records)});
}

void RankReport::finish() {
  if (rank_ != 0) return;
  for (ClockOffset& c : clocks_) c.error_us += clock_error_us_;
  hear_.traces(clocks_, traced_);
}

void RankReport::send(Transport& transport, RankMeasured& measured) const {
  Told told{.wrong = measured.verdict.wrong,
            .out_of_place_wrong = measured.out_of_place_verdict.wrong,
            .records = static_cast<std::int64_t>(measured.records.size()),
            .clock_error_us = measured.clock_error_us};
  const Verdict& first = measured.verdict.wrong > 0 ? measured.verdict : measured.out_of_place_verdict;
  first.first_wrong.copy(told.first_wrong.data(), told.first_wrong.size() - 1);
  send_to(transport, 0, 0, bytes_of(told));
  send_to(transport, 0, 1, bytes_of(measured.times_us));
  send_to(transport, 0, 5, bytes_of(measured.out_of_place_us));
  send_to(transport, 0, 2, bytes_of(measured.records));
}

RankMeasured RankReport::receive(Transport& transport, Rank other, Row& row) {
  Told told;
  const int runs = timed_runs(settings_);
  RankMeasured out;
  out.times_us.resize(static_cast<std::size_t>(runs));
  if (runs_out_of_place(settings_)) out.out_of_place_us.resize(out.times_us.size());
  receive_from(transport, other, 0, bytes_of(told));
  receive_from(transport, other, 1, bytes_of(out.times_us));
  receive_from(transport, other, 5, bytes_of(out.out_of_place_us));
  out.records.resize(static_cast<std::size_t>(told.records));
  receive_from(transport, other, 2, bytes_of(out.records));
  out.clock_error_us = told.clock_error_us;
  add_verdicts(row, told.wrong, told.out_of_place_wrong, told.first_wrong.data());
  return out;
}

void RankReport::add_verdicts(Row& row, std::int64_t wrong, std::int64_t out_of_place_wrong, const char* first_wrong) const {
  if (row.first_wrong.empty()) row.first_wrong = first_wrong;
  row.wrong += wrong;
  row.out_of_place_wrong += out_of_place_wrong;
}

}  // namespace weft::bench
