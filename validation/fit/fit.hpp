// Chooses parameter values so that simulated times meet measured ones.
#pragma once

#include "validation/fit/parameters.hpp"
#include "validation/fit/simulator.hpp"
#include "validation/measurements/renames.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A measurement that can be simulated. Held out: compared with, never fitted to.
struct FitPoint {
  Measurement measured;
  MeasuredSetup setup;
  bool fitted = true;
  double undisturbed_us = 0;  // 0: nothing says that it is not what was measured

  double wanted_us() const { return undisturbed_us > 0 ? undisturbed_us : measured.time_us; }  // what is fitted to
};

// What ran, as the file calls it, or what it was taken for where the file does not say; between which two where it is one pair of a matrix:
// "p2p_enabled, 0 to 3".
std::string what_ran(const FitPoint& point);

struct UsedMeasurements {
  std::vector<FitPoint> points;
  std::vector<std::string> left_out;  // "FILE:LINE: why"
  std::vector<std::string> assumed;   // "FILE: what was taken for granted"
};

// How measurements that were read become points; which are read is a RowSelection's to say.
struct Selection {
  Renames renames = {};
  bool hold_out = true;       // every second size of each call
  bool wire_is_known = true;  // times that no wire of the scenario could reach are told; not where its rates are to be fitted
  bool flat = false;          // ranks of one node are taken for ranks with an endpoint each, where the scenario's nodes are one endpoint
};

// Makes points of the rows, each series (collective, algorithm, ranks, and how it was measured) in the order of its sizes. Of each call
// (collective, algorithm, ranks, servers), whatever files call it, the second, fourth, ... size is held out, and of a matrix every second
// pair. Measurements of the same thing become one point: their mean, with their spread. What disturbs a call makes it longer: where both
// buffers were measured, what is fitted to is the shorter of the two times, when that of the other is corrected by what usually is between
// them at sizes near it, but never below both. Rows of several numbers of servers are points of one fit, each simulated on so many. Where
// more than one in four is faster than any wire of the scenario could be, throws InputError with each of those lines, else leaves them out;
// throws it for servers that are more, or of more GPUs, than the scenario's, each with its line.
UsedMeasurements usable(const std::vector<Measurement>& rows, Simulator& simulator, const Selection& selection);

// Of each series with points that are faster than their algorithm can be in the scenario whatever the profile (Simulator::least_us), at the
// one that is so most clearly, what to look at: "FILE:LINE: ...".
std::vector<std::string> impossible_series(const std::vector<FitPoint>& points, Simulator& simulator);

// Of the points that are fitted to (Simulator::ways_between_servers).
std::set<PathClass> ways_between_servers(const std::vector<FitPoint>& points, Simulator& simulator);

// Of the same points, calls of NCCL: in one server, between servers or both.
BiasesOf calls_of_nccl(const std::vector<FitPoint>& points, Simulator& simulator);

struct ErrorSummary {
  int points = 0;
  double median = 0;  // of |simulated / measured - 1|
  double p95 = 0;     // nearest rank
};
ErrorSummary summarise(std::vector<double> relative_errors);

struct FitOptions {
  int folds = 4;  // 0: no cross-validation
  int starts = 4;
  std::uint64_t seed = 1;
  bool leaves_out = true;  // the parameters that the points do not need
  // What may be simulated, about, cross-validation included (Simulator::work): so a fit ends after the same work on any machine. The
  // default is some 15 s of one core.
  std::int64_t budget = 90'000'000;
  std::function<void(const std::string&)> say = {};  // progress, if anyone listens
};

struct FittedParameter {
  FitParameter parameter;
  double value = 0;
  bool determined = true;        // false: left at what is usual, else at its initial value, which fits as well
  std::string_view usual = {};   // of what it then has the usual value, "hosts" or "GPUs"; empty: it keeps its initial one
  bool at_bound = false;         // it would go further than it may: the model lacks something
  double objective_without = 0;  // rise of the mean loss when it is left there and the others adapt
};

// What the starts of a search came to, each by itself: how much the result depends on the seed.
struct SpreadOfStarts {
  int starts = 0;                         // of a single one the errors stay 0
  double min_median = 0, max_median = 0;  // of the held-out error; of the fitted one where nothing is held out
  double min_p95 = 0, max_p95 = 0;
};

// Calls whose times are told from smaller ones (large_calls.hpp).
struct ToldCalls {
  int count = 0, min_ranks = 0, max_ranks = 0;
  Bytes min_size, max_size;
  std::optional<std::size_t> checked = {};  // the largest point that was simulated whole as well
  double off = 0;                           // told over simulated there, less 1
};

struct FitResult {
  std::vector<FittedParameter> parameters;
  std::vector<double> simulated_us;  // by point, held out ones too
  std::vector<CostAtSize> cost_by_size = {};
  std::set<NcclAlgorithm> patterns = {};        // that NCCL's calls ran
  std::optional<WaysBetweenServers> ways = {};  // of the points that were fitted; nothing if none of them was of several servers
  ErrorSummary fitted, held_out, cross_validated;
  ErrorSummary fitted_without_costs, held_out_without_costs;  // by size: by the parameters alone
  SpreadOfStarts spread;
  bool searched =
      true;  // false: simulating the points for each parameter was too much; what a call costs before its messages alone was fitted
  ToldCalls told;
  int evaluations = 0;
};

// Robust least squares (Levenberg-Marquardt) of log(simulated / measured) from several starts, all drawn from the seed; thresholds
// are tried one by one. Large errors count by their size, not their square, so that a few wild measurements do not decide.
FitResult fit(const OpenScenario& open, const std::vector<FitPoint>& points, const FitOptions& options);

}  // namespace weft
