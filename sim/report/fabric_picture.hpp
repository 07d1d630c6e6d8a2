// The fabric as it can be drawn, with how much each cable was used: hosts with all that is in them are one node, the hosts of a switch
// too where there are many, and parallel cables are one line.
#pragma once

#include "sim/json/json_text.hpp"
#include "sim/network/timeline.hpp"
#include "sim/results/row.hpp"

namespace weft {

// {"nodes": [{name, kind, tier, hosts}], "links": [{from, to, GBps, use}]}; lines of several cables also have {cables, mean, busiest}, and
// those that were the bottleneck {bottleneck_us}. And {"classes": [...]}, links by what they join: that only, where even so much cannot
// be drawn.
Json fabric_picture(const Timeline&, const Row&);

}  // namespace weft
