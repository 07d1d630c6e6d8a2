// `weft lab`: a scenario's fabric built on this machine, its workload run there for real, and the simulation of the same
// scenario compared with it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace weft {

struct LabArguments {
  std::string scenario;
  std::vector<std::string> set = {};    // "/pointer=value"
  std::vector<std::string> bench = {};  // further arguments of weft bench
  std::vector<std::string> fit = {};    // empty: default_lab_fit()
  std::string output = {};              // folder for the tables and traces of weft bench
  double row_s = 3;                     // about how long each algorithm is run at each size
  double allowed_percent = 0;           // more than 0: a larger median error or a wrong order is a failure
  bool clean = false;
  bool force = false;  // replace files that `output` holds and this command did not write
};

const std::vector<std::string>& default_lab_fit();

// Prints the comparison; returns the exit status. Throws InputError, also where no lab can be built; RunError.
int lab_command(const LabArguments&, std::ostream& out, std::ostream& err);

}  // namespace weft
