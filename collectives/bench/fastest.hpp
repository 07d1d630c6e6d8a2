// The algorithm for each size of a run on GPUs, by measuring all of them beforehand: what `--algorithm auto` takes without a table.
#pragma once

#include "collectives/bench/plan.hpp"
#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/worlds/world.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

constexpr int runs_to_choose_by = 5;

bool chooses_by_measuring(const Settings&);

struct Fastest {
  std::vector<PlannedAlgorithm> algorithms;  // one after another, each with the sizes that it is the fastest for
  std::string text = {};                     // "one_shot to 65536 B, ring to 4194304 B"
};
std::string note_of(const Fastest&);

// `time` returns the microseconds of one collective, the same on all ranks, and throws InputError where the algorithm cannot run here. All
// ranks call it with the same in the same order. Throws InputError where there is no algorithm at all.
Fastest fastest_algorithms(const Settings&, const Medium&,
                           const std::function<double(const PlannedAlgorithm&, std::int64_t elements)>& time);

}  // namespace weft::bench
