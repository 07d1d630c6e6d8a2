// The key "repeat", and the runs that it stands for.
#pragma once

#include "sim/json/fields.hpp"
#include "sim/scenario/scenario.hpp"

#include <string>
#include <vector>

namespace weft {

template <>
struct Names<Varied> {
  static constexpr const char* kind = "random choice";
  static const std::vector<std::pair<Varied, std::string>>& values();
};
template <>
struct Declared<Repeat> {
  static Declaration<Repeat> declaration();
};

// What "vary" names and the scenario has no random choice of, or names twice.
std::vector<Problem> repeat_problems(const Scenario&);

// The scenario of a run, from 0 on, of those that it is repeated for: with seeds of its own, and without "repeat". The seeds of
// a run are the same for all rows, so that they are compared on the same placements, hashes and starts.
Scenario scenario_of_run(const Scenario&, int run);

// "20 runs (seed 1), each with another random placement, other ECMP hashes, other starts within 1ns".
std::string describe(const Repeat&, const Scenario&);

}  // namespace weft
