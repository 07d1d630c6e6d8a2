#include "sim/tune/edit_distance.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

namespace weft {
namespace {

constexpr std::size_t assigned_below = 200;

bool is_path(const LabelledGraph& g) {
  if (g.labels.empty()) return true;
  if (g.edges.size() + 1 != g.labels.size()) return false;
  for (std::size_t i = 0; i < g.edges.size(); ++i)
    if (g.edges[i] != std::pair(static_cast<int>(i), static_cast<int>(i) + 1)) return false;
  return true;
}

// A node removed or inserted takes one edge with it.
double sequence_distance(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<double> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0.0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    double diagonal = row[0];
    row[0] = static_cast<double>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const double replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// The cheapest assignment of rows to columns of a square matrix, by shortest augmenting paths (Jonker & Volgenant 1987).
std::vector<std::size_t> assignment(const std::vector<std::vector<double>>& cost) {
  const std::size_t n = cost.size();
  std::vector<double> u(n + 1), v(n + 1);
  std::vector<std::size_t> row_of(n + 1, 0), way(n + 1, 0);  // 0: none; rows and columns from 1
  for (std::size_t i = 1; i <= n; ++i) {
    row_of[0] = i;
    std::size_t column = 0;
    std::vector<double> least(n + 1, 1e300);
    std::vector<bool> used(n + 1, false);
    do {
      used[column] = true;
      double delta = 1e300;
      std::size_t next = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        if (used[j]) continue;
        const double reduced = cost[row_of[column] - 1][j - 1] - u[row_of[column]] - v[j];
        if (reduced < least[j]) least[j] = reduced, way[j] = column;
        if (least[j] < delta) delta = least[j], next = j;
      }
      for (std::size_t j = 0; j <= n; ++j)
        if (used[j])
          u[row_of[j]] += delta, v[j] -= delta;
        else
          least[j] -= delta;
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = way[column]) row_of[column] = row_of[way[column]];
  }
  std::vector<std::size_t> column_of(n);
  for (std::size_t j = 1; j <= n; ++j) column_of[row_of[j] - 1] = j - 1;
  return column_of;
}

std::vector<std::multiset<std::string>> neighbourhoods(const LabelledGraph& g) {
  std::vector<std::multiset<std::string>> all(g.labels.size());
  for (const auto& [from, to] : g.edges) {
    all[static_cast<std::size_t>(from)].insert(">" + g.labels[static_cast<std::size_t>(to)]);
    all[static_cast<std::size_t>(to)].insert("<" + g.labels[static_cast<std::size_t>(from)]);
  }
  return all;
}

double difference(const std::multiset<std::string>& a, const std::multiset<std::string>& b) {
  std::vector<std::string> common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return static_cast<double>(std::max(a.size(), b.size()) - common.size());
}

// What the edit path costs that maps node i of a to node to[i] of b; numbers beyond b's nodes: removed.
double path_cost(const LabelledGraph& a, const LabelledGraph& b, const std::vector<std::size_t>& to) {
  double cost = 0, kept = 0;
  std::size_t mapped = 0;
  for (std::size_t i = 0; i < a.labels.size(); ++i) {
    if (to[i] >= b.labels.size()) continue;
    ++mapped;
    cost += a.labels[i] == b.labels[to[i]] ? 0 : 1;
  }
  std::multiset<std::pair<std::size_t, std::size_t>> edges;
  for (const auto& [from, end] : b.edges) edges.emplace(from, end);
  for (const auto& [from, end] : a.edges)
    if (const auto found = edges.find({to[static_cast<std::size_t>(from)], to[static_cast<std::size_t>(end)]}); found != edges.end()) {
      edges.erase(found);
      ++kept;
    }
  return cost + static_cast<double>(a.labels.size() + b.labels.size() - 2 * mapped) + static_cast<double>(a.edges.size() + b.edges.size()) -
         2 * kept;
}

double assigned_distance(const LabelledGraph& a, const LabelledGraph& b) {
  const std::size_t n = a.labels.size(), m = b.labels.size();
  const auto near_a = neighbourhoods(a), near_b = neighbourhoods(b);
  std::vector<std::vector<double>> cost(n + m, std::vector<double>(n + m, 0));
  for (std::size_t i = 0; i < n + m; ++i)
    for (std::size_t j = 0; j < n + m; ++j) {
      if (i < n && j < m)
        cost[i][j] = (a.labels[i] == b.labels[j] ? 0 : 1) + 0.5 * difference(near_a[i], near_b[j]);
      else if (i < n)
        cost[i][j] = j - m == i ? 1 + 0.5 * static_cast<double>(near_a[i].size()) : 1e9;
      else if (j < m)
        cost[i][j] = i - n == j ? 1 + 0.5 * static_cast<double>(near_b[j].size()) : 1e9;
    }
  auto to = assignment(cost);
  to.resize(n);
  return path_cost(a, b, to);
}

double counted_distance(const LabelledGraph& a, const LabelledGraph& b) {
  std::map<std::pair<std::string, std::multiset<std::string>>, int> count;
  const auto near_a = neighbourhoods(a), near_b = neighbourhoods(b);
  for (std::size_t i = 0; i < a.labels.size(); ++i) ++count[{a.labels[i], near_a[i]}];
  for (std::size_t i = 0; i < b.labels.size(); ++i) --count[{b.labels[i], near_b[i]}];
  double more = 0, fewer = 0;
  for (const auto& [node, n] : count) (n > 0 ? more : fewer) += std::abs(n);
  const auto edges = static_cast<double>(std::max(a.edges.size(), b.edges.size()) - std::min(a.edges.size(), b.edges.size()));
  return std::max(more, fewer) + edges;
}

}  // namespace

double edit_distance(const LabelledGraph& a, const LabelledGraph& b) {
  if (a == b) return 0;
  if (is_path(a) && is_path(b)) return sequence_distance(a.labels, b.labels);
  return std::max(a.labels.size(), b.labels.size()) <= assigned_below ? assigned_distance(a, b) : counted_distance(a, b);
}

double edit_difference(const LabelledGraph& a, const LabelledGraph& b) {
  const bool paths = is_path(a) && is_path(b);
  const auto most = static_cast<double>(paths ? std::max(a.labels.size(), b.labels.size())
                                              : a.labels.size() + b.labels.size() + a.edges.size() + b.edges.size());
  return most > 0 ? std::min(1.0, edit_distance(a, b) / most) : 0;
}

LabelledGraph graph_of(const Model& model) {
  LabelledGraph graph;
  for (const Layer& l : model.layers) {
    if (!graph.labels.empty()) graph.edges.emplace_back(graph.labels.size() - 1, graph.labels.size());
    graph.labels.push_back(fmt::format("{}/{}", static_cast<int>(l.kind),
                                       std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(0, l.parameters())))));
  }
  return graph;
}

LabelledGraph graph_of(const Fabric& fabric) {
  LabelledGraph graph;
  const auto nodes = fabric.devices();
  std::vector<std::set<std::int64_t>> rates(static_cast<std::size_t>(nodes));
  for (LinkId id = 0; id < fabric.links(); ++id) {
    rates[static_cast<std::size_t>(fabric.from(id))].insert(fabric.link(id).bandwidth.count);
    graph.edges.emplace_back(fabric.from(id), fabric.to(id));
  }
  for (NodeId id = 0; id < nodes; ++id)
    graph.labels.push_back(
        fmt::format("{}/{}", static_cast<int>(fabric.device(id).kind), fmt::join(rates[static_cast<std::size_t>(id)], ",")));
  return graph;
}

}  // namespace weft
