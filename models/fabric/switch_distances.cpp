#include "models/fabric/switch_distances.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>

#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>

namespace weft {
namespace {

// Notes the order in which switches are found, nearest first.
class OrderRecorder : public boost::default_bfs_visitor {
 public:
  explicit OrderRecorder(std::vector<std::size_t>& order) : order_(&order) {}
  template <class Vertex, class G>
  void discover_vertex(Vertex v, const G&) const {
    order_->push_back(v);
  }

 private:
  std::vector<std::size_t>* order_;
};

}  // namespace

SwitchDistances::SwitchDistances(int switches, const std::vector<Edge>& links, int max_choices)
    : switches_{switches},
      graph_(static_cast<std::size_t>(switches)),
      hops_(static_cast<std::size_t>(switches) * static_cast<std::size_t>(switches), std::uint16_t{unreachable}),
      paths_(hops_.size(), 0) {
  check(max_choices <= UINT8_MAX, "{} choices do not fit into a byte", max_choices);
  for (const Edge& e : links) boost::add_edge(static_cast<std::size_t>(e.from), static_cast<std::size_t>(e.to), e.link, graph_);
  for (int to = 0; to < switches; ++to) search_towards(to, max_choices);
}

void SwitchDistances::search_towards(int to, int max_choices) {
  std::vector<std::size_t> order;
  boost::breadth_first_search(boost::make_reverse_graph(graph_), static_cast<std::size_t>(to), boost::visitor(OrderRecorder(order)));
  hops_[index(to, to)] = 0;
  paths_[index(to, to)] = 1;
  // Nearest first: what lies one hop closer is complete when a switch is reached.
  for (const std::size_t v : order) {
    const int from = static_cast<int>(v);
    if (from == to) continue;
    int nearest = unreachable, paths = 0;
    for (auto [edge, end] = boost::out_edges(v, graph_); edge != end; ++edge) {
      const int next = static_cast<int>(boost::target(*edge, graph_));
      const int through = hops(next, to) == unreachable ? unreachable : hops(next, to) + 1;
      if (through < nearest) nearest = through, paths = 0;
      if (through == nearest && nearest != unreachable) paths = std::min(max_choices, paths + this->paths(next, to));
    }
    hops_[index(from, to)] = static_cast<std::uint16_t>(nearest);
    paths_[index(from, to)] = static_cast<std::uint8_t>(paths);
  }
}

void SwitchDistances::append_path(int from, int to, int choice, std::vector<Hop>& path) const {
  while (from != to) {
    bool found = false;
    for (auto [edge, end] = boost::out_edges(static_cast<std::size_t>(from), graph_); edge != end && !found; ++edge) {
      const int next = static_cast<int>(boost::target(*edge, graph_));
      if (hops(next, to) + 1 != hops(from, to)) continue;
      if (choice < paths(next, to)) {
        path.push_back({graph_[*edge], 0});
        from = next;
        found = true;
      } else {
        choice -= paths(next, to);
      }
    }
    check(found, "no path of choice {} to switch {}", choice, to);
  }
}

}  // namespace weft
