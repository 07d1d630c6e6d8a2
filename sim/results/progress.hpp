// A progress bar on stderr, for people only: nothing is printed unless stderr is a terminal.
#pragma once

#include "sim/network/run_progress.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace weft {

class Progress {
 public:
  Progress(std::size_t total, bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void done(const std::string& last);       // one more
  void under_way(const std::string& what);  // none more: what one of those that are not done is at
  void clear();

 private:
  void show(const std::string& what) const;

  std::size_t total_, done_ = 0;
  bool shown_;
};

// "[#####-----] 5/10  quickstart: ring, 256KiB", cut to the width.
std::string progress_line(std::size_t done, std::size_t total, const std::string& what, std::size_t width);

// "1:02 min, 41 %, 1:29 min left, 5.2 M events/s, 5.250 ms simulated: quickstart: ring, 256KiB"; what is not known is not said.
std::string row_under_way(const std::string& row, std::chrono::seconds wall, const RunProgress::Reached& reached);

}  // namespace weft
