// What goes wrong with a fabric while something runs on it.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"
#include "models/fabric/fabric.hpp"

#include <map>
#include <string>
#include <vector>

namespace weft {

// A link, a cable or a switch that fails, or slows down, from `at` until `until`. Exactly one of the three is named.
struct Failure {
  std::string link = {};            // one direction of a cable, as Fabric::link_name() says: "leaf0->spine2"
  std::string cable = {};           // both directions, by the name of either
  std::string network_switch = {};  // all cables of a switch, both directions
  SimTime at = {};
  SimTime until = SimTime::never();
  double remaining = 0;  // share of the bandwidth that is left; 0: it has failed
  friend bool operator==(const Failure&, const Failure&) = default;
};

struct Faults {
  std::vector<Failure> failures = {};
  // From a failure or recovery until routes follow it: its detection, and the convergence of routing. never: routes stay.
  SimTime reroute_after = {};
  bool any() const { return !failures.empty(); }
  friend bool operator==(const Faults&, const Faults&) = default;
};

// The links that it is about; none where the fabric has nothing of that name.
std::vector<LinkId> links_of(const Failure& failure, const Fabric& fabric);

// Of each link that failures are about the share of its bandwidth that it has on average between two dates; of failures of one link at
// once the worst counts.
std::map<LinkId, double> mean_remaining(const Faults& faults, const Fabric& fabric, SimTime from, SimTime to);

// What cannot be, with its place below "/faults", names that the fabric does not know included.
std::vector<Problem> problems(const Faults& faults, const Fabric& fabric);

// "spine0 from 50us to 90us", "leaf0->spine1 at 25 % from 0s"
std::string describe(const Failure& failure);

}  // namespace weft
