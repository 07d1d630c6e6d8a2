#include "collectives/bench/table.hpp"

#include <algorithm>
#include <array>
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

double algbw(const Row& r) { return r.median_us() > 0 ? static_cast<double>(r.size_bytes) / 1000 / r.median_us() : 0; }

}  // namespace

void Table::header(const Medium& medium) const {
  const Settings& s = settings_;
  out_ << fmt::format("# weft bench: {} over {}{}\n", name_of(s.collective), s.transport,
                      medium.library().empty() ? "" : fmt::format(" ({})", medium.library()))
       << fmt::format(
              "# nThread 1 nGpus {} minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} agg iters: 1 validation: {}"
              " graph: {}\n#\n",
              medium.gpus(), s.first_bytes, s.last_bytes, s.factor, s.warmup, s.iterations, s.check ? 1 : 0, s.graph ? 1 : 0)
       << fmt::format("# {} ranks{}, channels {}, pieces {}; time is the median over the iterations of the slowest rank's\n", s.ranks,
                      extra_servers(s.cut) > 0 ? fmt::format(" and {} servers beside them", extra_servers(s.cut)) : "", s.cut.channels,
                      s.cut.pieces)
       << (s.compression
               ? fmt::format("# compression {}: #wrong compares what is sent with what is kept added to it\n", label(*s.compression))
               : "")
       << fmt::format("# host {}\n", host_name());
  if (const std::string about = medium.about(); !about.empty()) out_ << fmt::format("# {}\n", about);
}

void Table::begin(const std::string& algorithm) {
  out_ << fmt::format("#\n# algorithm {}\n#\n", algorithm)
       << fmt::format("# {:>10} {:>12} {:>9} {:>7} {:>6} {:>9} {:>7} {:>7} {:>6} {:>9} {:>9} {:>9} {:>6}\n", "size", "count", "type",
                      "redop", "root", "time", "algbw", "busbw", "#wrong", "i_min", "i_max", "i_p99", "i_cv%")
       << fmt::format("# {:>10} {:>12} {:>9} {:>7} {:>6} {:>9} {:>7} {:>7} {:>6} {:>9} {:>9} {:>9}\n", "(B)", "(elements)", "", "", "",
                      "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(us)", "(us)");
}

void Table::row(const Row& r) {
  const Settings& s = settings_;
  const bool reduces =
      s.collective == Collective::allreduce || s.collective == Collective::reduce || s.collective == Collective::reduce_scatter;
  const bool rooted = s.collective == Collective::broadcast || s.collective == Collective::reduce;
  out_ << fmt::format("{:>12} {:>12} {:>9} {:>7} {:>6} {:>9} {:>7.2f} {:>7.2f} {:>6} {:>9} {:>9} {:>9} {:>6.1f}\n", r.size_bytes, r.count,
                      name_of(s.dtype), reduces ? name_of(s.op) : "none", rooted ? s.root : -1, number(r.median_us()), algbw(r),
                      algbw(r) * bus_factor(s.collective, s.ranks), s.check ? std::to_string(r.wrong) : "N/A", number(r.quantile_us(0)),
                      number(r.quantile_us(1)), r.times_us.size() < 100 ? "N/A" : number(r.quantile_us(0.99)), r.variation_percent());
  if (!r.note.empty()) out_ << fmt::format("# {}\n", r.note);
  if (r.wrong > 0) out_ << fmt::format("# {}\n", r.first_wrong);
  out_.flush();
  wrong_ += r.wrong;
  rows_.push_back(r);
}

void Table::footer() {
  if (settings_.algorithms.size() > 1) compare();
  double sum = 0;
  for (const Row& r : rows_) sum += algbw(r) * bus_factor(settings_.collective, settings_.ranks);
  out_ << fmt::format("# Out of bounds values : {} {}\n", wrong_, wrong_ == 0 ? "OK" : "FAILED")
       << fmt::format("# Avg bus bandwidth    : {:.4g}\n#\n# Collective test concluded: {}\n",
                      rows_.empty() ? 0 : sum / static_cast<double>(rows_.size()), name_of(settings_.collective));
  out_.flush();
}

// The median times of all algorithms side by side.
void Table::compare() const {
  out_ << "#\n# time (us) side by side: median / smallest\n#\n" << fmt::format("# {:>10}", "size");
  for (const std::string& a : settings_.algorithms) out_ << fmt::format(" {:>22}", a);
  out_ << '\n';
  std::vector<std::int64_t> sizes;
  for (const Row& r : rows_)
    if (std::find(sizes.begin(), sizes.end(), r.size_bytes) == sizes.end()) sizes.push_back(r.size_bytes);
  for (const std::int64_t size : sizes) {
    out_ << fmt::format("# {:>10}", size);
    for (const std::string& a : settings_.algorithms) {
      const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.size_bytes == size && r.algorithm == a; });
      out_ << fmt::format(" {:>22}", row == rows_.end() ? "" : number(row->median_us()) + " / " + number(row->quantile_us(0)));
    }
    out_ << '\n';
  }
  out_ << "#\n";
}

}  // namespace weft::bench
