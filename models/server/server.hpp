// A server: its devices, the links between them, and how messages go through it.
//
// Sockets, PCIe switches and NVSwitches pass messages on; GPUs, NICs and host memory do not, unless the policy says so. A message
// between two GPUs of a server takes NVLink where it joins them, and else goes by the policy. A message to another server goes through the
// sender's NIC, the fabric and the receiver's NIC.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"
#include "models/server/pcie.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// How a message goes from GPU to GPU of one server, where no NVLink joins them.
enum class PeerPolicy {
  pcie_upi,      // over PCIe and the links between sockets
  pcie_nic,      // over PCIe, but through the NICs where the way crosses from socket to socket
  nic,           // out through the sender's NIC and back through the receiver's ("top of server")
  host,          // over PCIe into the host memory beside the sender, and out of it again: GPUs without peer access (NCCL's SHM)
  nvlink_relay,  // through a GPU that NVLinks join to both (NCCL's NVB), and else over PCIe and the links between sockets
};

// Which ports of the fabric the NICs of a server take.
enum class Wiring {
  one_switch,  // neighbouring ports, those of one switch
  rails,       // NIC i of as many servers as a switch has ports on switch i: each NIC of a server on a switch of its own
};

// What traffic between devices gets of a link under load. Copies to and from host memory keep the whole of it.
struct PeerContention {
  BitsPerSecond nic_rate{0};         // of each direction: all flows between GPUs and NICs together; 0: the link's
  BitsPerSecond two_way_rate{0};     // while n flows between GPUs cross, not all in one direction, each direction has two_way_rate / n
                                     // of the link for them; 0: they lose nothing
  BitsPerSecond duplex_rate{0};      // of each direction, while flows between GPUs cross it both ways; 0: the link's
  BitsPerSecond nic_duplex_rate{0};  // the same of flows between GPUs and NICs
  friend bool operator==(const PeerContention&, const PeerContention&) = default;
};

// Whose processors a server has, which NCCL asks when it chooses.
enum class HostProcessor { intel, amd, arm };

// Both directions of a link inside a server. `pcie` gives the rate, or `bandwidth` does.
struct ServerLink {
  std::string from;
  std::string to;
  std::optional<PcieLink> pcie = {};
  BitsPerSecond bandwidth = {};
  SimTime latency = {};
  PeerContention contention = {};
  LinkSpec spec() const { return {pcie ? pcie_rate(*pcie) : bandwidth, latency}; }
  friend bool operator==(const ServerLink&, const ServerLink&) = default;
};

struct Server {
  std::string preset = "sub_node";  // empty: described
  int cores = 0;                    // of the preset cpu_host, each an endpoint; 0: of another, which has none
  int cores_per_l3 = 0;             // of those, so many share each last level of cache; 0: all of a socket
  int ranks = 0;                    // of the preset shared_gpu, each an endpoint; 0: of another, whose GPUs have one each
  std::vector<std::string> sockets = {};
  std::vector<std::string> pcie_switches = {};
  std::vector<std::string> nvswitches = {};
  std::vector<std::string> caches = {};  // of cores_per_l3 cores
  std::vector<std::string> gpus = {};    // in the order of endpoints
  std::vector<std::string> nics = {};    // in the order of ports
  std::vector<ServerLink> links = {};
  LinkSpec memory = {BitsPerSecond{1'024'000'000'000}, SimTime{90'000}};  // host memory of each socket: 128 GB/s
  PeerPolicy policy = PeerPolicy::pcie_upi;
  std::vector<std::string> nic_of_gpu = {};  // by GPU; empty: the nearest, of several those with fewest GPUs, neighbours together
  Wiring wiring = Wiring::one_switch;
  HostProcessor processor = HostProcessor::intel;
  // Congested flows share PCIe in inverse proportion to the round-trip time of their credits. A flow that crosses from
  // socket to socket has this factor besides: below 1 it has low priority.
  double inter_socket_weight = 1;
  // Bytes of data in each packet of a flow between devices that passes through a socket; 0: as the links have.
  int root_complex_payload = 0;
  std::map<std::string, std::string> sources = {};  // what -> where it is published

  // One GPU with its own NIC is what an endpoint of a fabric is by itself. A description without GPUs has a problem.
  bool is_sub_node() const { return gpus.empty(); }
  int gpu_count() const { return is_sub_node() ? 1 : static_cast<int>(gpus.size()); }
  int nic_count() const { return is_sub_node() ? 1 : static_cast<int>(nics.size()); }
  friend bool operator==(const Server&, const Server&) = default;
};

// A NIC on a PCIe 4 port of a socket, for whose traffic with GPUs nic_duplex_rate_of_root_port is usual.
bool is_nic_on_root_port(const Server&, const ServerLink&);

inline constexpr int max_gpus_per_server = 1024;
inline constexpr int max_devices_per_server = 2048;
inline constexpr std::size_t max_sockets_per_server = 64;  // NUMA nodes; each two are connected

// What keeps a server from being built, every problem at its place ("/links/3/from").
std::vector<Problem> problems(const Server&);

// Servers known by name, sub_node first.
const std::vector<std::string>& server_presets();
Server server_preset(std::string_view name);  // one of them
inline constexpr std::string_view name_of_cpu_host = "cpu_host";
inline constexpr int max_nics_of_cpu_host = 8;
struct CpuHost {
  int cores = 64;
  int nics = 1;
  int cores_per_l3 = 0;
};
Server cpu_host(const CpuHost&);          // that preset with so many
CpuHost as_cpu_host(const Server& host);  // what that preset was made of
inline constexpr std::string_view name_of_shared_gpu = "shared_gpu";
Server shared_gpu(int ranks);  // likewise
std::string_view description_of(std::string_view preset);
std::string_view name_of_endpoint(const Server&);  // "core", "rank" or "GPU"
std::string short_name(const Server&);             // its preset, or "described (4 GPUs, 2 NICs)"

}  // namespace weft
