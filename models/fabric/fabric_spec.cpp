#include "models/fabric/fabric_spec.hpp"

#include <algorithm>
#include <map>

namespace weft {

std::string_view type_name(const FabricSpec& spec) {
  return std::visit([](const auto& s) { return s.type; }, spec);
}

bool has_rules_for_paths(const FabricSpec& spec) { return std::holds_alternative<Torus>(spec) || std::holds_alternative<Dragonfly>(spec); }

std::vector<Problem> problems(const FabricSpec& spec) {
  return std::visit([](const auto& s) { return problems(s); }, spec);
}

std::unique_ptr<Fabric> build(const FabricSpec& spec) {
  return std::visit([](const auto& s) { return build(s); }, spec);
}

std::int64_t endpoints(const FabricSpec& spec) {
  return std::visit([](const auto& s) { return s.endpoints(); }, spec);
}

BitsPerSecond slowest_endpoint(const FabricSpec& spec) {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.host_link; }) {
          return s.host_link.bandwidth;
        } else if constexpr (requires { s.platform; }) {
          return s.platform->max_from_a_host();
        } else {
          std::map<std::string, BitsPerSecond> out_of;
          for (const std::string& node : s.nodes) out_of[node] = {};
          for (const GraphLink& link : s.links) {
            if (const auto from = out_of.find(link.from); from != out_of.end()) from->second.count += link.bandwidth.count;
            if (const auto to = out_of.find(link.to); to != out_of.end() && link.bidirectional) to->second.count += link.bandwidth.count;
          }
          BitsPerSecond least{INT64_MAX};
          for (const auto& [node, rate] : out_of) least = std::min(least, rate);
          return least;
        }
      },
      spec);
}

}  // namespace weft
