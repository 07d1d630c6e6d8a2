// The cables of a fabric, each of which is two links.
#pragma once

#include "models/fabric/fabric.hpp"

namespace weft {

// Calls visit(link, goes both ways) once for each cable and each one-way link: a cable is two links with successive numbers,
// opposite ends and equal properties.
template <class Visit>
void for_each_cable(const Fabric& fabric, Visit visit) {
  const auto is_cable = [&](LinkId id) {
    if (id + 1 >= fabric.links()) return false;
    const Link &there = fabric.link(id), &back = fabric.link(id + 1);
    return fabric.from(id) == fabric.to(id + 1) && fabric.to(id) == fabric.from(id + 1) && there.bandwidth == back.bandwidth &&
           there.latency == back.latency;
  };
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const bool both_ways = is_cable(id);
    visit(id, both_ways);
    if (both_ways) ++id;
  }
}

}  // namespace weft
