// What a cluster would be if some of its links were faster, and which links are alike.
#pragma once

#include "models/fabric/fabric.hpp"

#include <memory>
#include <string>
#include <vector>

namespace weft {

struct FasterParts {
  std::vector<LinkId> links = {};
  bool rate_caps = false;  // of all flows that have one, whatever their links are
};

// The same devices, links and paths; `parts` have `factor` times their rate, also where a link loses some of it under load or caps what
// one flow gets of it.
std::shared_ptr<const Fabric> with_faster(std::shared_ptr<const Fabric> fabric, const FasterParts& parts, int factor);

// The links of `link`'s bandwidth that join devices of the same kinds, in either direction; switches are of a kind that are as many hops
// from the nearest host. In the order of their numbers, `link` among them.
std::vector<LinkId> links_like(const Fabric& fabric, LinkId link);

// "64 links between leaf* and spine*", or, where names have no pattern, "64 links between nodes and switches of tier 1".
std::string describe_alike(const Fabric& fabric, const std::vector<LinkId>& links);

}  // namespace weft
