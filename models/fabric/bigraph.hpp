// BiGraph (Dong et al., EFLOPS, HPCA 2020): two equal parts of switches, upper and lower; every upper switch has a cable
// to every lower one, and every switch carries the same number of nodes.
//
// Between nodes on different parts the path is unique (one cable between switches); between nodes on two switches of the
// same part it turns on any of the switches of the other part. One priority per direction (upper-lower-upper and
// lower-upper-lower) keeps a lossless BiGraph from deadlock.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace weft {

struct BiGraph {
  int switches = 0;          // both parts together
  int nodes_per_switch = 0;  // at most switches / 2, which is where bandwidth is balanced
  LinkSpec host_link = {};
  LinkSpec fabric_link = {};
  int priorities = 2;  // 1: the unsafe variant, for the deadlock check to find

  static constexpr std::string_view type = "bigraph";
  std::int64_t endpoints() const { return std::int64_t{switches} * nodes_per_switch; }
  friend bool operator==(const BiGraph&, const BiGraph&) = default;
};

std::vector<Problem> problems(const BiGraph&);

// Endpoints are numbered switch by switch, upper and lower ones in turn: those of "upper0", "lower0", "upper1", "lower1", ...
// So neighbours in this order are on one switch or on two that a cable joins (the testbed's servers stand so: a chassis holds
// an upper and a lower switch), and a ring in it puts one flow on a cable.
std::unique_ptr<Fabric> build(const BiGraph&);

// The network switch of turn t in that order, as it is counted with the upper ones first.
inline int bigraph_switch(const BiGraph& spec, int turn) { return turn % 2 == 0 ? turn / 2 : spec.switches / 2 + turn / 2; }

}  // namespace weft
