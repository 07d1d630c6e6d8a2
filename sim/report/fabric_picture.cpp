#include "sim/report/fabric_picture.hpp"

#include "kernels/base/index.hpp"
#include "sim/results/activity_shown.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace weft {
namespace {

constexpr int max_hosts = 64;  // drawn one by one
constexpr std::size_t max_nodes = 600, max_lines = 5000;

double rounded(double value) { return std::round(value * 1e5) / 1e5; }

// Devices of one host: all that is joined without a switch between.
class Hosts {
 public:
  explicit Hosts(const Fabric& fabric) : fabric_(fabric), parent_(static_cast<std::size_t>(fabric.devices())) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (LinkId id = 0; id < fabric.links(); ++id)
      if (!is_switch(fabric.from(id)) && !is_switch(fabric.to(id))) parent_[index(find(fabric.from(id)))] = find(fabric.to(id));
  }
  bool is_switch(NodeId node) const { return fabric_.device(node).kind == DeviceKind::network_switch; }
  NodeId find(NodeId node) {
    while (parent_[index(node)] != node) node = parent_[index(node)] = parent_[index(parent_[index(node)])];
    return node;
  }

 private:
  static std::size_t index(NodeId node) { return static_cast<std::size_t>(node); }

  const Fabric& fabric_;
  std::vector<NodeId> parent_;
};

// What the names have in common, up to a "/" that only some go on after.
std::string common_name(const std::vector<std::string>& names) {
  std::string out = names.front();
  for (const std::string& name : names) {
    const auto [end, other] = std::ranges::mismatch(out, name);
    out.erase(end, out.end());
  }
  if (names.size() > 1 && out.find('/') != out.npos) out.erase(out.rfind('/'));
  return out.empty() ? names.front() : out;
}

struct Node {
  std::vector<std::string> names = {};  // of the devices
  bool is_switch = false;
  int tier = 0;   // switches: hops to the nearest host
  int hosts = 0;  // that it stands for
};

struct Line {
  int cables = 0;
  double gigabytes_per_s = 0;  // of all
  double most = 0, sum = 0;    // share of the bandwidth used
  std::string busiest = {};
  double bottleneck_us = 0;
};

class Picture {
 public:
  Picture(const Timeline& timeline, const Row& row)
      : fabric_(*timeline.fabric),
        use_(use_of_links(timeline)),
        hosts_(fabric_),
        node_of_(static_cast<std::size_t>(fabric_.devices()), -1) {
    if (row.critical_path)
      for (const LimitingResource& limit : row.critical_path->limits) limits_[limit.name] = static_cast<double>(limit.time.ps) / 1e6;
    make_nodes();
    find_tiers();
    make_lines();
  }

  Json json() const {
    Json out = {{"classes", classes()}};
    if (lines_.empty() || nodes_.size() > max_nodes || lines_.size() > max_lines) return out;
    for (const Node& n : nodes_)
      out["nodes"].push_back({{"name", n.is_switch || n.hosts == 1 ? common_name(n.names) : ""},
                              {"kind", n.is_switch ? "switch" : "host"},
                              {"tier", n.tier},
                              {"hosts", n.hosts}});
    for (const auto& [ends, line] : lines_) {
      Json shown = {{"from", ends.first}, {"to", ends.second}, {"GBps", rounded(line.gigabytes_per_s)}, {"use", rounded(line.most)}};
      if (line.cables > 1) shown.update({{"cables", line.cables}, {"mean", rounded(line.sum / line.cables)}, {"busiest", line.busiest}});
      if (line.bottleneck_us > 0) shown["bottleneck_us"] = rounded(line.bottleneck_us);
      out["links"].push_back(std::move(shown));
    }
    return out;
  }

 private:
  void make_nodes() {
    const auto devices = static_cast<NodeId>(node_of_.size());
    std::map<NodeId, std::set<NodeId>> switches_of;  // by host
    for (LinkId id = 0; id < fabric_.links(); ++id)
      if (!hosts_.is_switch(fabric_.from(id)) && hosts_.is_switch(fabric_.to(id)))
        switches_of[hosts_.find(fabric_.from(id))].insert(fabric_.to(id));
    std::set<NodeId> hosts;
    for (NodeId d = 0; d < devices; ++d)
      if (!hosts_.is_switch(d)) hosts.insert(hosts_.find(d));
    const bool joined = hosts.size() > max_hosts;
    std::map<std::set<NodeId>, int> node_of_switches;
    std::map<NodeId, int> node_of_host;
    for (NodeId d = 0; d < devices; ++d) {
      int& node = node_of_[at(d)];
      if (hosts_.is_switch(d)) {
        node = add({.is_switch = true});
      } else {
        const NodeId host = hosts_.find(d);
        const auto [known, is_new] = node_of_host.try_emplace(host, -1);
        if (is_new) {
          int& shared = node_of_switches.try_emplace(switches_of[host], -1).first->second;
          known->second = joined && shared >= 0 ? shared : add({});
          shared = known->second;
          ++nodes_[at(known->second)].hosts;
        }
        node = known->second;
      }
      nodes_[at(node)].names.push_back(fabric_.device(d).name);
    }
  }
  int add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  void find_tiers() {
    std::vector<std::set<int>> beside(nodes_.size());
    for (LinkId id = 0; id < fabric_.links(); ++id) beside[at(from(id))].insert(to(id));
    std::deque<int> next;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (!nodes_[i].is_switch) next.push_back(static_cast<int>(i));
    while (!next.empty()) {
      const int node = next.front();
      next.pop_front();
      for (const int other : beside[at(node)])
        if (nodes_[at(other)].is_switch && nodes_[at(other)].tier == 0) {
          nodes_[at(other)].tier = nodes_[at(node)].tier + 1;
          next.push_back(other);
        }
    }
  }

  int from(LinkId id) const { return node_of_[static_cast<std::size_t>(fabric_.from(id))]; }
  int to(LinkId id) const { return node_of_[static_cast<std::size_t>(fabric_.to(id))]; }

  void make_lines() {
    for (LinkId id = 0; id < fabric_.links(); ++id) {
      const double used = use_[static_cast<std::size_t>(id)];
      const std::string name = fabric_.link_name(id);
      const auto limit = limits_.find(name);
      const auto note = [&](Line& line) {
        ++line.cables;
        line.gigabytes_per_s += fabric_.link(id).bandwidth.bytes_per_second() / 1e9;
        if (line.cables == 1 || used > line.most) line.most = used, line.busiest = name;
        line.sum += used;
        if (limit != limits_.end()) line.bottleneck_us += limit->second;
      };
      note(classes_[{tier_name(from(id)), tier_name(to(id))}]);
      if (from(id) != to(id)) note(lines_[{from(id), to(id)}]);
    }
  }

  std::string tier_name(int node) const {
    const Node& n = nodes_[at(node)];
    return n.is_switch ? fmt::format("switches of tier {}", n.tier) : "hosts";
  }

  Json classes() const {
    Json out = Json::array();
    for (const auto& [ends, line] : classes_)
      out.push_back({{"from", ends.first},
                     {"to", ends.second},
                     {"links", line.cables},
                     {"mean", rounded(line.sum / line.cables)},
                     {"most", rounded(line.most)},
                     {"busiest", line.busiest},
                     {"bottleneck_us", rounded(line.bottleneck_us)}});
    return out;
  }

  const Fabric& fabric_;
  const std::vector<double> use_;
  std::map<std::string, double> limits_;
  Hosts hosts_;
  std::vector<int> node_of_;  // by device
  std::vector<Node> nodes_;
  std::map<std::pair<int, int>, Line> lines_;
  std::map<std::pair<std::string, std::string>, Line> classes_;
};

}  // namespace

Json fabric_picture(const Timeline& timeline, const Row& row) { return Picture(timeline, row).json(); }

}  // namespace weft
