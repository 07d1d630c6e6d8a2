#include "collectives/bench/table.hpp"

#include "collectives/bench/nccl_json.hpp"
#include "collectives/registry/measured_label.hpp"
#include "kernels/base/error.hpp"
#include "kernels/files/files.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <ostream>

#include <fmt/format.h>
#include <unistd.h>

namespace weft::bench {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Three digits or so, in at most seven characters.
std::string number(double value) {
  if (value < 1000) return fmt::format("{:.2f}", value);
  if (value < 100'000) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

double algbw_of(std::int64_t size_bytes, const std::vector<double>& times_us) {
  const double median_us = quantile_of(times_us, 0.5);
  return median_us > 0 ? static_cast<double>(size_bytes) / 1000 / median_us : 0;
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &utc);
  return text.data();
}

}  // namespace

Table::Table(std::ostream& out, const Settings& settings) : out_(out), settings_(settings), began_(now()) {}

void Table::header(const Medium& medium) {
  const Settings& s = settings_;
  out_ << fmt::format("# weft bench: {} over {}{}\n", name_of(s.collective), s.transport,
                      medium.library().empty() ? "" : fmt::format(" ({})", medium.library()))
       << fmt::format(
              "# nThread 1 nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} validation: {}"
              " graph: {}\n#\n",
              medium.gpus(), s.first_bytes, s.last_bytes,
              s.step_bytes > 0 ? fmt::format("{}(bytes)", s.step_bytes) : fmt::format("{}(factor)", s.factor), s.warmup, s.iterations,
              s.aggregated, s.check ? 1 : 0, s.graph ? 1 : 0)
       << fmt::format("# {} ranks{}, channels {}, pieces {}; time is the {} of the slowest rank's iterations{}\n", s.ranks,
                      extra_servers(s.cut) > 0 ? fmt::format(" and {} servers beside them", extra_servers(s.cut)) : "", s.cut.channels,
                      s.cut.pieces, times_each_iteration(s) ? "median" : "mean", times_each_iteration(s) ? "" : ", which are back to back")
       << (s.compression
               ? fmt::format("# compression {}: #wrong compares what is sent with what is kept added to it\n", label(*s.compression))
               : "")
       << fmt::format("# host {}\n", host_name());
  about_ = medium.about();
  if (!about_.empty()) out_ << fmt::format("# {}\n", about_);
}

void Table::note(const std::string& text) { out_ << fmt::format("# {}\n", text); }

void Table::begin(const std::string& algorithm) {
  const int blocks = runs_out_of_place(settings_) ? 2 : 1;
  std::string names = fmt::format("# {:>10} {:>12} {:>9} {:>7} {:>6}", "size", "count", "type", "redop", "root");
  std::string units = fmt::format("# {:>10} {:>12} {:>9} {:>7} {:>6}", "(B)", "(elements)", "", "", "");
  const bool spread = times_each_iteration(settings_);
  for (int i = 0; i < blocks; ++i) {
    names += fmt::format(" {:>9} {:>7} {:>7} {:>6}", "time", "algbw", "busbw", "#wrong");
    units += fmt::format(" {:>9} {:>7} {:>7} {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
    if (!spread) continue;
    names += fmt::format(" {:>9} {:>9} {:>9} {:>6}", "i_min", "i_max", "i_p99", "i_cv%");
    units += fmt::format(" {:>9} {:>9} {:>9} {:>6}", "(us)", "(us)", "(us)", "");
  }
  out_ << fmt::format("#\n# algorithm {}\n#\n", measured_label(settings_.collective, algorithm, settings_.cut));
  if (blocks == 2) out_ << fmt::format("# {:>{}}{:>{}}\n", "out-of-place", spread ? 76 : 71, "in-place", spread ? 69 : 33);
  units.erase(units.find_last_not_of(' ') + 1);
  out_ << names << '\n' << units << '\n';
}

std::string Table::block(std::int64_t size_bytes, const std::vector<double>& times_us, std::int64_t wrong) const {
  const double algbw = algbw_of(size_bytes, times_us);
  std::string out = fmt::format(" {:>9} {:>7.2f} {:>7.2f} {:>6}", number(quantile_of(times_us, 0.5)), algbw,
                                algbw * bus_factor(settings_.collective, settings_.ranks), settings_.check ? std::to_string(wrong) : "N/A");
  if (times_each_iteration(settings_))
    out += fmt::format(" {:>9} {:>9} {:>9} {:>6.1f}", number(quantile_of(times_us, 0)), number(quantile_of(times_us, 1)),
                       times_us.size() < 100 ? "N/A" : number(quantile_of(times_us, 0.99)), variation_percent(times_us));
  return out;
}

void Table::row(const Row& r) {
  const Settings& s = settings_;
  const bool reduces =
      s.collective == Collective::allreduce || s.collective == Collective::reduce || s.collective == Collective::reduce_scatter;
  const bool rooted = s.collective == Collective::broadcast || s.collective == Collective::reduce;
  out_ << fmt::format("{:>12} {:>12} {:>9} {:>7} {:>6}", r.size_bytes, r.count, name_of(s.dtype), reduces ? name_of(s.op) : "none",
                      rooted ? s.root : -1);
  if (!r.out_of_place_us.empty()) out_ << block(r.size_bytes, r.out_of_place_us, r.out_of_place_wrong);
  out_ << block(r.size_bytes, r.times_us, r.wrong) << '\n';
  if (!r.note.empty()) out_ << fmt::format("# {}\n", r.note);
  if (r.wrong + r.out_of_place_wrong > 0) out_ << fmt::format("# {}\n", r.first_wrong);
  out_.flush();
  wrong_ += r.wrong + r.out_of_place_wrong;
  rows_.push_back(r);
}

void Table::footer() {
  if (settings_.algorithms.size() > 1) compare();
  out_ << fmt::format("# Out of bounds values : {} {}\n", wrong_, wrong_ == 0 ? "OK" : "FAILED")
       << fmt::format("# Avg bus bandwidth    : {:.4g}\n#\n# Collective test concluded: {}\n", busbw_average(),
                      name_of(settings_.collective));
  out_.flush();
  if (!settings_.json.empty()) write_json();
}

void Table::write_json() const { write_file(settings_.json, json()); }

double Table::busbw_average() const {
  double sum = 0;
  int blocks = 0;
  for (const Row& r : rows_)
    for (const auto* times_us : {&r.out_of_place_us, &r.times_us})
      if (!times_us->empty()) sum += algbw_of(r.size_bytes, *times_us), ++blocks;
  return blocks > 0 ? sum / blocks * bus_factor(settings_.collective, settings_.ranks) : 0;
}

std::string Table::json() const {
  const RunWritten written{
      .began = began_, .ended = now(), .host = host_name(), .about = about_, .busbw_average = busbw_average(), .wrong = wrong_};
  return nccl_json(settings_, rows_, written);
}

// The times of all algorithms side by side.
void Table::compare() const {
  const bool spread = times_each_iteration(settings_);
  out_ << fmt::format("#\n# time (us) side by side{}\n#\n", spread ? ": median / smallest" : "") << fmt::format("# {:>10}", "size");
  for (const std::string& a : settings_.algorithms) out_ << fmt::format(" {:>22}", a);
  out_ << '\n';
  std::vector<std::int64_t> sizes;
  for (const Row& r : rows_)
    if (std::find(sizes.begin(), sizes.end(), r.size_bytes) == sizes.end()) sizes.push_back(r.size_bytes);
  for (const std::int64_t size : sizes) {
    out_ << fmt::format("# {:>10}", size);
    for (const std::string& a : settings_.algorithms) {
      const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.size_bytes == size && r.algorithm == a; });
      out_ << fmt::format(" {:>22}",
                          row == rows_.end() ? "" : number(row->median_us()) + (spread ? " / " + number(row->quantile_us(0)) : ""));
    }
    out_ << '\n';
  }
  out_ << "#\n";
}

}  // namespace weft::bench
