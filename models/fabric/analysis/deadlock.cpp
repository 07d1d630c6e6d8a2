#include "models/fabric/analysis/deadlock.hpp"

#include "kernels/base/error.hpp"
#include "models/fabric/graph.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/depth_first_search.hpp>

namespace weft {
namespace {

constexpr std::int64_t max_paths = 100'000'000;

using ChannelGraph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property, boost::no_property,
                                                        std::uint32_t, std::uint32_t>;
using Dependency = std::pair<std::uint32_t, std::uint32_t>;

// The devices that an endpoint's port has cables to, then those it has cables from.
std::vector<NodeId> neighbours(const Fabric& fabric, int endpoint) {
  const Graph& graph = fabric.graph();
  const auto node = static_cast<std::size_t>(fabric.port_of(endpoint));
  std::vector<NodeId> ids;
  for (auto [edge, end] = boost::out_edges(node, graph); edge != end; ++edge)
    if (!graph[*edge].in_server) ids.push_back(static_cast<NodeId>(boost::target(*edge, graph)));
  ids.push_back(-1);
  for (auto [edge, end] = boost::in_edges(node, graph); edge != end; ++edge)
    if (!graph[*edge].in_server) ids.push_back(static_cast<NodeId>(boost::source(*edge, graph)));
  return ids;
}

// Endpoints that hang on the same switches have the same paths between switches: two of each kind stand for all of them.
std::vector<std::vector<int>> representatives(const Fabric& fabric) {
  std::map<std::vector<NodeId>, std::vector<int>> kinds;
  for (int e = 0; e < fabric.endpoints(); ++e) {
    std::vector<int>& kind = kinds[neighbours(fabric, e)];
    if (kind.size() < 2) kind.push_back(e);
  }
  std::vector<std::vector<int>> result;
  for (auto& [_, kind] : kinds) result.push_back(std::move(kind));
  return result;
}

template <class Visit>
void for_each_pair(const std::vector<std::vector<int>>& kinds, Visit visit) {
  for (const auto& from : kinds)
    for (const auto& to : kinds) {
      if (&from != &to) visit(from.front(), to.front());
      if (&from == &to && from.size() == 2) visit(from[0], from[1]);
    }
}

std::int64_t count_paths(const Fabric& fabric, const std::vector<std::vector<int>>& kinds) {
  std::int64_t paths = static_cast<std::int64_t>(kinds.size()) * static_cast<std::int64_t>(kinds.size());
  if (paths > max_paths) return paths;  // at least
  paths = 0;
  for_each_pair(kinds, [&](int from, int to) { paths += fabric.path_count(from, to); });
  return paths;
}

// Which channel follows which. What follows a link starts where it ends, so a bit for each (priority, link out of there,
// priority) is enough to see every dependency once, and to list them in the order of their first channel.
class DependencyRecorder {
 public:
  explicit DependencyRecorder(const Fabric& fabric)
      : fabric_(fabric),
        priorities_(static_cast<std::size_t>(fabric.priorities())),
        out_links_(static_cast<std::size_t>(fabric.devices())),
        position_(links()) {
    for (std::size_t v = 0; v < out_links_.size(); ++v)
      for (auto [edge, end] = boost::out_edges(v, fabric.graph()); edge != end; ++edge) {
        const LinkId id = fabric.graph()[*edge].id;
        position_[static_cast<std::size_t>(id)] = out_links_[v].size();
        out_links_[v].push_back(id);
      }
    std::size_t bits = 0;
    for (LinkId id = 0; id < fabric.links(); ++id) {
      const std::size_t width = fabric.between_switches(id) ? links_after(id).size() * priorities_ : 0;
      followers_.push_back({bits, width});
      bits += width * priorities_;
    }
    seen_.resize(bits);
  }

  // Links to and from ports are left out: what a port sends waits for no buffer of the fabric, what it gets it takes.
  void record(const std::vector<Hop>& path) {
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      const Hop a = path[i], b = path[i + 1];
      if (!fabric_.between_switches(a.link) || !fabric_.between_switches(b.link)) continue;
      const Followers& followers = followers_[static_cast<std::size_t>(a.link)];
      seen_[followers.first_bit + static_cast<std::size_t>(a.priority) * followers.width +
            position_[static_cast<std::size_t>(b.link)] * priorities_ + static_cast<std::size_t>(b.priority)] = true;
    }
  }

  // Sorted by the first channel.
  std::vector<Dependency> dependencies() const {
    std::vector<Dependency> found;
    for (std::size_t link = 0; link < links(); ++link) {
      const auto [first_bit, width] = followers_[link];
      for (std::size_t bit = 0; bit < width * priorities_; ++bit) {
        if (!seen_[first_bit + bit]) continue;
        const auto after = static_cast<std::size_t>(links_after(static_cast<LinkId>(link))[bit % width / priorities_]);
        found.emplace_back(link * priorities_ + bit / width, after * priorities_ + bit % priorities_);
      }
    }
    return found;
  }

  std::size_t channels() const { return links() * priorities_; }
  Hop hop(std::size_t channel) const { return {static_cast<LinkId>(channel / priorities_), static_cast<int>(channel % priorities_)}; }

 private:
  // Bits of a link: `width` for each priority it is used with.
  struct Followers {
    std::size_t first_bit, width;
  };

  std::size_t links() const { return static_cast<std::size_t>(fabric_.links()); }
  const std::vector<LinkId>& links_after(LinkId id) const { return out_links_[static_cast<std::size_t>(fabric_.to(id))]; }

  const Fabric& fabric_;
  std::size_t priorities_;
  std::vector<std::vector<LinkId>> out_links_;  // by device
  std::vector<std::size_t> position_;           // by link: its place in out_links_
  std::vector<Followers> followers_;            // by link
  std::vector<bool> seen_;
};

struct CycleFound {
  std::uint32_t from, to;  // the edge that closes it
};

struct BackEdge : boost::default_dfs_visitor {
  template <class Edge>
  void back_edge(Edge edge, const ChannelGraph& graph) const {
    throw CycleFound{static_cast<std::uint32_t>(boost::source(edge, graph)), static_cast<std::uint32_t>(boost::target(edge, graph))};
  }
};

std::optional<CycleFound> find_cycle(const ChannelGraph& graph) {
  try {
    boost::depth_first_search(graph, boost::visitor(BackEdge{}));
  } catch (const CycleFound& found) {
    return found;
  }
  return std::nullopt;
}

// The shortest cycle over a given edge: breadth-first from its end back to its beginning.
std::vector<std::uint32_t> shortest_cycle(const ChannelGraph& graph, CycleFound closing) {
  std::vector<std::uint32_t> before(boost::num_vertices(graph), UINT32_MAX);
  boost::breadth_first_search(graph, closing.to,
                              boost::visitor(boost::make_bfs_visitor(boost::record_predecessors(before.data(), boost::on_tree_edge()))));
  std::vector<std::uint32_t> cycle{closing.from};
  while (cycle.back() != closing.to) cycle.push_back(before[cycle.back()]);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace

DeadlockCheck check_deadlock(const Fabric& fabric) {
  const auto kinds = representatives(fabric);
  DeadlockCheck result;
  result.paths = count_paths(fabric, kinds);
  if (result.paths > max_paths)
    throw InputError(fmt::format("the deadlock check would walk {} paths or more, at most {} are allowed", result.paths, max_paths));

  DependencyRecorder recorder(fabric);
  std::vector<Hop> path;
  for_each_pair(kinds, [&](int from, int to) {
    for (int choice = 0, choices = fabric.path_count(from, to); choice < choices; ++choice) {
      path.clear();
      fabric.append_path(from, to, choice, path);
      recorder.record(path);
    }
  });
  const auto dependencies = recorder.dependencies();
  for (LinkId link = 0; link < fabric.links(); ++link)
    if (fabric.between_switches(link)) result.channels += fabric.priorities();
  result.dependencies = static_cast<std::int64_t>(dependencies.size());

  const ChannelGraph graph(boost::edges_are_sorted, dependencies.begin(), dependencies.end(),
                           static_cast<std::uint32_t>(recorder.channels()));
  if (const auto closing = find_cycle(graph))
    for (const std::uint32_t channel : shortest_cycle(graph, *closing)) result.cycle.push_back(recorder.hop(channel));
  return result;
}

std::string describe_cycle(const Fabric& fabric, const DeadlockCheck& result) {
  std::string text;
  for (const Hop& hop : result.cycle) text += fmt::format("{} (priority {}) -> ", fabric.link_name(hop.link), hop.priority);
  return text.empty() ? text : text + "back to " + fabric.link_name(result.cycle.front().link);
}

}  // namespace weft
