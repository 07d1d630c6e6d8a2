#include "kernels/base/error.hpp"
#include "kernels/base/index.hpp"
#include "models/platform/zones.hpp"

#include <functional>
#include <numeric>

namespace weft {
namespace {

int number_of_nodes(const std::vector<int>& all) { return std::accumulate(all.begin(), all.end(), 1, std::multiplies<>()); }

struct UpDown {
  int up = -1, down = -1;
};

void append_all(const std::vector<int>& more, std::vector<int>& links) { links.insert(links.end(), more.begin(), more.end()); }

// Zahavi's extended generalised Fat-Tree and D-mod-k: up by the digits of the destination, down by those of its label.
class FatTreeShape final : public ClusterShape {
 public:
  FatTreeShape(const FatTreeParameters& p, ClusterLinks links) : p_(p), levels_(static_cast<int>(p.children.size())) {
    for (int level = 0, first = 0; level <= levels_; ++level) {
      first_.push_back(first);
      std::vector<int> sizes;
      for (int l = 0; l < levels_; ++l) sizes.push_back(l + 1 > level ? p.children[at(l)] : p.parents[at(l)]);
      const int count = number_of_nodes(sizes);
      for (int position = 0; position < count; ++position) add_node(level, position, sizes, links);
      first += count;
    }
    first_.push_back(static_cast<int>(nodes_.size()));
    for (int level = 0; level < levels_; ++level)
      for (int id = first_[at(level)]; id < first_[at(level) + 1]; ++id) connect(id, links);
  }

  void append(int from, int to, std::vector<int>& out) const override {
    int here = from;
    while (!above(here, to)) {
      const Node& node = nodes_[at(here)];
      int d = to;
      for (int l = 0; l < node.level; ++l) d /= p_.parents[at(l)];
      const Cable& cable = node.up[at(d % (p_.parents[at(node.level)] * p_.cables[at(node.level)]))];
      append_all(node.limiter, out);
      out.push_back(cable.link.up);
      here = cable.to;
    }
    while (here != to) {
      const Node& node = nodes_[at(here)];
      const int below = node.level - 1, children = p_.children[at(below)];
      const Cable& cable = node.down[at(from % p_.cables[at(below)] * children + nodes_[at(to)].label[at(below)])];
      out.push_back(cable.link.down);
      append_all(node.limiter, out);
      here = cable.to;
    }
    append_all(nodes_[at(here)].limiter, out);
  }

 private:
  struct Cable {
    int to = -1;
    UpDown link = {};
  };
  struct Node {
    int level = 0;
    std::vector<int> label = {};
    std::vector<Cable> up = {}, down = {};
    std::vector<int> limiter = {};
  };

  void add_node(int level, int position, const std::vector<int>& sizes, ClusterLinks& links) {
    Node node{.level = level};
    for (const int size : sizes) node.label.push_back(position % size), position /= size;
    if (level < levels_) node.up.resize(at(p_.parents[at(level)] * p_.cables[at(level)]));
    if (level > 0) node.down.resize(at(p_.children[at(level) - 1] * p_.cables[at(level) - 1]));
    node.limiter = links.add_limiter(static_cast<int>(nodes_.size()));
    nodes_.push_back(std::move(node));
  }

  // To the switches above whose labels differ at this level only.
  void connect(int id, ClusterLinks& links) {
    const int level = nodes_[at(id)].level;
    int stride = 1;
    for (int l = 0; l < level; ++l) stride *= p_.parents[at(l)];
    int base = 0, weight = 1;
    for (int l = 0; l < levels_; ++l) {
      if (l != level) base += nodes_[at(id)].label[at(l)] * weight;
      weight *= l + 1 > level + 1 ? p_.children[at(l)] : p_.parents[at(l)];
    }
    for (int j = 0; j < p_.parents[at(level)]; ++j) {
      const int parent = first_[at(level) + 1] + base + j * stride;
      for (int cable = 0; cable < p_.cables[at(level)]; ++cable) {
        const auto [up, down] = links.add(fmt::format("{}_link_from_{}_to_{}_{}", links.name, id, parent, cable));
        nodes_[at(id)].up[at(j + cable * p_.parents[at(level)])] = {parent, {up, down}};
        nodes_[at(parent)].down[at(nodes_[at(id)].label[at(level)] + cable * p_.children[at(level)])] = {id, {up, down}};
      }
    }
  }

  bool above(int root, int leaf) const {
    const Node &r = nodes_[at(root)], &n = nodes_[at(leaf)];
    if (r.level <= n.level) return false;
    for (int l = r.level; l < levels_; ++l)
      if (r.label[at(l)] != n.label[at(l)]) return false;
    return true;
  }

  FatTreeParameters p_;
  int levels_;
  std::vector<Node> nodes_;
  std::vector<int> first_;  // node of each level
};

// Dimension after dimension, the shorter way round.
class TorusShape final : public ClusterShape {
 public:
  TorusShape(std::vector<int> dimensions, ClusterLinks links) : dimensions_(std::move(dimensions)) {
    const int nodes = number_of_nodes(dimensions_);
    for (int id = 0; id < nodes; ++id) {
      limiters_.push_back(links.add_limiter(id));
      for (int j = 0, stride = 1; j < static_cast<int>(dimensions_.size()); stride *= dimensions_[at(j++)]) {
        const auto [up, down] = links.add(fmt::format("{}_link_from_{}_to_{}", links.name, id, next(id, j, stride)));
        links_.push_back({up, down});
      }
    }
  }

  void append(int from, int to, std::vector<int>& out) const override {
    int here = from;
    for (int j = 0, stride = 1; j < static_cast<int>(dimensions_.size()); stride *= dimensions_[at(j++)]) {
      const int size = dimensions_[at(j)], mine = from / stride % size, target = to / stride % size;
      const bool right = (target > mine && target <= mine + size / 2) || (mine > size / 2 && (mine + size / 2) % size >= target);
      while (here / stride % size != target) {
        append_all(limiters_[at(here)], out);
        if (right) out.push_back(links_[at(here) * dimensions_.size() + at(j)].up);
        here = right ? next(here, j, stride) : previous(here, j, stride);
        if (!right) out.push_back(links_[at(here) * dimensions_.size() + at(j)].down);
      }
    }
    append_all(limiters_[at(to)], out);
  }

 private:
  int next(int id, int j, int stride) const {
    const int size = dimensions_[at(j)];
    return id / stride % size == size - 1 ? id - (size - 1) * stride : id + stride;
  }
  int previous(int id, int j, int stride) const {
    const int size = dimensions_[at(j)];
    return id / stride % size == 0 ? id + (size - 1) * stride : id - stride;
  }

  std::vector<int> dimensions_;
  std::vector<UpDown> links_;  // of each node by dimension, to the next one
  std::vector<std::vector<int>> limiters_;
};

// Routers of a chassis are joined in green, the same ones of the chassis of a group in black, groups in blue: router g of a group is
// that to group g.
class DragonflyShape final : public ClusterShape {
 public:
  DragonflyShape(const DragonflyParameters& p, ClusterLinks links) : p_(p) {
    const int routers = p.groups * p.chassis * p.routers;
    routers_.resize(at(routers));
    int limiter = 0;
    for (int node = 0; node < routers * p.nodes; ++node) host_limiters_.push_back(links.add_limiter(limiter++));
    for (Router& router : routers_) router.limiter = links.add_limiter(limiter++);
    for (int i = 0; i < routers; ++i) {
      routers_[at(i)].green.resize(at(p.routers));
      routers_[at(i)].black.resize(at(p.chassis));
      for (int node = 0; node < p.nodes; ++node) {
        const auto [up, down] = links.add(fmt::format("{}_local_link_from_router_{}_to_node_{}", links.name, i, node));
        routers_[at(i)].hosts.push_back({up, down});
      }
    }
    const auto join = [&](const char* colour, int a, int b, int cables) {
      const auto [up, down] = links.add(fmt::format("{}_{}_link_from_router_{}_to_{}", links.name, colour, a, b), cables);
      return UpDown{up, down};
    };
    for (int i = 0; i < p.groups * p.chassis; ++i)
      for (int j = 0; j < p.routers; ++j)
        for (int k = j + 1; k < p.routers; ++k) {
          const UpDown link = join("green", i * p.routers + j, i * p.routers + k, p.green);
          routers_[at(i * p.routers + j)].green[at(k)] = link.up;
          routers_[at(i * p.routers + k)].green[at(j)] = link.down;
        }
    for (int g = 0; g < p.groups; ++g)
      for (int j = 0; j < p.chassis; ++j)
        for (int k = j + 1; k < p.chassis; ++k)
          for (int l = 0; l < p.routers; ++l) {
            const UpDown link = join("black", id(g, j, l), id(g, k, l), p.black);
            routers_[at(id(g, j, l))].black[at(k)] = link.up;
            routers_[at(id(g, k, l))].black[at(j)] = link.down;
          }
    for (int i = 0; i < p.groups; ++i)
      for (int j = i + 1; j < p.groups; ++j) {
        const UpDown link = join("blue", id(i, 0, j), id(j, 0, i), p.blue);
        routers_[at(id(i, 0, j))].blue = link.up;
        routers_[at(id(j, 0, i))].blue = link.down;
      }
  }

  void append(int from, int to, std::vector<int>& out) const override {
    int here = from / p_.nodes;
    const int target = to / p_.nodes;
    append_all(host_limiters_[at(from)], out);
    out.push_back(routers_[at(here)].hosts[at(from % p_.nodes)].up);
    const int group = target / (p_.chassis * p_.routers), own_group = here / (p_.chassis * p_.routers);
    const auto go = [&](int link, int router) {
      append_all(routers_[at(here)].limiter, out);
      out.push_back(link);
      here = router;
    };
    if (group != own_group) {
      if (blade(here) != group) go(routers_[at(here)].green[at(group)], id(own_group, chassis(here), group));
      if (chassis(here) != 0) go(routers_[at(here)].black[0], id(own_group, 0, group));
      out.push_back(routers_[at(here)].blue);
      append_all(routers_[at(here)].limiter, out);
      here = id(group, 0, own_group);
    }
    // SimGrid goes on from chassis 0 then, whichever it was in.
    if (blade(here) != blade(target)) go(routers_[at(here)].green[at(blade(target))], id(group, 0, blade(target)));
    if (chassis(here) != chassis(target)) go(routers_[at(here)].black[at(chassis(target))], target);
    append_all(routers_[at(target)].limiter, out);
    out.push_back(routers_[at(target)].hosts[at(to % p_.nodes)].down);
    append_all(host_limiters_[at(to)], out);
  }

 private:
  struct Router {
    std::vector<UpDown> hosts = {};
    std::vector<int> green = {}, black = {};
    int blue = -1;
    std::vector<int> limiter = {};
  };
  int id(int group, int chassis, int blade) const { return (group * p_.chassis + chassis) * p_.routers + blade; }
  int blade(int router) const { return router % p_.routers; }
  int chassis(int router) const { return router / p_.routers % p_.chassis; }

  DragonflyParameters p_;
  std::vector<Router> routers_;
  std::vector<std::vector<int>> host_limiters_;
};

}  // namespace

std::pair<int, int> ClusterLinks::add(const std::string& link, int times) {
  const BitsPerSecond rate{bandwidth.count * times};
  const int first = static_cast<int>(links.size());
  if (!split) {
    links.push_back({link, rate, latency, fatpipe});
    return {first, first};
  }
  links.push_back({link + "_UP", rate, latency});
  links.push_back({link + "_DOWN", rate, latency});
  return {first, first + 1};
}

std::vector<int> ClusterLinks::add_limiter(int number) {
  if (limiter.count == 0) return {};
  links.push_back({fmt::format("{}_link_{}_limiter", name, number), limiter, SimTime{}});
  return {static_cast<int>(links.size()) - 1};
}

std::unique_ptr<ClusterShape> fat_tree_shape(const FatTreeParameters& p, ClusterLinks links) {
  return std::make_unique<FatTreeShape>(p, std::move(links));
}
std::unique_ptr<ClusterShape> torus_shape(std::vector<int> dimensions, ClusterLinks links) {
  return std::make_unique<TorusShape>(std::move(dimensions), std::move(links));
}
std::unique_ptr<ClusterShape> shape_of_groups(const DragonflyParameters& p, ClusterLinks links) {
  return std::make_unique<DragonflyShape>(p, std::move(links));
}

}  // namespace weft
