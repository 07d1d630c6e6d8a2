// Which schedules and sizes a benchmark runs.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/worlds/world.hpp"
#include "collectives/schedule/schedule.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

struct PlannedAlgorithm {
  std::string name;
  Schedule schedule;  // of the library's own: only what it does, no steps
  bool library = false;
  std::vector<std::int64_t> elements;  // of each size
};

// Throws InputError with all that forbids it.
std::vector<PlannedAlgorithm> plan(const Settings&, const Medium&);

}  // namespace weft::bench
