// Chooses parameter values so that simulated times meet measured ones.
#pragma once

#include "validation/fit/parameters.hpp"
#include "validation/fit/simulator.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft {

// A measurement that can be simulated. Held out: compared with, never fitted to.
struct FitPoint {
  Measurement measured;
  MeasuredSetup setup;
  bool fitted = true;
};

struct UsedMeasurements {
  std::vector<FitPoint> points;
  std::vector<std::string> left_out;  // "FILE:LINE: why"
  std::vector<std::string> assumed;   // "FILE: what was taken for granted"
};

// How measurements that were read become points; which are read is a RowSelection's to say.
struct Selection {
  Renames renames = {};
  bool hold_out = true;  // every second size of each series
};

// Makes points of the rows, each series (collective, algorithm, ranks) in the order of its sizes; of each series the second,
// fourth, ... is held out. Measurements of the same thing become one point: their mean, with their spread. Throws InputError for
// times that no wire of the scenario could reach and for numbers of nodes that are not the scenario's, each with its line.
UsedMeasurements usable(const std::vector<Measurement>& rows, Simulator& simulator, const Selection& selection);

struct ErrorSummary {
  int points = 0;
  double median = 0;  // of |simulated / measured - 1|
  double p95 = 0;     // nearest rank
};
ErrorSummary summarise(std::vector<double> relative_errors);

struct FitOptions {
  int folds = 4;  // 0: no cross-validation
  int starts = 4;
  int evaluations = 120;  // for each parameter and start
  std::uint64_t seed = 1;
  std::function<void(const std::string&)> say = {};  // progress, if anyone listens
};

struct FittedParameter {
  FitParameter parameter;
  double value = 0;
  bool determined = true;        // false: left at its initial value, which fits as well
  double objective_without = 0;  // rise of the mean loss when it is left at its initial value and the others adapt
};

struct FitResult {
  std::vector<FittedParameter> parameters;
  std::vector<double> simulated_us;  // by point, held out ones too
  ErrorSummary fitted, held_out, cross_validated;
  int evaluations = 0;
};

// Derivative-free (NLopt: controlled random search, then Sbplx, Rowan 1990) from several starts, all drawn from the seed. Loss:
// pseudo-Huber of log(simulated / measured), so that a few wild measurements do not decide.
FitResult fit(const OpenScenario& open, const std::vector<FitPoint>& points, const FitOptions& options);

}  // namespace weft
