#include "models/fabric/dragonfly.hpp"

#include "models/fabric/validation.hpp"

namespace weft {
namespace {

// Global port t of a group is on router t / global_links_per_router. The i-th cable from a group to the one `offset` groups
// further on leaves at port i * (groups - 1) + offset - 1.
class DragonflyFabric final : public Fabric {
 public:
  explicit DragonflyFabric(const Dragonfly& spec)
      : groups_{spec.groups},
        routers_{spec.routers_per_group},
        per_router_{spec.nodes_per_router},
        ports_per_router_{spec.global_links_per_router},
        cables_{groups_ > 1 ? routers_ * ports_per_router_ / (groups_ - 1) : 0} {
    priorities_ = spec.priorities;
    for (int r = 0; r < groups_ * routers_; ++r) add_switch(fmt::format("group{}/router{}", r / routers_, r % routers_));
    for (int r = 0; r < groups_ * routers_; ++r)
      for (int slot = 0; slot < per_router_; ++slot) add_endpoint_on(r, fmt::format("{}/node{}", device(r).name, slot), spec.host_link);
    add_local_cables(spec.fabric_link);
    add_global_cables(spec.global_link);
  }

  int path_count(int from, int to) const override {
    const int a = from / per_router_, b = to / per_router_;
    if (a / routers_ == b / routers_) return 1;
    const int shortest = fewest_local_hops(a, b);
    int count = 0;
    for (int i = 0; i < cables_; ++i)
      if (local_hops(a, b, i) == shortest) ++count;
    return count;
  }

  void append_path(int from, int to, int choice, std::vector<Hop>& path) const override {
    const int a = from / per_router_, b = to / per_router_;
    path.push_back({up_link(from), 0});
    if (a / routers_ == b / routers_) {
      append_local(a, b, 0, path);
    } else {
      const LinkId global = global_link(a / routers_, b / routers_, chosen_cable(a, b, choice));
      append_local(a, this->from(global), 0, path);
      path.push_back({global, 0});
      append_local(this->to(global), b, priorities_ - 1, path);
    }
    path.push_back({down_link(to), 0});
  }

 private:
  void add_local_cables(LinkSpec spec) {
    local_.resize(static_cast<std::size_t>(groups_) * routers_ * routers_);
    for (int group = 0; group < groups_; ++group)
      for (int i = 0; i < routers_; ++i)
        for (int j = i + 1; j < routers_; ++j) {
          const int a = group * routers_ + i, b = group * routers_ + j;
          const LinkId id = add_cable(a, b, spec);
          local_[local_index(a, b)] = id;
          local_[local_index(b, a)] = id + 1;
        }
  }

  void add_global_cables(LinkSpec spec) {
    global_.resize(static_cast<std::size_t>(groups_) * routers_ * ports_per_router_);
    for (int a = 0; a < groups_; ++a)
      for (int b = a + 1; b < groups_; ++b)
        for (int i = 0; i < cables_; ++i) {
          const LinkId id = add_cable(router_of(a, b, i), router_of(b, a, i), spec);
          global_[global_index(a, b, i)] = id;
          global_[global_index(b, a, i)] = id + 1;
        }
  }

  int port(int group, int peer, int cable) const { return cable * (groups_ - 1) + (peer - group + groups_) % groups_ - 1; }
  NodeId router_of(int group, int peer, int cable) const { return group * routers_ + port(group, peer, cable) / ports_per_router_; }
  std::size_t local_index(int a, int b) const { return static_cast<std::size_t>(a) * routers_ + b % routers_; }
  std::size_t global_index(int group, int peer, int cable) const {
    return static_cast<std::size_t>(group) * routers_ * ports_per_router_ + port(group, peer, cable);
  }
  LinkId global_link(int group, int peer, int cable) const { return global_[global_index(group, peer, cable)]; }

  void append_local(int a, int b, int priority, std::vector<Hop>& path) const {
    if (a != b) path.push_back({local_[local_index(a, b)], priority});
  }

  // Local hops of the path from router a to router b of another group by the i-th cable between their groups.
  int local_hops(int a, int b, int i) const {
    const int group = a / routers_, peer = b / routers_;
    return (router_of(group, peer, i) != a) + (router_of(peer, group, i) != b);
  }
  int fewest_local_hops(int a, int b) const {
    int fewest = 2;
    for (int i = 0; i < cables_; ++i) fewest = std::min(fewest, local_hops(a, b, i));
    return fewest;
  }
  int chosen_cable(int a, int b, int choice) const {
    const int shortest = fewest_local_hops(a, b);
    for (int i = 0; i < cables_; ++i)
      if (local_hops(a, b, i) == shortest && choice-- == 0) return i;
    check(false, "no such choice between routers {} and {}", a, b);
    return 0;
  }

  int groups_;
  int routers_;
  int per_router_;
  int ports_per_router_;
  int cables_;                  // between a pair of groups
  std::vector<LinkId> local_;   // by router, and position of the other in the group
  std::vector<LinkId> global_;  // by group and port
};

}  // namespace

std::int64_t Dragonfly::endpoints() const { return product({groups, routers_per_group, nodes_per_router}); }

std::vector<Problem> problems(const Dragonfly& spec) {
  Problems found;
  found.at_least(1, "/groups", spec.groups);
  found.at_least(1, "/routers_per_group", spec.routers_per_group);
  found.at_least(1, "/nodes_per_router", spec.nodes_per_router);
  found.at_least(spec.groups > 1 ? 1 : 0, "/global_links_per_router", spec.global_links_per_router);
  if (found.none()) {
    const std::int64_t ports = product({spec.routers_per_group, spec.global_links_per_router});
    found.require(spec.groups - 1 <= ports, "/groups", "must be at most routers_per_group * global_links_per_router + 1 = {}, got {}",
                  ports + 1, spec.groups);
    const std::int64_t local = product({spec.groups, spec.routers_per_group, spec.routers_per_group});
    const std::int64_t all = product({spec.groups, ports});
    found.check_size(spec.endpoints(), std::max(local, all));
  }
  found.within(1, 2, "/priorities", spec.priorities);
  found.check_link("/host_link", spec.host_link);
  found.check_link("/fabric_link", spec.fabric_link);
  found.check_link("/global_link", spec.global_link);
  return found.take();
}

std::unique_ptr<Fabric> build(const Dragonfly& spec) {
  refuse(Dragonfly::type, problems(spec));
  return std::make_unique<DragonflyFabric>(spec);
}

}  // namespace weft
