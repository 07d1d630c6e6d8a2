// `weft calibrate`: a hardware profile from measurements.
#pragma once

#include "sim/cases/cases.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct CalibrateArguments {
  std::vector<std::string> data;  // "FILE" or "FILE:ranks=N,nodes=N,..." (validation/calibrate/measured_file.hpp)
  std::string scenario;
  std::vector<std::string> set = {};     // "/pointer=value"
  std::vector<std::string> fit = {};     // empty: as in validation/fit/defaults.hpp
  std::string output = {};               // the profile; its plot stands beside it as .svg
  std::vector<std::string> rename = {};  // "measured=ours"
  std::vector<std::string> only = {};    // measured algorithms
  std::string system = {};               // only measurements of systems with this in their name
  std::string collective = {};
  bool in_place = false;
  bool skip_bad = false;
  bool all = false;  // fit to every point, hold none out
  int folds = 4;
  int starts = 4;
  std::uint64_t seed = 1;
  double smallest_bytes = 0;
  std::optional<double> largest_bytes = {};
  std::vector<std::string> exclude = {};  // "FILE:LINE"
  bool flat = false;                      // ranks of one node are taken for nodes of their own
  std::string scenario_output = {};       // the scenario with what was fitted of it
  bool force = false;                     // replace files that this command did not write
};

// Prints a table of what was chosen and how wrong it is; returns the exit status. Throws InputError.
int calibrate_command(const CalibrateArguments&, std::ostream& out, std::ostream& err);

}  // namespace weft
