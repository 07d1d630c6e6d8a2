// What a model leaves of the measurements, and which of these stand alone.
#pragma once

#include "models/cost_by_size.hpp"
#include "validation/fit/objective.hpp"

#include <string>
#include <vector>

namespace weft {

// What a call was measured to cost over what was simulated.
struct LeftOver {
  CostAtSize call;           // its factor is not used
  double log_ratio = 0;      // log(measured / simulated)
  double log_us = 0;         // log(measured)
  std::string series = {};   // what was measured as one: the algorithm's measured name and where it ran, whatever the library chose
  bool is_repeated = false;  // by several runs that agree
};

LeftOver left_over_of(CostAtSize call, const FitPoint& point, double simulated_us);

// What is left over at one size of what an algorithm takes.
struct Left {
  std::string algorithm;
  double octave, log_ratio, log_us;
  bool is_repeated = false;
};

double octave_of(Bytes size);
// By rising sizes; of equal sizes and algorithms their mean.
std::vector<Left> by_size(const std::vector<Left>& all);

// Which of them stand alone: what is left over, and what was measured, are more than a quarter from the straight line between their
// neighbours in size (of equal collective, ranks and series, whatever algorithms a library chose), to the same side, and far more than is
// usual in the series, while the neighbours agree with one another; or, at the least sizes, where nothing depends on the size, from the two
// next to it. Something else went on while they were measured, unless several runs agree: of other sizes they say nothing. A step, to a
// slower protocol say, is none: there the neighbours do not agree; and where only the left-over is off, it is the simulation.
std::vector<bool> standing_alone(const std::vector<LeftOver>& left_over);

}  // namespace weft
