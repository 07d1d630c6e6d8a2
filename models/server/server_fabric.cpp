#include "models/server/server_fabric.hpp"

#include "models/fabric/validation.hpp"
#include "models/server/server_paths.hpp"

#include <algorithm>
#include <climits>
#include <numeric>
#include <set>

namespace weft {
namespace {

int times(int nodes, int nics) { return static_cast<int>(std::min(product({nodes, nics}), std::int64_t{INT_MAX})); }

struct WithPorts {
  int nics;
  FabricSpec operator()(BiGraph spec) const { return spec.nodes_per_switch = times(spec.nodes_per_switch, nics), spec; }
  FabricSpec operator()(FatTree spec) const { return spec.nodes_per_leaf = times(spec.nodes_per_leaf, nics), spec; }
  FabricSpec operator()(Star spec) const { return spec.nodes = times(spec.nodes, nics), spec; }
  FabricSpec operator()(Torus spec) const { return spec.nodes_per_switch = times(spec.nodes_per_switch, nics), spec; }
  FabricSpec operator()(Dragonfly spec) const { return spec.nodes_per_router = times(spec.nodes_per_router, nics), spec; }
  FabricSpec operator()(const GraphFabric& spec) const {
    GraphFabric out{.nodes = {}, .switches = spec.switches, .links = {}};
    const std::set<std::string> nodes(spec.nodes.begin(), spec.nodes.end());
    const auto port = [&](const std::string& name, int nic) { return nodes.contains(name) ? fmt::format("{}/nic{}", name, nic) : name; };
    for (const std::string& node : spec.nodes)
      for (int nic = 0; nic < nics; ++nic) out.nodes.push_back(port(node, nic));
    for (const GraphLink& link : spec.links) {
      const bool of_node = nodes.contains(link.from) || nodes.contains(link.to);
      for (int nic = 0; nic < (of_node ? nics : 1); ++nic) {
        out.links.push_back(link);
        out.links.back().from = port(link.from, nic);
        out.links.back().to = port(link.to, nic);
      }
    }
    return out;
  }
  FabricSpec operator()(SimgridFabric spec) const { return spec.nics = nics, spec; }
};

struct PortsPerSwitch {  // of `ports_of`; 0: not the same for all
  int operator()(const BiGraph& spec) const { return spec.nodes_per_switch; }
  int operator()(const FatTree& spec) const { return spec.three_tiers() ? spec.k / 2 : spec.nodes_per_leaf; }
  int operator()(const Star& spec) const { return spec.nodes; }
  int operator()(const Torus& spec) const { return spec.nodes_per_switch; }
  int operator()(const Dragonfly& spec) const { return spec.nodes_per_router; }
  int operator()(const GraphFabric&) const { return 0; }
  int operator()(const SimgridFabric&) const { return 0; }
};

// Which port NIC `nic` of server `server` takes.
class Ports {
 public:
  Ports(const FabricSpec& ports, const Server& server)
      : nics_(server.nic_count()), per_switch_(server.wiring == Wiring::rails ? std::visit(PortsPerSwitch{}, ports) : 0) {}

  int port(int server, int nic) const {
    if (per_switch_ == 0) return server * nics_ + nic;
    const int block = server / per_switch_, slot = server % per_switch_;
    return (block * nics_ + nic) * per_switch_ + slot;
  }

 private:
  int nics_, per_switch_;  // per_switch 0: neighbouring ports
};

class ServerFabric final : public Fabric {
 public:
  ServerFabric(const FabricSpec& ports, const Server& server)
      : inner_(weft::build(ports)), paths_(server), gpus_(server.gpu_count()), ports_(ports, server) {
    priorities_ = inner_->priorities();
    const int servers = inner_->endpoints() / server.nic_count();
    copy_fabric(servers, server);
    for (int s = 0; s < servers; ++s) add_server(s, server);
  }

  int path_count(int from, int to) const override {
    if (within_server(from, to)) return 1;
    return inner_->path_count(port(from), port(to));
  }

  void append_path(int from, int to, int choice, std::vector<Hop>& path) const override {
    if (const auto* inside = peer_path(from, to)) return append(from, *inside, path);
    append(from, paths_.to_nic(gpu(from)), path);
    if (port(from) != port(to)) inner_->append_path(port(from), port(to), choice, path);
    append(to, ServerPaths::back(paths_.to_nic(gpu(to))), path);
  }

  FlowTerms terms(int from, int to) const override {
    if (peer_path(from, to)) return paths_.peer_terms(gpu(from), gpu(to));
    const FlowTerms a = paths_.nic_terms(gpu(from)), b = paths_.nic_terms(gpu(to));
    FlowTerms all{.weight = std::min(a.weight, b.weight)};
    const FlowTerms outside = port(from) != port(to) ? inner_->terms(port(from), port(to)) : FlowTerms{};
    for (const BitsPerSecond rate_cap : {a.rate_cap, b.rate_cap, outside.rate_cap})
      if (rate_cap.count > 0 && (all.rate_cap.count == 0 || rate_cap < all.rate_cap)) all.rate_cap = rate_cap;
    return all;
  }

  void append_caps(int from, int to, std::vector<FlowCap>& caps) const override {
    if (const auto* inside = peer_path(from, to)) return append_caps(from, *inside, caps);
    append_caps(from, paths_.to_nic(gpu(from)), caps);
    if (port(from) != port(to)) inner_->append_caps(port(from), port(to), caps);
    append_caps(to, ServerPaths::back(paths_.to_nic(gpu(to))), caps);
  }

  NodeId port_of(int endpoint) const override { return inner_->node_of(port(endpoint)); }

  bool append_copy_path(int endpoint, Copy direction, std::vector<Hop>& path) const override {
    const auto& to_memory = paths_.to_memory(gpu(endpoint));
    append(endpoint, direction == Copy::to_host ? to_memory : ServerPaths::back(to_memory), path);
    return true;
  }
  FlowTerms copy_terms(int endpoint) const override { return paths_.memory_terms(gpu(endpoint)); }

 private:
  int gpu(int endpoint) const { return endpoint % gpus_; }
  int port(int endpoint) const { return ports_.port(endpoint / gpus_, paths_.nic_of(gpu(endpoint))); }
  bool within_server(int from, int to) const { return peer_path(from, to) || port(from) == port(to); }
  const ServerPaths::Path* peer_path(int from, int to) const {
    if (from / gpus_ != to / gpus_) return nullptr;
    const auto& path = paths_.peer(gpu(from), gpu(to));
    return path.empty() ? nullptr : &path;
  }

  LinkId first_link_of_server(int endpoint) const {
    return first_server_link_ + endpoint / gpus_ * static_cast<LinkId>(paths_.links().size());
  }
  void append(int endpoint, const ServerPaths::Path& inside, std::vector<Hop>& path) const {
    for (const int id : inside) path.push_back({first_link_of_server(endpoint) + id, 0});
  }

  void append_caps(int endpoint, const ServerPaths::Path& inside, std::vector<FlowCap>& caps) const {
    for (const FlowCap& cap : paths_.caps(inside)) caps.push_back({first_link_of_server(endpoint) + cap.link, cap.rate});
  }

  // Nodes and links keep their numbers, so that the inner fabric's paths hold here. Its nodes are NICs.
  void copy_fabric(int servers, const Server& server) {
    std::vector<std::string> names(static_cast<std::size_t>(inner_->devices()));
    for (int s = 0; s < servers; ++s)
      for (int nic = 0; nic < server.nic_count(); ++nic)
        names[static_cast<std::size_t>(inner_->node_of(ports_.port(s, nic)))] =
            fmt::format("server{}/{}", s, server.nics[static_cast<std::size_t>(nic)]);
    for (std::size_t id = 0; id < names.size(); ++id) {
      Device device = inner_->device(static_cast<NodeId>(id));
      if (device.kind == DeviceKind::endpoint) device = {names[id], DeviceKind::nic};
      add_device(std::move(device));
    }
    for (LinkId id = 0; id < inner_->links(); ++id)
      add_link(inner_->from(id), inner_->to(id), {inner_->link(id).bandwidth, inner_->link(id).latency});
    first_server_link_ = links();
  }

  void add_server(int s, const Server& server) {
    std::vector<NodeId> nodes;
    const auto& devices = paths_.devices();
    for (int d = 0; d < static_cast<int>(devices.size()); ++d) {
      const Device& device = devices[static_cast<std::size_t>(d)];
      const std::string name = fmt::format("server{}/{}", s, device.name);
      if (device.kind == DeviceKind::endpoint)
        nodes.push_back(add_endpoint(name));
      else if (device.kind == DeviceKind::nic)
        nodes.push_back(inner_->node_of(ports_.port(s, d - paths_.first_nic())));
      else
        nodes.push_back(add_device({name, device.kind}));
    }
    check(nodes.size() == devices.size() && paths_.first_nic() + server.nic_count() <= paths_.first_gpu(), "server {} is incomplete", s);
    const LinkId base = links();
    for (LinkId i = 0; i < static_cast<LinkId>(paths_.links().size()); ++i) {
      const auto& link = paths_.links()[static_cast<std::size_t>(i)];
      TwoWayLoad load{.opposite = base + (i ^ 1), .rate = link.two_way_rate, .duplex = link.duplex_rate};
      if (!load.loses()) load = {};
      add_server_link(nodes[static_cast<std::size_t>(link.from)], nodes[static_cast<std::size_t>(link.to)], link.spec, load,
                      link.has_lanes);
    }
  }

  std::unique_ptr<Fabric> inner_;  // its endpoints are the ports
  ServerPaths paths_;
  int gpus_;
  Ports ports_;
  LinkId first_server_link_ = 0;
};

void check_wiring(const FabricSpec& ports, const Server& server, Problems& found) {
  const int nics = server.nic_count(), per_switch = std::visit(PortsPerSwitch{}, ports);
  const auto* tree = std::get_if<FatTree>(&ports);
  if (tree && tree->three_tiers())
    found.require(tree->k / 2 % nics == 0, "/server", "has {} NICs, and the {} ports of a switch are no multiple of it", nics, tree->k / 2);
  if (server.wiring != Wiring::rails) return;
  found.require(per_switch > 0, "/server/wiring", "rails need as many ports on every switch; on a {} write \"one_switch\"",
                type_name(ports));
  if (per_switch == 0) return;
  const auto switches = weft::endpoints(ports) / per_switch;
  found.require(switches % nics == 0, "/server/wiring", "rails need a multiple of {} switches with ports, one for each NIC; the {} has {}",
                nics, type_name(ports), switches);
}

}  // namespace

FabricSpec ports_of(const FabricSpec& fabric, const Server& server) {
  if (server.nic_count() == 1) return fabric;
  const auto* tree = std::get_if<FatTree>(&fabric);
  return tree && tree->three_tiers() ? fabric : std::visit(WithPorts{server.nic_count()}, fabric);
}

std::vector<Problem> problems(const FabricSpec& fabric, const Server& server) {
  Problems found;
  for (const auto& [where, what] : problems(fabric)) found.require(false, "/fabric" + where, "{}", what);
  for (const auto& [where, what] : problems(server)) found.require(false, "/server" + where, "{}", what);
  if (server.is_sub_node() || !found.none()) return found.take();
  const FabricSpec ports = ports_of(fabric, server);
  for (const auto& [where, what] : problems(ports))
    found.require(false, "/fabric" + where, "{} (with {} NICs a server)", what, server.nic_count());
  if (!found.none()) return found.take();
  check_wiring(ports, server, found);
  if (server.nics.front() == no_nic)
    found.require(endpoints(fabric) == 1, server.ranks > 0 ? "/server" : "/server/nics",
                  "a server without NICs reaches no other, but the {} has {} nodes: {}write 1 node", type_name(fabric), endpoints(fabric),
                  server.ranks > 0 ? "" : "give it NICs, or ");
  if (found.none()) {
    const std::int64_t gpus = endpoints(fabric, server);
    found.require(gpus <= max_endpoints, "/server", "makes {} GPUs of all servers, at most {} are allowed", gpus, max_endpoints);
  }
  return found.take();
}

std::int64_t endpoints(const FabricSpec& fabric, const Server& server) {
  if (server.is_sub_node()) return endpoints(fabric);
  return endpoints(ports_of(fabric, server)) / server.nic_count() * server.gpu_count();
}

std::unique_ptr<Fabric> build(const FabricSpec& fabric, const Server& server) {
  if (server.is_sub_node()) return build(fabric);
  std::vector<std::string> lines;
  for (const auto& [where, what] : problems(fabric, server)) lines.push_back(fmt::format("{}: {}", where, what));
  if (!lines.empty()) throw InputError(std::move(lines));
  return std::make_unique<ServerFabric>(ports_of(fabric, server), server);
}

std::string said_of_idle_nics(const Server& server) {
  if (server.is_sub_node() || !server.nic_of_gpu.empty()) return {};
  const ServerPaths paths(server);
  std::set<int> used;
  for (int gpu = 0; gpu < server.gpu_count(); ++gpu) used.insert(paths.nic_of(gpu));
  const int idle = server.nic_count() - static_cast<int>(used.size());
  if (idle == 0) return {};
  return fmt::format(
      "{0} of the {1} NICs of a server carry nothing: each of its {2} {3}s sends over the nearest one. NICs over which a library spreads "
      "the messages of one {3} are described as one NIC of the sum of their rates",
      idle, server.nic_count(), server.gpu_count(), name_of_endpoint(server));
}

bool has_nic_for_each_gpu(const Server& server) {
  if (server.is_sub_node()) return true;
  if (server.gpu_count() != server.nic_count()) return false;
  const ServerPaths paths(server);
  std::set<int> used;
  for (int gpu = 0; gpu < server.gpu_count(); ++gpu) used.insert(paths.nic_of(gpu));
  return static_cast<int>(used.size()) == server.nic_count();
}

std::vector<int> endpoints_of_ports(const FabricSpec& fabric, const Server& server) {
  const FabricSpec spec = ports_of(fabric, server);
  std::vector<int> endpoint_of(static_cast<std::size_t>(endpoints(spec)));
  if (server.is_sub_node()) {
    for (std::size_t port = 0; port < endpoint_of.size(); ++port) endpoint_of[port] = static_cast<int>(port);
    return endpoint_of;
  }
  const ServerPaths paths(server);
  const Ports ports(spec, server);
  const int gpus = server.gpu_count();
  for (int e = 0; e < static_cast<int>(endpoint_of.size()); ++e)
    endpoint_of[static_cast<std::size_t>(ports.port(e / gpus, paths.nic_of(e % gpus)))] = e;
  return endpoint_of;
}

namespace {

// All that placements but hdrm know of a fabric is how many endpoints it has.
FabricSpec endpoints_only(const FabricSpec& fabric, const Server& server) {
  return Star{.nodes = static_cast<int>(endpoints(fabric, server))};
}

}  // namespace

std::vector<Problem> problems(const Placement& placement, int ranks, const FabricSpec& fabric, const Server& server) {
  if (server.is_sub_node()) return problems(placement, ranks, fabric);
  if (placement.policy != PlacementPolicy::hdrm) return problems(placement, ranks, endpoints_only(fabric, server));
  if (!has_nic_for_each_gpu(server)) return {{"", "hdrm needs a NIC for each GPU of a server"}};
  return problems(placement, ranks, ports_of(fabric, server));
}

std::vector<int> place(const Placement& placement, int ranks, const FabricSpec& fabric, const Server& server) {
  if (server.is_sub_node()) return place(placement, ranks, fabric);
  refuse("placement", problems(placement, ranks, fabric, server));
  if (placement.policy == PlacementPolicy::round_robin) {
    std::vector<int> all(static_cast<std::size_t>(endpoints(fabric, server))), servers;
    std::iota(all.begin(), all.end(), 0);
    for (const int e : all) servers.push_back(e / server.gpu_count());
    return place_among(placement, ranks, std::move(all), servers);
  }
  if (placement.policy != PlacementPolicy::hdrm) return place(placement, ranks, endpoints_only(fabric, server));
  const std::vector<int> endpoint_of = endpoints_of_ports(fabric, server);
  std::vector<int> places = place(placement, ranks, ports_of(fabric, server));
  for (int& port : places) port = endpoint_of[static_cast<std::size_t>(port)];
  return places;
}

}  // namespace weft
