// A fabric given cable by cable, routed by Boost.Graph: all paths of fewest hops are choices, up to 64 of them in the order
// of the links' numbers. Endpoints do not forward: paths run over switches, or straight from endpoint to endpoint.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct GraphLink {
  std::string from;
  std::string to;
  BitsPerSecond bandwidth;
  SimTime latency;
  bool bidirectional = true;
  friend bool operator==(const GraphLink&, const GraphLink&) = default;
};

struct GraphFabric {
  std::vector<std::string> nodes = {};  // endpoints
  std::vector<std::string> switches = {};
  std::vector<GraphLink> links = {};

  static constexpr std::string_view type = "graph";
  static constexpr int max_choices = 64;
  static constexpr std::int64_t max_switches = 4096;  // distances are held for every pair of switches
  std::int64_t endpoints() const { return static_cast<std::int64_t>(nodes.size()); }
  friend bool operator==(const GraphFabric&, const GraphFabric&) = default;
};

// Names in place, links sound, and a path from every endpoint to every other.
std::vector<Problem> problems(const GraphFabric&);

std::unique_ptr<Fabric> build(const GraphFabric&);

}  // namespace weft
