// Which switches of a fabric can be programmed to add, and what they have for it.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct ProgrammableSwitches {
  static const std::vector<std::string> edge;  // stands for every switch with an endpoint below

  std::vector<std::string> switches = edge;  // their names; none: nothing is added on the way
  int aggregators = 20000;                   // packets that each can hold at a time, of all jobs: 40,000 registers, two for each
  // (the authors' program, github.com/in-ATP/ATP), which also marks what waits behind 1000 cells of 80 bytes
  Bytes mark_above{80'000};             // besides what the network marks ("/packet/ecn"); 0: nothing
  Bytes payload{0};                     // the most it can add of one packet; 0: as much as a packet holds
  std::int64_t packets_per_second = 0;  // at most, by each; 0: as fast as they come
  SimTime delay = {};                   // of each packet in it, on top of what its links take
  friend bool operator==(const ProgrammableSwitches&, const ProgrammableSwitches&) = default;
};

// By endpoint: the switch that its first cable goes to; -1 where it has none.
std::vector<NodeId> edge_switches(const Fabric&);

// The switches themselves, in the order of their numbers. The names must be the fabric's.
std::vector<NodeId> programmable_nodes(const ProgrammableSwitches&, const Fabric&);

// What cannot be: values, and names that are no switches of the fabric, each at its place ("/switches/0").
std::vector<Problem> problems(const ProgrammableSwitches&, const Fabric&);

}  // namespace weft
