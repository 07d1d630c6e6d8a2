#include "models/fabric/graph_fabric.hpp"

#include "models/fabric/switch_distances.hpp"
#include "models/fabric/validation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace weft {
namespace {

class ExplicitFabric final : public Fabric {
 public:
  explicit ExplicitFabric(const GraphFabric& spec) : first_endpoint_{static_cast<NodeId>(spec.switches.size())} {
    std::unordered_map<std::string, NodeId> ids;
    for (const std::string& name : spec.switches) ids.emplace(name, add_switch(name));
    for (const std::string& name : spec.nodes) ids.emplace(name, add_endpoint(name));
    up_.resize(spec.nodes.size());
    down_.resize(spec.nodes.size());
    std::vector<SwitchDistances::Edge> edges;
    for (const GraphLink& link : spec.links) {
      const NodeId from = ids.at(link.from), to = ids.at(link.to);
      connect(from, to, {link.bandwidth, link.latency}, edges);
      if (link.bidirectional) connect(to, from, {link.bandwidth, link.latency}, edges);
    }
    distances_.emplace(first_endpoint_, edges, GraphFabric::max_choices);
  }

  int path_count(int from, int to) const override {
    int count = 0;
    for_each_way(from, to, [&](LinkId, LinkId, int choices) {
      count = std::min(GraphFabric::max_choices, count + choices);
      return count < GraphFabric::max_choices;
    });
    return count;
  }

  void append_path(int from, int to, int choice, std::vector<Hop>& path) const override {
    bool found = false;
    for_each_way(from, to, [&](LinkId up, LinkId down, int choices) {
      if (choice >= choices) {
        choice -= choices;
        return true;
      }
      path.push_back({up, 0});
      if (down != up) {
        distances_->append_path(this->to(up), this->from(down), choice, path);
        path.push_back({down, 0});
      }
      found = true;
      return false;
    });
    check(found, "no path of choice {} from endpoint {} to {}", choice, from, to);
  }

  // Two endpoints without a path, if there are any.
  std::optional<std::pair<int, int>> unreachable_pair() const {
    // Endpoints that hang on the same switches reach the same; one or two of each kind stand for all of them.
    std::map<std::vector<NodeId>, std::vector<int>> kinds;
    for (int e = 0; e < endpoints(); ++e) {
      std::vector<int>& kind = kinds[neighbours(e)];
      if (kind.size() < 2) kind.push_back(e);
    }
    for (const auto& [a, froms] : kinds)
      for (const auto& [b, tos] : kinds)
        for (const int from : froms)
          for (const int to : tos)
            if (from != to && path_count(from, to) == 0) return std::pair{from, to};
    return std::nullopt;
  }

 private:
  bool is_switch(NodeId id) const { return id < first_endpoint_; }

  void connect(NodeId from, NodeId to, LinkSpec spec, std::vector<SwitchDistances::Edge>& edges) {
    const LinkId id = add_link(from, to, spec);
    if (is_switch(from) && is_switch(to)) edges.push_back({from, to, id});
    if (!is_switch(from)) up_[static_cast<std::size_t>(from - first_endpoint_)].push_back(id);
    if (!is_switch(to)) down_[static_cast<std::size_t>(to - first_endpoint_)].push_back(id);
  }

  // Hops between the switches at the two ends; -1 for a link that leads straight to the endpoint; none where there is no way.
  std::optional<int> inner_hops(LinkId up, LinkId down) const {
    if (up == down) return -1;
    if (!is_switch(to(up)) || !is_switch(from(down))) return std::nullopt;
    const int hops = distances_->hops(to(up), from(down));
    return hops == SwitchDistances::unreachable ? std::nullopt : std::optional{hops};
  }

  // Calls visit(first link, last link, number of paths) for the shortest ways, until it returns false.
  template <class Visit>
  void for_each_way(int from, int to, Visit visit) const {
    std::optional<int> fewest;
    const auto& ups = up_[static_cast<std::size_t>(from)];
    const auto& downs = down_[static_cast<std::size_t>(to)];
    for (const LinkId up : ups)
      for (const LinkId down : downs)
        if (const auto hops = inner_hops(up, down); hops && (!fewest || *hops < *fewest)) fewest = hops;
    if (!fewest) return;
    for (const LinkId up : ups)
      for (const LinkId down : downs)
        if (inner_hops(up, down) == fewest)
          if (!visit(up, down, up == down ? 1 : distances_->paths(this->to(up), this->from(down)))) return;
  }

  std::vector<NodeId> neighbours(int endpoint) const {
    std::vector<NodeId> ids;
    for (const LinkId up : up_[static_cast<std::size_t>(endpoint)]) ids.push_back(to(up));
    ids.push_back(-1);
    for (const LinkId down : down_[static_cast<std::size_t>(endpoint)]) ids.push_back(from(down));
    return ids;
  }

  NodeId first_endpoint_;
  std::vector<std::vector<LinkId>> up_, down_;  // by endpoint
  std::optional<SwitchDistances> distances_;
};

void check_names(const GraphFabric& spec, Problems& found, std::set<std::string>& names) {
  const auto add = [&](const std::vector<std::string>& list, std::string_view where) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      found.require(!list[i].empty(), fmt::format("/{}/{}", where, i), "must not be empty");
      found.require(names.insert(list[i]).second, fmt::format("/{}/{}", where, i), "names \"{}\" a second time", list[i]);
    }
  };
  add(spec.nodes, "nodes");
  add(spec.switches, "switches");
}

void check_links(const GraphFabric& spec, Problems& found, const std::set<std::string>& names) {
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    const GraphLink& link = spec.links[i];
    const std::string where = fmt::format("/links/{}", i);
    found.require(names.contains(link.from), where + "/from", "must be one of nodes or switches, got \"{}\"", link.from);
    found.require(names.contains(link.to), where + "/to", "must be one of nodes or switches, got \"{}\"", link.to);
    found.require(link.from != link.to, where, "must join two devices, got \"{}\" twice", link.from);
    found.check_link(where, {link.bandwidth, link.latency});
  }
}

}  // namespace

std::vector<Problem> problems(const GraphFabric& spec) {
  Problems found;
  found.require(!spec.nodes.empty(), "/nodes", "must name at least one node");
  found.check_size(spec.endpoints(), static_cast<std::int64_t>(spec.links.size()));
  const auto switches = static_cast<std::int64_t>(spec.switches.size());
  found.require(switches <= GraphFabric::max_switches, "/switches", "must be at most {}, got {}", GraphFabric::max_switches, switches);
  std::set<std::string> names;
  check_names(spec, found, names);
  check_links(spec, found, names);
  if (!found.none()) return found.take();
  const ExplicitFabric fabric(spec);
  if (const auto pair = fabric.unreachable_pair())
    found.require(false, "/links", "leave \"{}\" without a path to \"{}\" (endpoints do not forward)",
                  spec.nodes[static_cast<std::size_t>(pair->first)], spec.nodes[static_cast<std::size_t>(pair->second)]);
  return found.take();
}

std::unique_ptr<Fabric> build(const GraphFabric& spec) {
  refuse(GraphFabric::type, problems(spec));
  return std::make_unique<ExplicitFabric>(spec);
}

}  // namespace weft
