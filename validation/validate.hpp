// `weft validate`: every reference, simulated with the profile it has, in one table; and the same in the documentation.
#pragma once

#include "validation/references.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct JudgedClaim {
  Claim claim;
  double lowest = 0, highest = 0;  // over the sizes
  bool holds = false;
};

struct Judgement {
  Reference reference;
  std::vector<FitPoint> points;
  std::vector<double> simulated_us = {};  // by point
  ErrorSummary fitted = {}, held_out = {};
  // By point, the error without a model: of log-log interpolation where every second size is held out, else of the bus bandwidth of the
  // nearest number of ranks that was fitted.
  std::vector<std::optional<double>> without_model = {};
  std::vector<JudgedClaim> claims = {};
  std::vector<std::string> skipped = {};  // lines of the measurements that cannot be used
};

Judgement judge(const Reference& reference);

// The reference's scenario, with its profile if it names one.
std::vector<Setting> settings_of(const Reference& reference);
// `skipped`: where lines that were skipped are added, which the reference must allow.
std::vector<FitPoint> points_of(const Reference& reference, Simulator& simulator, std::vector<std::string>* skipped = nullptr);

// A held-out error may not grow beyond what was committed, by more than these.
constexpr double allowed_relative_growth = 0.05, allowed_absolute_growth = 0.002;

struct ValidateArguments {
  std::vector<std::string> references = {};  // files; empty: all that ship
  bool points = false;                       // print every point, not only the summary
  bool check = false;                        // compare with the committed errors and documentation
  bool renew = false;                        // write them, and the profiles of classes
  bool refit = false;                        // fit the profiles of references that say how, first
  bool skip_bad = false;                     // go on without lines of measurements that cannot be used
};

// Exit status 1 if a check fails.
int validate_command(const ValidateArguments&, std::ostream& out, std::ostream& err);

}  // namespace weft
