// How many flows each step of a schedule puts on each link: the static picture of congestion.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "models/fabric/routes.hpp"

#include <span>
#include <vector>

namespace weft {

// The directed link that most flows of one step cross, and the first step in which they do; flows 0 if there is none.
struct BusiestLink {
  int flows = 0;
  LinkId link = -1;
  int step = -1;
  friend bool operator==(const BusiestLink&, const BusiestLink&) = default;
};

struct LinkLoad {
  // The most flows that one step puts on one link of the step.
  struct Step {
    int between_switches = 0;
    int any = 0;
    friend bool operator==(const Step&, const Step&) = default;
  };

  BusiestLink between_switches;
  BusiestLink any;          // host links too
  std::vector<Step> steps;  // by step; the steps of channels that run side by side count together
  int max_flows_per_link() const { return between_switches.flows; }
};

// A flow is a transfer between ranks on different endpoints, on the route of these: placement[rank].
LinkLoad link_load(const Schedule& schedule, std::span<const int> placement, Routes& routes);

}  // namespace weft
