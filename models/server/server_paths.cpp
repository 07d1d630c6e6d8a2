#include "models/server/server_paths.hpp"

#include "models/fabric/validation.hpp"
#include "models/server/nvlink_rings.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>

namespace weft {
namespace {

bool passes_on(DeviceKind kind) {
  return kind == DeviceKind::socket || kind == DeviceKind::pcie_switch || kind == DeviceKind::nvswitch || kind == DeviceKind::cache;
}

}  // namespace

void give_no_nic(Server& server) {
  if (server.sockets.empty()) return;  // a problem of its own
  server.nics = {std::string(no_nic)};
  server.links.push_back({.from = server.sockets.front(), .to = server.nics.front(), .bandwidth = server.memory.bandwidth});
}

ServerPaths::ServerPaths(const Server& server) : gpus_(server.gpus.size()), root_complex_payload_(server.root_complex_payload) {
  Ids ids;
  const auto add = [&](const std::string& name, DeviceKind kind) {
    ids.emplace(name, static_cast<int>(devices_.size()));
    devices_.push_back({name, kind});
  };
  for (const std::string& name : server.sockets) add(name, DeviceKind::socket);
  for (const std::string& name : server.sockets) add(name + "/memory", DeviceKind::memory);
  for (const std::string& name : server.pcie_switches) add(name, DeviceKind::pcie_switch);
  for (const std::string& name : server.nvswitches) add(name, DeviceKind::nvswitch);
  for (const std::string& name : server.caches) add(name, DeviceKind::cache);
  const auto is_socket = [&](const std::string& name) { return std::ranges::find(server.sockets, name) != server.sockets.end(); };
  for (const ServerLink& link : server.links)
    if (link.contention != PeerContention{})
      devices_.push_back(
          {link.from + "-" + link.to, is_socket(link.from) && is_socket(link.to) ? DeviceKind::socket : DeviceKind::pcie_switch});
  first_nic_ = static_cast<int>(devices_.size());
  for (const std::string& name : server.nics) add(name, DeviceKind::nic);
  first_gpu_ = static_cast<int>(devices_.size());
  for (const std::string& name : server.gpus) add(name, DeviceKind::endpoint);

  add_links(server, ids);

  std::vector<std::vector<int>> host;  // by GPU: ways over PCIe and sockets
  for (std::size_t gpu = 0; gpu < gpus_; ++gpu) host.push_back(search(first_gpu_ + static_cast<int>(gpu), false));
  choose_nics(server, host);
  choose_peers(server, host);
  for (const auto& ways : host) to_memory_.push_back(nearest(ways, DeviceKind::memory).value_or(Path{}));
  claim_links(server);
}

void ServerPaths::add_links(const Server& server, const Ids& ids) {
  links_out_.resize(devices_.size());
  const auto contended =
      static_cast<int>(std::ranges::count_if(server.links, [](const ServerLink& l) { return l.contention != PeerContention{}; }));
  int middle = first_nic_ - contended;
  for (const ServerLink& link : server.links) {
    const DirectedLink whole{.from = ids.at(link.from), .to = ids.at(link.to), .spec = link.spec(), .pcie = link.pcie};
    if (link.contention == PeerContention{})
      add_cable(whole);
    else
      add_contended(whole, link.contention, middle++);
  }
  const int sockets = static_cast<int>(server.sockets.size());
  for (int socket = 0; socket < sockets; ++socket) add_cable({.from = sockets + socket, .to = socket, .spec = server.memory, .pcie = {}});
}

void ServerPaths::add_cable(const DirectedLink& link) {
  for (const bool back : {false, true}) {
    DirectedLink& added = links_.emplace_back(link);
    if (back) std::swap(added.from, added.to);
    links_out_[static_cast<std::size_t>(added.from)].push_back(static_cast<int>(links_.size()) - 1);
  }
}

void ServerPaths::add_contended(const DirectedLink& whole, const PeerContention& contention, int middle) {
  DirectedLink half = whole;
  half.to = middle;
  add_cable(half);
  DirectedLink lane = whole;
  lane.from = middle;
  lane.spec.latency = {};
  lane.has_lanes = true;
  add_cable(lane);
  DirectedLink peers = lane;
  peers.two_way_rate = contention.two_way_rate;
  peers.duplex_rate = contention.duplex_rate;
  add_cable(peers);
  DirectedLink nics = lane;
  nics.duplex_rate = contention.nic_duplex_rate;
  if (contention.nic_rate.count > 0) nics.spec.bandwidth = std::min(nics.spec.bandwidth, contention.nic_rate);
  add_cable(nics);
}

// Searches find the first cable of those that are lanes of one link.
ServerPaths::Path ServerPaths::in_lane(Path path, Lane lane) const {
  for (int& id : path)
    if (links_[static_cast<std::size_t>(id)].has_lanes) id += 2 * static_cast<int>(lane);
  return path;
}

std::vector<int> ServerPaths::search(int from, bool nvlink) const {
  std::vector<int> last_link(devices_.size(), -1);
  std::queue<int> next;
  for (next.push(from); !next.empty(); next.pop()) {
    const int at = next.front();
    if (at != from && !passes_on(kind(at))) continue;
    for (const int id : links_out_[static_cast<std::size_t>(at)]) {
      const int to = links_[static_cast<std::size_t>(id)].to;
      int& last = last_link[static_cast<std::size_t>(to)];
      if (is_nvlink(kind(at), kind(to)) != nvlink || to == from || last >= 0) continue;
      last = id;
      next.push(to);
    }
  }
  return last_link;
}

std::optional<ServerPaths::Path> ServerPaths::walk(const std::vector<int>& last_link, int to) const {
  Path path;
  for (int link = last_link[static_cast<std::size_t>(to)]; link >= 0;
       link = last_link[static_cast<std::size_t>(links_[static_cast<std::size_t>(link)].from)])
    path.push_back(link);
  std::reverse(path.begin(), path.end());
  return path.empty() ? std::nullopt : std::optional{path};
}

std::optional<ServerPaths::Path> ServerPaths::nearest(const std::vector<int>& last_link, DeviceKind wanted) const {
  std::optional<Path> best;
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (devices_[d].kind == wanted)
      if (auto path = walk(last_link, static_cast<int>(d)); path && (!best || path->size() < best->size())) best = std::move(path);
  return best;
}

void ServerPaths::choose_nics(const Server& server, const std::vector<std::vector<int>>& host) {
  std::vector<int> users(server.nics.size());
  // Of equally near NICs neighbouring GPUs share one, as the channels of NCCL, each of a NIC, take them to.
  const int at_once = std::max(1, server.gpu_count() / std::max(1, server.nic_count()));
  for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
    std::optional<Path> best;
    int chosen = 0;
    for (int nic = 0; nic < static_cast<int>(server.nics.size()); ++nic) {
      if (!server.nic_of_gpu.empty() && server.nic_of_gpu[gpu] != server.nics[static_cast<std::size_t>(nic)]) continue;
      auto path = walk(host[gpu], first_nic_ + nic);
      if (!path) continue;
      const auto rank = [&](const Path& p, int n) { return std::pair{p.size(), users[static_cast<std::size_t>(n)] / at_once}; };
      if (!best || rank(*path, nic) < rank(*best, chosen)) best = std::move(path), chosen = nic;
    }
    if (best) ++users[static_cast<std::size_t>(chosen)];
    nic_of_.push_back(chosen);
    to_nic_.push_back(in_lane(best.value_or(Path{}), Lane::nics));
  }
}

ServerPaths::Path ServerPaths::through_gpu(const std::vector<int>& last_link, int relay, int to) const {
  Path path = walk(last_link, first_gpu_ + relay).value_or(Path{});
  for (const int id : walk(search(first_gpu_ + relay, true), first_gpu_ + to).value_or(Path{})) path.push_back(id);
  return path;
}

// Ways from the sender and from the receiver; empty where one of them has none.
ServerPaths::Path ServerPaths::through_memory(const std::vector<int>& sender, const std::vector<int>& receiver) const {
  const auto in = nearest(sender, DeviceKind::memory);
  if (!in) return {};
  const auto out = walk(receiver, links_[static_cast<std::size_t>(in->back())].to);
  if (!out) return {};
  Path path = in_lane(*in, Lane::peers);
  for (const int id : back(in_lane(*out, Lane::peers))) path.push_back(id);
  return path;
}

void ServerPaths::choose_peers(const Server& server, const std::vector<std::vector<int>>& host) {
  peer_.resize(gpus_ * gpus_);
  const std::vector<int> relays = server.policy == PeerPolicy::nvlink_relay ? nvlink_relays(server) : std::vector<int>{};
  for (std::size_t from = 0; from < gpus_; ++from) {
    const std::vector<int> nvlink = search(first_gpu_ + static_cast<int>(from), true);
    for (std::size_t to = 0; to < gpus_; ++to) {
      if (from == to) continue;
      const int device = first_gpu_ + static_cast<int>(to);
      Path& path = peer_[pair(static_cast<int>(from), static_cast<int>(to))];
      const auto joined = walk(nvlink, device), pcie = walk(host[from], device);
      const int relay = relays.empty() ? -1 : relays[pair(static_cast<int>(from), static_cast<int>(to))];
      if (joined)
        path = *joined;
      else if (relay >= 0)
        path = through_gpu(nvlink, relay, static_cast<int>(to));
      else if (pcie && (stays_in_cache(*pcie) || server.policy == PeerPolicy::pcie_upi || server.policy == PeerPolicy::nvlink_relay ||
                        (server.policy == PeerPolicy::pcie_nic && !crosses_sockets(*pcie))))
        path = in_lane(*pcie, Lane::peers);
      else if (server.policy == PeerPolicy::host)
        path = through_memory(host[from], host[to]);
    }
  }
}

// The nearest GPU and NIC set the measure of a credit's round trip.
void ServerPaths::claim_links(const Server& server) {
  SimTime shortest = SimTime::never();
  for (const Path& path : to_nic_)
    if (!path.empty()) shortest = std::min(shortest, latency(path));
  const auto terms = [&](const Path& path, bool between_devices) {
    FlowTerms out;
    if (path.empty()) return out;
    const SimTime way = latency(path);
    if (shortest.ps > 0 && way.ps > 0) out.weight = static_cast<double>(shortest.ps) / static_cast<double>(way.ps);
    if (crosses_sockets(path)) out.weight *= server.inter_socket_weight;
    if (between_devices) out.rate_cap = least_of(caps(path));
    return out;
  };
  for (std::size_t i = 0; i < peer_.size(); ++i) {
    const bool over_pcie = std::ranges::none_of(peer_[i], [&](int id) {
      const DirectedLink& link = links_[static_cast<std::size_t>(id)];
      return is_nvlink(kind(link.from), kind(link.to));
    });
    peer_terms_.push_back(over_pcie ? terms(peer_[i], true) : FlowTerms{});
  }
  for (const Path& path : to_nic_) nic_terms_.push_back(terms(path, true));
  for (const Path& path : to_memory_) memory_terms_.push_back(terms(path, false));
}

std::vector<FlowCap> ServerPaths::caps(const Path& path) const {
  std::vector<FlowCap> out;
  if (root_complex_payload_ == 0 || !passes_socket(path)) return out;
  for (const int id : path) {
    const auto& pcie = links_[static_cast<std::size_t>(id)].pcie;
    if (!pcie) continue;
    PcieLink cut = *pcie;
    cut.max_payload = std::min(cut.max_payload, root_complex_payload_);
    out.push_back({id, pcie_rate(cut)});
  }
  return out;
}

bool ServerPaths::crosses_sockets(const Path& path) const {
  return std::ranges::any_of(path, [&](int id) {
    const DirectedLink& link = links_[static_cast<std::size_t>(id)];
    return kind(link.from) == DeviceKind::socket && kind(link.to) == DeviceKind::socket;
  });
}

bool ServerPaths::stays_in_cache(const Path& path) const {
  return path.size() == 2 && kind(links_[static_cast<std::size_t>(path.front())].to) == DeviceKind::cache;
}

bool ServerPaths::passes_socket(const Path& path) const {
  return std::ranges::any_of(path, [&](int id) { return kind(links_[static_cast<std::size_t>(id)].to) == DeviceKind::socket; });
}

SimTime ServerPaths::latency(const Path& path) const {
  SimTime sum;
  for (const int id : path) sum += links_[static_cast<std::size_t>(id)].spec.latency;
  return sum;
}

ServerPaths::Path ServerPaths::back(Path path) {
  std::reverse(path.begin(), path.end());
  for (int& id : path) id ^= 1;
  return path;
}

std::vector<Problem> ServerPaths::gaps() const {
  Problems found;
  const auto name = [&](std::size_t gpu) { return devices_[static_cast<std::size_t>(first_gpu_) + gpu].name; };
  for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
    const std::string where = fmt::format("/gpus/{}", gpu);
    found.require(!to_nic_[gpu].empty(), where, "\"{}\" has no way over PCIe to a NIC", name(gpu));
    found.require(!to_memory_[gpu].empty(), where, "\"{}\" has no way over PCIe to a socket", name(gpu));
  }
  return found.take();
}

}  // namespace weft
