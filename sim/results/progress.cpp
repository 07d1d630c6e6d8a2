#include "sim/results/progress.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace weft {

Progress::Progress(std::size_t total, bool wanted) : total_(total), shown_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& what) const {
  if (!shown_) return;
  constexpr std::size_t width = 79;
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

std::string row_under_way(const std::string& row, std::chrono::seconds wall, SimTime simulated) {
  const auto s = wall.count();
  std::string out = s < 60 ? fmt::format("{} s", s) : fmt::format("{}:{:02} min", s / 60, s % 60);
  if (simulated.ps > 0) out += fmt::format(", {:.3f} ms simulated", static_cast<double>(simulated.ps) / 1e9);
  return out + ": " + row;
}

}  // namespace weft
