// How much more the hosts of a switch can send than it can send on.
#pragma once

#include "models/fabric/fabric.hpp"

#include <optional>
#include <string>

namespace weft {

struct Oversubscription {
  std::string name;      // of the switch
  int down = 0, up = 0;  // its cables to hosts or their NICs, and to other switches
  double ratio = 0;      // of the bandwidth of those to that of these
};

// Of the switch with hosts where it is highest, the first of several; nothing where no switch with hosts has a cable to another.
std::optional<Oversubscription> most_oversubscribed(const Fabric& fabric);

}  // namespace weft
