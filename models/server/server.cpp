#include "models/server/server.hpp"

#include "models/fabric/validation.hpp"
#include "models/server/server_paths.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <unordered_map>

namespace weft {
namespace {

using Kinds = std::unordered_map<std::string, DeviceKind>;

void check_names(const std::vector<std::string>& names, const char* list, DeviceKind kind, Kinds& kinds, Problems& found) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string where = fmt::format("/{}/{}", list, i);
    found.require(!names[i].empty(), where, "must not be empty");
    found.require(kinds.emplace(names[i], kind).second, where, "names \"{}\" a second time", names[i]);
  }
}

Kinds check_devices(const Server& server, Problems& found) {
  Kinds kinds;
  check_names(server.sockets, "sockets", DeviceKind::socket, kinds, found);
  check_names(server.pcie_switches, "pcie_switches", DeviceKind::pcie_switch, kinds, found);
  check_names(server.nvswitches, "nvswitches", DeviceKind::nvswitch, kinds, found);
  check_names(server.caches, "caches", DeviceKind::cache, kinds, found);
  check_names(server.gpus, "gpus", DeviceKind::endpoint, kinds, found);
  check_names(server.nics, "nics", DeviceKind::nic, kinds, found);
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  found.within(1, max_gpus_per_server, "/gpus", count(server.gpus));
  found.within(1, max_gpus_per_server, "/nics", count(server.nics));
  found.require(!server.sockets.empty(), "/sockets", "must name at least one socket, which has the host memory");
  found.require(count(kinds) <= max_devices_per_server, "", "has {} devices, at most {} are allowed", count(kinds), max_devices_per_server);
  return kinds;
}

void check_link(const ServerLink& link, const std::string& where, const Kinds& kinds, Problems& found) {
  found.require(kinds.contains(link.from), where + "/from", "must be a device of the server, got \"{}\"", link.from);
  found.require(kinds.contains(link.to), where + "/to", "must be a device of the server, got \"{}\"", link.to);
  found.require(link.from != link.to, where, "must join two devices, got \"{}\" twice", link.from);
  if (kinds.contains(link.from) && kinds.contains(link.to))
    found.require(link.contention == PeerContention{} || !is_nvlink(kinds.at(link.from), kinds.at(link.to)), where + "/contention",
                  "is for PCIe and for links between sockets, got it on NVLink");
  found.require(link.contention.nic_rate.count >= 0 && link.contention.two_way_rate.count >= 0 && link.contention.duplex_rate.count >= 0 &&
                    link.contention.nic_duplex_rate.count >= 0,
                where + "/contention", "must not be negative");
  if (link.pcie) {
    for (auto& [place, what] : problems(*link.pcie)) found.require(false, where + "/pcie" + place, "{}", what);
    found.require(link.bandwidth.count == 0, where + "/bandwidth", "follows from \"pcie\": give one of them");
    found.require(link.latency.ps >= 0, where + "/latency", "must not be negative, got {}", to_string(link.latency));
  } else {
    found.require(link.bandwidth.count != 0, where, "has no speed: give \"pcie\" or \"bandwidth\"");
    if (link.bandwidth.count != 0) found.check_link(where, link.spec());
  }
}

// PCIe is a tree below each socket: links other than those between sockets and NVLink close no cycle.
void check_tree(const Server& server, const Kinds& kinds, Problems& found) {
  std::unordered_map<std::string, std::string> above;
  const std::function<std::string(const std::string&)> root = [&](const std::string& name) {
    const auto it = above.find(name);
    return it == above.end() ? name : root(it->second);
  };
  for (std::size_t i = 0; i < server.links.size(); ++i) {
    const ServerLink& link = server.links[i];
    const DeviceKind a = kinds.at(link.from), b = kinds.at(link.to);
    if (is_nvlink(a, b) || (a == DeviceKind::socket && b == DeviceKind::socket)) continue;
    const std::string from = root(link.from), to = root(link.to);
    if (from == to)
      found.require(false, fmt::format("/links/{}", i), "closes a cycle: \"{}\" and \"{}\" are joined already, and PCIe is a tree",
                    link.from, link.to);
    else
      above[from] = to;
  }
}

void check_nics_of_gpus(const Server& server, const Kinds& kinds, Problems& found) {
  if (server.nic_of_gpu.empty()) return;
  found.require(server.nic_of_gpu.size() == server.gpus.size(), "/nic_of_gpu", "must name the NIC of each of {} GPUs, got {}",
                server.gpus.size(), server.nic_of_gpu.size());
  for (std::size_t i = 0; i < server.nic_of_gpu.size(); ++i) {
    const auto nic = kinds.find(server.nic_of_gpu[i]);
    found.require(nic != kinds.end() && nic->second == DeviceKind::nic, fmt::format("/nic_of_gpu/{}", i),
                  "must be one of the NICs, got \"{}\"", server.nic_of_gpu[i]);
  }
}

}  // namespace

std::vector<Problem> problems(const Server& server) {
  if (server.is_sub_node() && !server.preset.empty()) return {};
  Problems found;
  const Kinds kinds = check_devices(server, found);
  for (std::size_t i = 0; i < server.links.size(); ++i) check_link(server.links[i], fmt::format("/links/{}", i), kinds, found);
  found.check_link("/memory", server.memory);
  found.require(server.inter_socket_weight > 0 && server.inter_socket_weight <= 1, "/inter_socket_weight",
                "must be more than 0 and at most 1, got {}", server.inter_socket_weight);
  found.require(server.root_complex_payload == 0 || problems(PcieLink{.max_payload = server.root_complex_payload}).empty(),
                "/root_complex_payload", "must be 0 or a power of two from 64 to 4096 bytes, got {}", server.root_complex_payload);
  check_nics_of_gpus(server, kinds, found);
  if (!found.none()) return found.take();
  check_tree(server, kinds, found);
  if (!found.none()) return found.take();
  return ServerPaths(server).gaps();
}

bool is_nic_on_root_port(const Server& server, const ServerLink& link) {
  const auto joins = [&](const std::string& socket, const std::string& nic) {
    return std::ranges::count(server.sockets, socket) > 0 && std::ranges::count(server.nics, nic) > 0;
  };
  return link.pcie && link.pcie->generation == 4 && (joins(link.from, link.to) || joins(link.to, link.from));
}

}  // namespace weft
