// The ways through one server.
#pragma once

#include "kernels/base/error.hpp"
#include "models/server/server.hpp"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft {

inline bool is_nvlink(DeviceKind a, DeviceKind b) {
  return a == DeviceKind::nvswitch || b == DeviceKind::nvswitch || (a == DeviceKind::endpoint && b == DeviceKind::endpoint);
}

// The name of the NIC of a server that has none: its place on the fabric, where nothing can be sent. Only one such server can be.
inline constexpr std::string_view no_nic = "no_nic";
// Puts it there, on the first socket.
void give_no_nic(Server& server);

class ServerPaths {
 public:
  using Path = std::vector<int>;  // directed links, by index

  // `server` has sound names and links.
  explicit ServerPaths(const Server& server);

  // Sockets, their memories, switches, NVSwitches, caches, the middles of contended links, NICs, and then the GPUs.
  const std::vector<Device>& devices() const { return devices_; }
  int first_nic() const { return first_nic_; }
  int first_gpu() const { return first_gpu_; }

  struct DirectedLink {
    int from, to;  // devices
    LinkSpec spec;
    std::optional<PcieLink> pcie;
    BitsPerSecond two_way_rate = {}, duplex_rate = {};  // models/server/server.hpp
    bool has_lanes = false;
  };
  // 2i and 2i + 1 are one cable there and back. A link under contention is a cable that all its traffic shares, as far as a device in
  // its middle, and from there one for each kind of traffic: to host memory, between GPUs, between GPUs and NICs.
  const std::vector<DirectedLink>& links() const { return links_; }

  // GPUs without a way to a NIC or to host memory; everything below needs this to be empty. Two GPUs always have a way then:
  // through their NICs.
  std::vector<Problem> gaps() const;

  // From GPU to GPU inside the server; empty: through their NICs.
  const Path& peer(int from, int to) const { return peer_[pair(from, to)]; }
  FlowTerms peer_terms(int from, int to) const { return peer_terms_[pair(from, to)]; }

  int nic_of(int gpu) const { return nic_of_[static_cast<std::size_t>(gpu)]; }
  const Path& to_nic(int gpu) const { return to_nic_[static_cast<std::size_t>(gpu)]; }
  FlowTerms nic_terms(int gpu) const { return nic_terms_[static_cast<std::size_t>(gpu)]; }

  const Path& to_memory(int gpu) const { return to_memory_[static_cast<std::size_t>(gpu)]; }
  FlowTerms memory_terms(int gpu) const { return memory_terms_[static_cast<std::size_t>(gpu)]; }

  // What its links cap where a way between devices passes a socket (Server::root_complex_payload); LinkId is here an index of links().
  std::vector<FlowCap> caps(const Path& path) const;

  // The same way in the other direction.
  static Path back(Path path);

 private:
  enum class Lane { memory, peers, nics };  // in the order of their cables

  using Ids = std::unordered_map<std::string, int>;  // devices by name
  void add_links(const Server& server, const Ids& ids);
  void add_cable(const DirectedLink& link);
  void add_contended(const DirectedLink& whole, const PeerContention& contention, int middle);
  Path in_lane(Path path, Lane lane) const;
  // The last link of the shortest way to each device, -1 without one; of equal ways that over the first links.
  std::vector<int> search(int from, bool nvlink) const;
  std::optional<Path> walk(const std::vector<int>& last_link, int to) const;
  std::optional<Path> nearest(const std::vector<int>& last_link, DeviceKind kind) const;
  void choose_nics(const Server& server, const std::vector<std::vector<int>>& host);
  Path through_gpu(const std::vector<int>& last_link, int relay, int to) const;
  Path through_memory(const std::vector<int>& sender, const std::vector<int>& receiver) const;
  void choose_peers(const Server& server, const std::vector<std::vector<int>>& host);
  void claim_links(const Server& server);
  bool crosses_sockets(const Path& path) const;
  bool stays_in_cache(const Path& path) const;
  bool passes_socket(const Path& path) const;
  SimTime latency(const Path& path) const;
  std::size_t pair(int from, int to) const { return static_cast<std::size_t>(from) * gpus_ + static_cast<std::size_t>(to); }
  DeviceKind kind(int device) const { return devices_[static_cast<std::size_t>(device)].kind; }

  std::vector<Device> devices_;
  std::vector<DirectedLink> links_;
  std::vector<std::vector<int>> links_out_;  // by device
  int first_nic_ = 0, first_gpu_ = 0;
  std::size_t gpus_ = 0;
  std::vector<Path> peer_;
  std::vector<int> nic_of_;
  std::vector<Path> to_nic_, to_memory_;
  std::vector<FlowTerms> peer_terms_, nic_terms_, memory_terms_;
  int root_complex_payload_ = 0;
};

}  // namespace weft
