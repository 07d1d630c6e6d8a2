#include "models/fabric/bigraph.hpp"

#include "models/fabric/validation.hpp"

namespace weft {
namespace {

class BiGraphFabric final : public Fabric {
 public:
  explicit BiGraphFabric(const BiGraph& spec) : spec_{spec}, half_{spec.switches / 2}, per_switch_{spec.nodes_per_switch} {
    priorities_ = spec.priorities;
    for (int s = 0; s < spec.switches; ++s) add_switch(s < half_ ? fmt::format("upper{}", s) : fmt::format("lower{}", s - half_));
    for (int turn = 0; turn < spec.switches; ++turn) {
      const int s = bigraph_switch(spec, turn);
      for (int slot = 0; slot < per_switch_; ++slot) add_endpoint_on(s, fmt::format("{}/node{}", device(s).name, slot), spec.host_link);
    }
    first_fabric_link_ = links();
    for (int upper = 0; upper < half_; ++upper)
      for (int lower = 0; lower < half_; ++lower) add_cable(upper, half_ + lower, spec.fabric_link);
  }

  int path_count(int from, int to) const override {
    const int a = switch_of(from), b = switch_of(to);
    return a == b || part(a) != part(b) ? 1 : half_;
  }

  void append_path(int from, int to, int choice, std::vector<Hop>& path) const override {
    const int a = switch_of(from), b = switch_of(to);
    const int priority = priorities_ == 1 ? 0 : part(a);
    path.push_back({up_link(from), priority});
    if (part(a) != part(b)) {
      path.push_back({fabric_link(a, b), priority});
    } else if (a != b) {
      const int turn = part(a) == 0 ? half_ + choice : choice;
      path.push_back({fabric_link(a, turn), priority});
      path.push_back({fabric_link(turn, b), priority});
    }
    path.push_back({down_link(to), priority});
  }

 private:
  int switch_of(int endpoint) const { return bigraph_switch(spec_, endpoint / per_switch_); }
  int part(int network_switch) const { return network_switch < half_ ? 0 : 1; }

  // Between switches of different parts.
  LinkId fabric_link(int from, int to) const {
    return from < half_ ? first_fabric_link_ + 2 * (from * half_ + to - half_) : first_fabric_link_ + 2 * (to * half_ + from - half_) + 1;
  }

  const BiGraph spec_;
  int half_;
  int per_switch_;
  LinkId first_fabric_link_ = 0;
};

}  // namespace

std::vector<Problem> problems(const BiGraph& spec) {
  Problems found;
  found.require(spec.switches >= 2 && spec.switches % 2 == 0, "/switches", "must be even and at least 2, got {}", spec.switches);
  found.at_least(1, "/nodes_per_switch", spec.nodes_per_switch);
  if (found.none()) {
    const int half = spec.switches / 2;
    found.require(spec.nodes_per_switch <= half, "/nodes_per_switch", "must be at most switches / 2 = {} for a balanced BiGraph, got {}",
                  half, spec.nodes_per_switch);
    found.check_size(spec.endpoints(), product({half, half}));
  }
  found.within(1, 2, "/priorities", spec.priorities);
  found.check_link("/host_link", spec.host_link);
  found.check_link("/fabric_link", spec.fabric_link);
  return found.take();
}

std::unique_ptr<Fabric> build(const BiGraph& spec) {
  refuse(BiGraph::type, problems(spec));
  return std::make_unique<BiGraphFabric>(spec);
}

}  // namespace weft
