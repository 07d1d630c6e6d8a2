// What the tests of weft bench share: the settings of a command line, what is wrong with one, and what rank 0 hears of a measurement.
#pragma once

#include "collectives/bench/measure.hpp"
#include "kernels/testing/problems_of.hpp"

#include <string>
#include <vector>

namespace weft::bench {

inline Settings settings_of(const std::vector<std::string>& flags) {
  std::vector<const char*> all = {"bench"};
  for (const std::string& flag : flags) all.push_back(flag.c_str());
  return *parse(static_cast<int>(all.size()), all.data());
}

inline std::vector<std::string> problems_of(const std::vector<std::string>& flags) {
  return weft::problems_of([&] { settings_of(flags); });
}

struct Heard {
  std::string note;
  std::vector<Row> rows;
  std::vector<TracedRun> traces;
  std::vector<ClockOffset> clocks;

  Hear hear() {
    return {.note = [this](const std::string& text) { note = text; },
            .begin = [](const std::string&) {},
            .row = [this](const Row& r) { rows.push_back(r); },
            .traces = [this](const auto& c, const auto& t) { clocks = c, traces = t; }};
  }
};

}  // namespace weft::bench
