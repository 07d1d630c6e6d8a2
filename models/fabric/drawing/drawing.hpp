// A fabric as boxes in tiers and cables between them, for pictures: of a small one every device, of a larger one what is alike together.
#pragma once

#include "models/fabric/fabric.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace weft {

struct Drawing {
  struct Box {
    std::string label = {};  // a device's name, or "8 nodes"
    DeviceKind kind = DeviceKind::endpoint;
    int tier = 0;  // the lowest is at the bottom; what hosts connect by is 0
  };
  // Cables between two boxes that are alike; of which `cables` says how many.
  struct Bundle {
    std::size_t from = 0, to = 0;  // boxes; within one box where they are the same
    int cables = 0;
    BitsPerSecond bandwidth = {};  // of a cable
    SimTime latency = {};
    bool both_ways = true;
    bool in_server = false;
  };
  std::vector<Box> boxes = {};
  std::vector<Bundle> bundles = {};
  bool in_tiers = true;  // no cables within a tier, but for those of bundles within one box
};

// What a picture shows of each device by itself; of more it puts together what is alike.
inline constexpr std::size_t max_boxes = 64;

// Devices by themselves where they are no more than that; else servers; else all servers or nodes of the same switches; else switches whose
// names differ in their numbers only.
Drawing drawing_of(const Fabric& fabric);

// "8 x 100Gbps 500ns", rounded to four digits.
std::string label_of(const Drawing::Bundle& bundle);

// Graphviz.
void to_dot(const Drawing& drawing, std::ostream& out);
// A picture by itself.
void to_svg(const Drawing& drawing, std::ostream& out);

}  // namespace weft
