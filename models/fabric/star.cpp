#include "models/fabric/star.hpp"

#include "models/fabric/validation.hpp"

namespace weft {
namespace {

class StarFabric final : public Fabric {
 public:
  explicit StarFabric(const Star& spec) {
    const NodeId hub = add_switch("switch");
    for (int node = 0; node < spec.nodes; ++node) add_endpoint_on(hub, fmt::format("node{}", node), spec.host_link);
  }

  int path_count(int, int) const override { return 1; }

  void append_path(int from, int to, int, std::vector<Hop>& path) const override {
    path.push_back({up_link(from), 0});
    path.push_back({down_link(to), 0});
  }
};

}  // namespace

std::vector<Problem> problems(const Star& spec) {
  Problems found;
  found.within(1, max_endpoints, "/nodes", spec.nodes);
  found.check_link("/host_link", spec.host_link);
  return found.take();
}

std::unique_ptr<Fabric> build(const Star& spec) {
  refuse(Star::type, problems(spec));
  return std::make_unique<StarFabric>(spec);
}

}  // namespace weft
