#include "models/fabric/analysis/faster_links.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/index.hpp"

#include <algorithm>
#include <cctype>
#include <deque>
#include <set>
#include <span>
#include <utility>

namespace weft {
namespace {

class FasterFabric final : public Fabric {
 public:
  FasterFabric(std::shared_ptr<const Fabric> like, const FasterParts& parts, int factor)
      : like_(std::move(like)), cap_factor_(parts.rate_caps ? factor : 1), factors_(static_cast<std::size_t>(like_->links()), 1) {
    priorities_ = like_->priorities();
    for (std::size_t id = 0; id < static_cast<std::size_t>(like_->devices()); ++id) {
      const Device& device = like_->device(static_cast<NodeId>(id));
      device.kind == DeviceKind::endpoint ? add_endpoint(device.name) : add_device(device);
    }
    for (const LinkId link : parts.links) factors_[at(link)] = factor;
    for (LinkId id = 0; id < like_->links(); ++id) copy_link(id, factors_[at(id)]);
    check(endpoints() == like_->endpoints(), "{} of {} endpoints are copied", endpoints(), like_->endpoints());
    for (int e = 0; e < endpoints(); ++e)
      check(node_of(e) == like_->node_of(e), "endpoint {} is device {}, and {} in the copy", e, like_->node_of(e), node_of(e));
  }

  int path_count(int from, int to) const override { return like_->path_count(from, to); }
  void append_path(int from, int to, int choice, std::vector<Hop>& path) const override { like_->append_path(from, to, choice, path); }
  FlowTerms terms(int from, int to) const override {
    FlowTerms out = like_->terms(from, to);
    std::vector<FlowCap> caps;
    append_caps(from, to, caps);
    out.rate_cap = least_of(caps);
    return out;
  }
  void append_caps(int from, int to, std::vector<FlowCap>& caps) const override {
    const std::size_t before = caps.size();
    like_->append_caps(from, to, caps);
    for (FlowCap& cap : std::span(caps).subspan(before)) cap.rate.count *= cap_factor_ * factors_[at(cap.link)];
  }
  NodeId port_of(int endpoint) const override { return like_->port_of(endpoint); }
  bool append_copy_path(int endpoint, Copy direction, std::vector<Hop>& path) const override {
    return like_->append_copy_path(endpoint, direction, path);
  }
  FlowTerms copy_terms(int endpoint) const override { return like_->copy_terms(endpoint); }

 private:
  void copy_link(LinkId id, int factor) {
    const Link& link = like_->link(id);
    const LinkSpec spec{{link.bandwidth.count * factor}, link.latency};
    if (link.in_server)
      add_server_link(like_->from(id), like_->to(id), spec,
                      {link.two_way.opposite, {link.two_way.rate.count * factor}, {link.two_way.duplex.count * factor}}, link.is_lane);
    else
      add_link(like_->from(id), like_->to(id), spec);
  }

  const std::shared_ptr<const Fabric> like_;
  const int cap_factor_;
  std::vector<int> factors_;  // by link
};

// What tells kinds of devices apart: switches by how many hops they are from the nearest host.
class Kinds {
 public:
  explicit Kinds(const Fabric& fabric) : fabric_(fabric), tier_(static_cast<std::size_t>(fabric.devices()), -1) {
    std::vector<std::vector<NodeId>> beside(tier_.size());
    for (LinkId id = 0; id < fabric.links(); ++id) beside[at(fabric.from(id))].push_back(fabric.to(id));
    std::deque<NodeId> next;
    for (std::size_t node = 0; node < tier_.size(); ++node)
      if (fabric.device(static_cast<NodeId>(node)).kind != DeviceKind::network_switch) {
        tier_[node] = 0;
        next.push_back(static_cast<NodeId>(node));
      }
    for (; !next.empty(); next.pop_front())
      for (const NodeId other : beside[at(next.front())])
        if (tier_[at(other)] < 0) {
          tier_[at(other)] = tier_[at(next.front())] + 1;
          next.push_back(other);
        }
  }

  using Kind = std::pair<DeviceKind, int>;
  Kind of(NodeId node) const { return {fabric_.device(node).kind, tier_[at(node)]}; }
  std::pair<Kind, Kind> ends(LinkId link) const { return std::minmax(of(fabric_.from(link)), of(fabric_.to(link))); }

 private:
  const Fabric& fabric_;
  std::vector<int> tier_;
};

std::string plural(const Kinds::Kind& kind) {
  switch (kind.first) {
    case DeviceKind::endpoint:
      return "nodes";
    case DeviceKind::network_switch:
      return fmt::format("switches of tier {}", kind.second);
    case DeviceKind::nic:
      return "NICs";
    case DeviceKind::socket:
      return "sockets";
    case DeviceKind::memory:
      return "host memory";
    case DeviceKind::cache:
      return "caches";
    case DeviceKind::pcie_switch:
      return "PCIe switches";
    case DeviceKind::nvswitch:
      return "NVSwitches";
  }
  check(false, "a device of kind {}", static_cast<int>(kind.first));
  return "";
}

// "leaf12/node3" -> "leaf*/node*"
std::string pattern(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit)
      out += c;
    else if (out.empty() || out.back() != '*')
      out += '*';
  }
  return out;
}

}  // namespace

std::shared_ptr<const Fabric> with_faster(std::shared_ptr<const Fabric> fabric, const FasterParts& parts, int factor) {
  return std::make_shared<FasterFabric>(std::move(fabric), parts, factor);
}

std::vector<LinkId> links_like(const Fabric& fabric, LinkId link) {
  const Kinds kinds(fabric);
  const auto traits = [&](LinkId id) {
    return std::tuple(fabric.from(id) == fabric.to(id), kinds.ends(id), fabric.link(id).bandwidth.count, fabric.link(id).in_server);
  };
  const auto wanted = traits(link);
  std::vector<LinkId> out;
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (traits(id) == wanted) out.push_back(id);
  return out;
}

std::string describe_alike(const Fabric& fabric, const std::vector<LinkId>& links) {
  check(!links.empty(), "no links to describe");
  if (fabric.from(links.front()) == fabric.to(links.front())) return fmt::format("{} links of the platform", links.size());
  std::set<std::pair<std::string, std::string>> patterns;
  const Kinds kinds(fabric);
  const auto told = [&](NodeId node) { return std::pair(kinds.of(node), pattern(fabric.device(node).name)); };
  for (const LinkId link : links) {
    const std::pair ends = std::minmax({told(fabric.from(link)), told(fabric.to(link))});
    patterns.insert({ends.first.second, ends.second.second});
  }
  auto [a, b] = *patterns.begin();
  if (patterns.size() > 1) {
    const auto [first, second] = kinds.ends(links.front());
    a = plural(first), b = plural(second);
  }
  return fmt::format("{} links {}", links.size(), a == b ? "among " + a : fmt::format("between {} and {}", a, b));
}

}  // namespace weft
