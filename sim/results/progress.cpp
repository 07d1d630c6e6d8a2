#include "sim/results/progress.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace weft {

Progress::Progress(std::size_t total, bool wanted) : total_(total), shown_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::done(const std::string& last) {
  ++done_;
  show(last);
}

void Progress::under_way(const std::string& what) { show(what); }

void Progress::show(const std::string& text) const {
  if (!shown_) return;
  constexpr std::size_t width = 79;
  fmt::print(stderr, "\r\x1b[K{}", progress_line(done_, total_, text, width));
  std::fflush(stderr);
}

void Progress::clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

std::string progress_line(std::size_t done, std::size_t total, const std::string& last, std::size_t width) {
  constexpr std::size_t cells = 24;
  const std::size_t full = total > 0 ? done * cells / total : cells;
  return fmt::format("[{}{}] {}/{}  {}", std::string(full, '#'), std::string(cells - full, '-'), done, total, last).substr(0, width);
}

}  // namespace weft
