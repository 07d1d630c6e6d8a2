#include "models/fabric/fabric.hpp"

#include "models/fabric/graph.hpp"

#include <algorithm>
#include <utility>

namespace weft {

Fabric::Fabric() : graph_(std::make_unique<Graph>()) {}
Fabric::~Fabric() = default;

int Fabric::devices() const { return static_cast<int>(boost::num_vertices(*graph_)); }

const Device& Fabric::device(NodeId id) const { return (*graph_)[static_cast<std::size_t>(id)]; }

bool Fabric::between_switches(LinkId id) const {
  return device(from(id)).kind == DeviceKind::network_switch && device(to(id)).kind == DeviceKind::network_switch;
}

std::string Fabric::link_name(LinkId id) const {
  if (from(id) == to(id)) return device(from(id)).name;  // a platform's, which says not what is at its ends
  std::string name = device(from(id)).name + "->" + device(to(id)).name;
  int parallel = 1;
  for (auto [edge, end] = boost::out_edges(static_cast<std::size_t>(from(id)), *graph_); edge != end; ++edge)
    if (static_cast<NodeId>(boost::target(*edge, *graph_)) == to(id) && (*graph_)[*edge].id < id) ++parallel;
  return parallel == 1 ? name : name + "#" + std::to_string(parallel);
}

BitsPerSecond least_of(const std::vector<FlowCap>& caps) {
  return caps.empty() ? BitsPerSecond{} : std::ranges::min_element(caps, {}, &FlowCap::rate)->rate;
}

void Fabric::append_caps(int, int, std::vector<FlowCap>&) const {}

FlowTerms Fabric::terms(int, int) const { return {}; }

bool Fabric::append_copy_path(int, Copy, std::vector<Hop>&) const { return false; }

FlowTerms Fabric::copy_terms(int) const { return {}; }

NodeId Fabric::add_device(Device device) { return static_cast<NodeId>(boost::add_vertex(std::move(device), *graph_)); }

NodeId Fabric::add_switch(std::string name) { return add_device({std::move(name), DeviceKind::network_switch}); }

NodeId Fabric::add_endpoint(std::string name) { return endpoint_nodes_.emplace_back(add_device({std::move(name), DeviceKind::endpoint})); }

LinkId Fabric::add_edge(NodeId from, NodeId to, Link link) {
  link.id = static_cast<LinkId>(ends_.size());
  boost::add_edge(static_cast<std::size_t>(from), static_cast<std::size_t>(to), link, *graph_);
  ends_.push_back({from, to, link});
  return link.id;
}

LinkId Fabric::add_link(NodeId from, NodeId to, LinkSpec spec) {
  return add_edge(from, to, {.bandwidth = spec.bandwidth, .latency = spec.latency});
}

LinkId Fabric::add_server_link(NodeId from, NodeId to, LinkSpec spec, TwoWayLoad load, bool is_lane) {
  return add_edge(from, to, {.bandwidth = spec.bandwidth, .latency = spec.latency, .in_server = true, .two_way = load, .is_lane = is_lane});
}

LinkId Fabric::add_cable(NodeId a, NodeId b, LinkSpec spec) {
  const LinkId id = add_link(a, b, spec);
  add_link(b, a, spec);
  return id;
}

}  // namespace weft
