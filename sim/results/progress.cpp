#include "sim/results/progress.hpp"

#include "sim/results/terminal.hpp"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace weft {
namespace {

std::string minutes(std::int64_t s) { return s < 60 ? fmt::format("{} s", s) : fmt::format("{}:{:02} min", s / 60, s % 60); }

}  // namespace

Progress::Progress(std::size_t total, bool wanted) : total_(total), shown_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& what) const {
  if (!shown_) return;
  const std::size_t width = terminal_width(STDERR_FILENO).value_or(80) - 1;
  fmt::print(stderr, "\r\x1b[K{}", progress_line(done_, total_, what, width));
  std::fflush(stderr);
}

void Progress::done(const std::string& last) {
  ++done_;
  show(last);
}

void Progress::under_way(const std::string& what) { show(what); }

void Progress::clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

std::string progress_line(std::size_t done, std::size_t total, const std::string& what, std::size_t width) {
  constexpr std::size_t cells = 24;
  const std::size_t full = total > 0 ? done * cells / total : cells;
  return fmt::format("[{}{}] {}/{}  {}", std::string(full, '#'), std::string(cells - full, '-'), done, total, what).substr(0, width);
}

std::string row_under_way(const std::string& row, std::chrono::seconds wall, const RunProgress::Reached& reached) {
  std::string out = minutes(wall.count());
  if (reached.share > 0) out += fmt::format(", {:.0f} %", 100 * reached.share);
  const auto seconds = static_cast<double>(wall.count());
  constexpr double too_early = 0.01;  // to say when it ends
  if (reached.share >= too_early && wall.count() > 0)
    out += fmt::format(", {} left", minutes(std::llround(seconds / reached.share * (1 - reached.share))));
  if (reached.events > 0 && wall.count() > 0) {
    const double rate = static_cast<double>(reached.events) / seconds;
    out += rate < 1e6 ? fmt::format(", {:.0f} k events/s", rate / 1e3) : fmt::format(", {:.1f} M events/s", rate / 1e6);
  }
  if (reached.now.ps > 0) out += fmt::format(", {:.3f} ms simulated", static_cast<double>(reached.now.ps) / 1e9);
  return out + ": " + row;
}

}  // namespace weft
