#include "models/fabric/drawing/drawing.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/index.hpp"
#include "models/fabric/drawing/cables.hpp"

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace weft {
namespace {

// What the devices of a fabric are to one another.
class Devices {
 public:
  explicit Devices(const Fabric& fabric) : fabric_(fabric), server_of_(static_cast<std::size_t>(fabric.devices())) {
    std::iota(server_of_.begin(), server_of_.end(), std::size_t{0});
    for (LinkId id = 0; id < fabric.links(); ++id)
      if (!is_switch(fabric.from(id)) && !is_switch(fabric.to(id))) join(at(fabric.from(id)), at(fabric.to(id)));
    for (std::size_t node = 0; node < count(); ++node) server_of_[node] = root(node);
    find_tiers();
  }

  std::size_t count() const { return server_of_.size(); }
  bool is_switch(NodeId node) const { return fabric_.device(node).kind == DeviceKind::network_switch; }
  std::size_t server_of(NodeId node) const { return server_of_[at(node)]; }
  int tier_of(NodeId node) const { return tier_[at(node)]; }
  bool in_tiers() const { return in_tiers_; }

  // The switches that a server has cables to.
  std::set<NodeId> switches_of(std::size_t server) const {
    const auto own = switches_.find(server);
    return own == switches_.end() ? std::set<NodeId>{} : own->second;
  }

 private:
  std::size_t root(std::size_t node) {
    while (server_of_[node] != node) node = server_of_[node] = server_of_[server_of_[node]];
    return node;
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a), b = root(b);
    server_of_[std::max(a, b)] = std::min(a, b);
  }

  // Switches by their distance from the nearest host. Where all have hosts and fall into two halves, each switch of one cabled to each of
  // the other, one half and its hosts are above the other.
  void find_tiers() {
    tier_.assign(count(), 0);
    std::vector<int> distance(count(), -1);
    std::deque<NodeId> next;
    for (LinkId id = 0; id < fabric_.links(); ++id) {
      const NodeId from = fabric_.from(id), to = fabric_.to(id);
      if (is_switch(from) || !is_switch(to)) continue;
      switches_[server_of(from)].insert(to);
      if (distance[at(to)] < 0) distance[at(to)] = 1, next.push_back(to);
    }
    std::vector<std::vector<NodeId>> beside(count());
    for (LinkId id = 0; id < fabric_.links(); ++id)
      if (fabric_.between_switches(id)) beside[at(fabric_.from(id))].push_back(fabric_.to(id));
    for (; !next.empty(); next.pop_front())
      for (const NodeId other : beside[at(next.front())])
        if (distance[at(other)] < 0) distance[at(other)] = distance[at(next.front())] + 1, next.push_back(other);
    for (std::size_t node = 0; node < count(); ++node)
      if (is_switch(static_cast<NodeId>(node))) tier_[node] = std::max(1, distance[node]);
    const auto meets_own_tier = [&](std::size_t node) {
      return std::ranges::any_of(beside[node], [&](NodeId other) { return tier_[at(other)] == tier_[node]; });
    };
    for (std::size_t node = 0; node < count(); ++node) in_tiers_ = in_tiers_ && !meets_own_tier(node);
    if (!in_tiers_) in_tiers_ = in_two_halves(beside);
    find_tiers_in_servers();
  }

  // Away from the switches, from what is cabled to them on.
  void find_tiers_in_servers() {
    std::vector<std::vector<NodeId>> inside(count());
    std::vector<char> seen(count());
    std::deque<NodeId> next;
    for (LinkId id = 0; id < fabric_.links(); ++id) {
      const NodeId from = fabric_.from(id), to = fabric_.to(id);
      if (!is_switch(from) && !is_switch(to)) inside[at(from)].push_back(to);
      if (!is_switch(from) && is_switch(to) && std::exchange(seen[at(from)], 1) == 0) next.push_back(from);
    }
    for (; !next.empty(); next.pop_front())
      for (const NodeId other : inside[at(next.front())])
        if (std::exchange(seen[at(other)], 1) == 0) {
          tier_[at(other)] = tier_[at(next.front())] + (tier_[at(next.front())] > 0 ? 1 : -1);
          next.push_back(other);
        }
  }

  bool in_two_halves(const std::vector<std::vector<NodeId>>& beside) {
    std::vector<int> half(count(), -1);
    for (std::size_t first = 0; first < count(); ++first) {
      if (!is_switch(static_cast<NodeId>(first)) || half[first] >= 0) continue;
      if (tier_[first] != 1) return false;
      half[first] = 1;  // the one that comes first is above
      std::deque<NodeId> next = {static_cast<NodeId>(first)};
      for (; !next.empty(); next.pop_front())
        for (const NodeId other : beside[at(next.front())]) {
          if (half[at(other)] == half[at(next.front())]) return false;
          if (half[at(other)] < 0) half[at(other)] = 1 - half[at(next.front())], next.push_back(other);
        }
    }
    const auto above = std::ranges::count(half, 1), below = std::ranges::count(half, 0);
    for (std::size_t node = 0; node < count(); ++node)
      if (half[node] >= 0 && std::ssize(std::set(beside[node].begin(), beside[node].end())) != (half[node] == 1 ? below : above))
        return false;
    for (std::size_t node = 0; node < count(); ++node)
      if (is_switch(static_cast<NodeId>(node))) tier_[node] = 1 + half[node];
    for (std::size_t node = 0; node < count(); ++node)
      if (const std::set<NodeId> own = switches_of(server_of_[node]); !is_switch(static_cast<NodeId>(node)) && !own.empty())
        tier_[node] = half[at(*own.begin())] == 1 ? 3 : 0;
    return true;
  }

  const Fabric& fabric_;
  std::vector<std::size_t> server_of_;  // by device: the first of its server
  std::map<std::size_t, std::set<NodeId>> switches_;
  std::vector<int> tier_;
  bool in_tiers_ = true;
};

enum class Together { nothing, servers, of_one_switch, alike };

std::string without_numbers(const std::string& name) {
  std::string out;
  for (const char c : name)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) out += c;
  return out;
}

// What stands in one box with the device.
std::string key_of(NodeId node, Together together, const Devices& devices, const Fabric& fabric) {
  if (devices.is_switch(node))
    return "switch " + (together == Together::alike ? without_numbers(fabric.device(node).name) : std::to_string(node));
  if (together == Together::nothing) return std::to_string(node);
  if (together == Together::servers) return fmt::format("server {}", devices.server_of(node));
  std::set<std::string> of;
  for (const NodeId own : devices.switches_of(devices.server_of(node)))
    of.insert(together == Together::alike ? without_numbers(fabric.device(own).name) : std::to_string(own));
  return fmt::format("{} {}", devices.tier_of(node) > 0 ? "above" : "below", fmt::join(of, " "));
}

// The devices of a box in words.
std::string label_of(const std::vector<NodeId>& members, const Devices& devices, const Fabric& fabric) {
  const std::string& first = fabric.device(members.front()).name;
  if (members.size() == 1) return first;
  if (devices.is_switch(members.front()))
    return fmt::format("{} switches: {} to {}", members.size(), first, fabric.device(members.back()).name);
  std::set<std::size_t> servers;
  int gpus = 0, nics = 0;
  for (const NodeId node : members) {
    servers.insert(devices.server_of(node));
    gpus += fabric.device(node).kind == DeviceKind::endpoint ? 1 : 0;
    nics += fabric.device(node).kind == DeviceKind::nic ? 1 : 0;
  }
  if (servers.size() == members.size()) return fmt::format("{} nodes", members.size());
  const auto n = static_cast<int>(servers.size());
  const std::string content = fmt::format("{} GPUs, {} NIC{}", gpus / n, nics / n, nics == n ? "" : "s");
  return n == 1 ? fmt::format("{}: {}", first.substr(0, first.rfind('/')), content) : fmt::format("{} servers of {}", n, content);
}

std::optional<Drawing> drawn(const Fabric& fabric, const Devices& devices, Together together) {
  std::map<std::string, std::size_t> box_of_key;
  std::vector<std::vector<NodeId>> members;
  std::vector<std::size_t> box_of(devices.count());
  for (NodeId node = 0; node < static_cast<NodeId>(devices.count()); ++node) {
    const auto [box, fresh] = box_of_key.try_emplace(key_of(node, together, devices, fabric), members.size());
    if (fresh) members.emplace_back();
    members[box->second].push_back(node);
    box_of[at(node)] = box->second;
  }
  if (members.size() > max_boxes && together != Together::alike) return std::nullopt;
  Drawing out{.in_tiers = devices.in_tiers()};
  for (const std::vector<NodeId>& nodes : members)
    out.boxes.push_back(
        {.label = label_of(nodes, devices, fabric), .kind = fabric.device(nodes.front()).kind, .tier = devices.tier_of(nodes.front())});
  std::map<std::tuple<std::size_t, std::size_t, std::int64_t, std::int64_t, bool>, std::size_t> known;
  for_each_cable(fabric, [&](LinkId id, bool both_ways) {
    std::size_t from = box_of[at(fabric.from(id))], to = box_of[at(fabric.to(id))];
    const bool inside = from == to && !devices.is_switch(fabric.from(id));
    if (inside) return;  // of a server
    if (both_ways && out.boxes[from].tier > out.boxes[to].tier) std::swap(from, to);
    const Link& link = fabric.link(id);
    const auto [bundle, fresh] = known.try_emplace({from, to, link.bandwidth.count, link.latency.ps, both_ways}, out.bundles.size());
    if (fresh)
      out.bundles.push_back({.from = from,
                             .to = to,
                             .bandwidth = link.bandwidth,
                             .latency = link.latency,
                             .both_ways = both_ways,
                             .in_server = !devices.is_switch(fabric.from(id)) && !devices.is_switch(fabric.to(id))});
    ++out.bundles[bundle->second].cables;
  });
  return out;
}

// Four digits are what a picture has room for.
std::string rounded(double value, std::initializer_list<std::pair<double, const char*>> units) {
  for (const auto& [unit, name] : units)
    if (value >= unit) return fmt::format("{:.4g}{}", value / unit, name);
  return fmt::format("0{}", (units.end() - 1)->second);
}

}  // namespace

Drawing drawing_of(const Fabric& fabric) {
  const Devices devices(fabric);
  for (const Together together : {Together::nothing, Together::servers, Together::of_one_switch})
    if (auto out = drawn(fabric, devices, together)) return std::move(*out);
  return *drawn(fabric, devices, Together::alike);
}

std::string label_of(const Drawing::Bundle& bundle) {
  return fmt::format("{}{} {}", bundle.cables > 1 ? fmt::format("{} x ", bundle.cables) : "",
                     rounded(static_cast<double>(bundle.bandwidth.count), {{1e9, "Gbps"}, {1e6, "Mbps"}, {1e3, "Kbps"}, {1, "bps"}}),
                     rounded(static_cast<double>(bundle.latency.ps), {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}}));
}

}  // namespace weft
