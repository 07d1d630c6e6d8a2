#include "models/fabric/fat_tree.hpp"

#include "models/fabric/validation.hpp"

namespace weft {
namespace {

class LeafSpine final : public Fabric {
 public:
  explicit LeafSpine(const FatTree& spec) : per_leaf_{spec.nodes_per_leaf}, spines_{spec.spines} {
    for (int leaf = 0; leaf < spec.leaves; ++leaf) add_switch(fmt::format("leaf{}", leaf));
    for (int spine = 0; spine < spines_; ++spine) add_switch(fmt::format("spine{}", spine));
    for (int leaf = 0; leaf < spec.leaves; ++leaf)
      for (int slot = 0; slot < per_leaf_; ++slot) add_endpoint_on(leaf, fmt::format("leaf{}/node{}", leaf, slot), spec.host_link);
    first_fabric_link_ = links();
    for (int leaf = 0; leaf < spec.leaves; ++leaf)
      for (int spine = 0; spine < spines_; ++spine) add_cable(leaf, spec.leaves + spine, spec.fabric_link);
  }

  int path_count(int from, int to) const override { return from / per_leaf_ == to / per_leaf_ ? 1 : spines_; }

  void append_path(int from, int to, int choice, std::vector<Hop>& path) const override {
    const int a = from / per_leaf_, b = to / per_leaf_;
    path.push_back({up_link(from), 0});
    if (a != b) {
      path.push_back({first_fabric_link_ + 2 * (a * spines_ + choice), 0});
      path.push_back({first_fabric_link_ + 2 * (b * spines_ + choice) + 1, 0});
    }
    path.push_back({down_link(to), 0});
  }

 private:
  int per_leaf_;
  int spines_;
  LinkId first_fabric_link_ = 0;
};

// h = k / 2. Aggregation switch a of every pod has cables to the core switches a * h .. a * h + h - 1. Between pods, choice c
// climbs by aggregation switch c mod h and its cable c / h, so that "destination mod choices" is the D-mod-k of every tier.
class ThreeTier final : public Fabric {
 public:
  explicit ThreeTier(const FatTree& spec) : h_{spec.k / 2} {
    const int edges = spec.k * h_;
    for (int edge = 0; edge < edges; ++edge) add_switch(fmt::format("pod{}/edge{}", edge / h_, edge % h_));
    for (int a = 0; a < edges; ++a) add_switch(fmt::format("pod{}/aggregation{}", a / h_, a % h_));
    for (int core = 0; core < h_ * h_; ++core) add_switch(fmt::format("core{}", core));
    for (int edge = 0; edge < edges; ++edge)
      for (int slot = 0; slot < h_; ++slot) add_endpoint_on(edge, fmt::format("{}/node{}", device(edge).name, slot), spec.host_link);
    edge_links_ = links();
    for (int edge = 0; edge < edges; ++edge)
      for (int a = 0; a < h_; ++a) add_cable(edge, edges + edge / h_ * h_ + a, spec.fabric_link);
    core_links_ = links();
    for (int a = 0; a < edges; ++a)
      for (int port = 0; port < h_; ++port) add_cable(edges + a, 2 * edges + a % h_ * h_ + port, spec.fabric_link);
  }

  int path_count(int from, int to) const override {
    const int a = from / h_, b = to / h_;
    if (a == b) return 1;
    return a / h_ == b / h_ ? h_ : h_ * h_;
  }

  void append_path(int from, int to, int choice, std::vector<Hop>& path) const override {
    const int a = from / h_, b = to / h_;  // edge switches
    const int aggregation = choice % h_, port = choice / h_;
    path.push_back({up_link(from), 0});
    if (a != b) {
      path.push_back({edge_links_ + 2 * (a * h_ + aggregation), 0});
      if (a / h_ != b / h_) {
        path.push_back({core_link(a / h_, aggregation, port), 0});
        path.push_back({core_link(b / h_, aggregation, port) + 1, 0});
      }
      path.push_back({edge_links_ + 2 * (b * h_ + aggregation) + 1, 0});
    }
    path.push_back({down_link(to), 0});
  }

 private:
  LinkId core_link(int pod, int aggregation, int port) const { return core_links_ + 2 * ((pod * h_ + aggregation) * h_ + port); }

  int h_;
  LinkId edge_links_ = 0;
  LinkId core_links_ = 0;
};

}  // namespace

std::int64_t FatTree::endpoints() const { return three_tiers() ? product({k, k / 2, k / 2}) : product({leaves, nodes_per_leaf}); }

std::vector<Problem> problems(const FatTree& spec) {
  Problems found;
  if (spec.three_tiers()) {
    found.require(spec.leaves == 0 && spec.nodes_per_leaf == 0 && spec.spines == 0, "/k",
                  "stands instead of leaves, nodes_per_leaf and spines: give one or the other");
    found.require(spec.k >= 2 && spec.k % 2 == 0, "/k", "must be even and at least 2, got {}", spec.k);
    if (found.none()) found.check_size(spec.endpoints(), product({2, spec.endpoints()}));
  } else if (spec.leaves == 0 && spec.nodes_per_leaf == 0 && spec.spines == 0) {
    found.require(false, "", "needs k (three tiers), or leaves, nodes_per_leaf and spines (two)");
  } else {
    found.at_least(1, "/leaves", spec.leaves);
    found.at_least(1, "/nodes_per_leaf", spec.nodes_per_leaf);
    found.at_least(1, "/spines", spec.spines);
    if (found.none()) found.check_size(spec.endpoints(), product({spec.leaves, spec.spines}));
  }
  found.check_link("/host_link", spec.host_link);
  found.check_link("/fabric_link", spec.fabric_link);
  return found.take();
}

std::unique_ptr<Fabric> build(const FatTree& spec) {
  refuse(FatTree::type, problems(spec));
  if (spec.three_tiers()) return std::make_unique<ThreeTier>(spec);
  return std::make_unique<LeafSpine>(spec);
}

}  // namespace weft
