// Servers from public data. PCIe rates follow from generation and width (pcie.cpp); every other number names its source.
#include "kernels/base/error.hpp"
#include "models/server/latencies.hpp"
#include "models/server/server.hpp"
#include "models/server/server_paths.hpp"

#include <array>

namespace weft {
namespace {

constexpr PcieLink gen3{.generation = 3}, gen4{.generation = 4}, gen5{.generation = 5};

constexpr BitsPerSecond rate_of_nvlink_5{721'800'000'000 * 8};

ServerLink pcie(std::string from, std::string to, PcieLink link, SimTime latency) {
  return {.from = std::move(from), .to = std::move(to), .pcie = link, .bandwidth = {}, .latency = latency};
}

ServerLink wire(std::string from, std::string to, BitsPerSecond bandwidth, SimTime latency) {
  return {.from = std::move(from), .to = std::move(to), .pcie = {}, .bandwidth = bandwidth, .latency = latency};
}

std::string numbered(const char* what, int i) { return fmt::format("{}{}", what, i); }

// Two sockets, a PCIe switch on each root port, GPUs dealt to the switches in equal numbers, no NICs yet.
Server dual_socket(std::string name, int switches, int gpus, PcieLink generation, BitsPerSecond inter_socket) {
  Server s{.preset = std::move(name), .sockets = {"socket0", "socket1"}};
  s.links.push_back(wire("socket0", "socket1", inter_socket, between_sockets));
  for (int i = 0; i < switches; ++i) {
    s.pcie_switches.push_back(numbered("switch", i));
    s.links.push_back(pcie(numbered("socket", i * 2 / switches), s.pcie_switches.back(), generation, through_root));
  }
  for (int i = 0; i < gpus; ++i) {
    s.gpus.push_back(numbered("gpu", i));
    s.links.push_back(pcie(numbered("switch", i * switches / gpus), s.gpus.back(), generation, through_switch));
  }
  return s;
}

void add_nics(Server& s, int nics, PcieLink generation) {
  const int switches = static_cast<int>(s.pcie_switches.size());
  for (int i = 0; i < nics; ++i) {
    s.nics.push_back(numbered("nic", i));
    s.links.push_back(pcie(numbered("switch", i * switches / nics), s.nics.back(), generation, through_switch));
  }
}

void add_nvswitch(Server& s, BitsPerSecond of_each_gpu) {
  s.nvswitches = {"nvswitch"};
  for (const std::string& gpu : s.gpus) s.links.push_back(wire(gpu, "nvswitch", of_each_gpu, to_nvswitch));
}

// The server of EFLOPS: two Skylake sockets, a PEX 9797 on an x16 root port of each, two V100 PCIe below each switch.
Server eflops(std::string name, int nics) {
  Server s = dual_socket(std::move(name), 2, 4, gen3, 10_GBps);
  add_nics(s, nics, gen3);
  s.memory = {128_GBps, 90_ns};
  s.inter_socket_weight = 0.5;
  s.root_complex_payload = 64;
  s.links.front().contention = {.nic_rate = 30'160_Mbps, .two_way_rate = 18'400_Mbps};
  s.sources = {
      {"devices", "Dong et al., EFLOPS, HPCA 2020: dual socket, PEX 9797 with x16 upstream, V100 PCIe, ConnectX-5 100 Gb/s"},
      {"inter_socket", "NVIDIA NCCL, src/graph/topo.h: 10 GB/s between Skylake sockets"},
      {"memory", "Intel Xeon Scalable (Skylake): six channels of DDR4-2666, 128 GB/s"},
      {"inter_socket_weight", "assumed: EFLOPS says that peer-to-peer traffic between sockets has low priority, without a number"},
      {"root_complex_payload", "NVIDIA NCCL, src/graph/topo.h: Intel CPUs cut peer-to-peer traffic into packets of 64 bytes"},
      {"contention",
       "fitted to two published ratios of EFLOPS, 2.31x (nic_rate) and 7.6x (two_way_rate): validation/references/eflops_servers.json"}};
  return s;
}

Server single_nic() { return eflops("single_nic", 1); }

Server two_nic() {
  Server s = eflops("two_nic", 2);
  s.policy = PeerPolicy::pcie_nic;
  return s;
}

Server congestionless() {
  Server s = eflops("congestionless", 4);
  s.policy = PeerPolicy::nic;
  return s;
}

// Eight V100 in the hybrid cube mesh of DGX-1. GPUs stand in the order of a ring in which each two neighbours are joined by two NVLinks.
Server v100_nvlink() {
  Server s = dual_socket("v100_nvlink", 4, 8, gen3, 10_GBps);
  add_nics(s, 1, gen3);
  constexpr BitsPerSecond nvlink = 25_GBps;
  constexpr std::array<std::array<int, 3>, 16> mesh{{{0, 1, 1},
                                                     {0, 2, 1},
                                                     {0, 3, 2},
                                                     {0, 4, 2},
                                                     {1, 2, 2},
                                                     {1, 3, 1},
                                                     {1, 5, 2},
                                                     {2, 3, 2},
                                                     {2, 6, 1},
                                                     {3, 7, 1},
                                                     {4, 5, 1},
                                                     {4, 6, 1},
                                                     {4, 7, 2},
                                                     {5, 6, 2},
                                                     {5, 7, 1},
                                                     {6, 7, 2}}};
  for (const auto& [a, b, links] : mesh) s.links.push_back(wire(numbered("gpu", a), numbered("gpu", b), links * nvlink, between_nvlinks));
  s.gpus.clear();
  for (const int gpu : {0, 3, 2, 1, 5, 6, 7, 4}) s.gpus.push_back(numbered("gpu", gpu));
  s.policy = PeerPolicy::nvlink_relay;
  s.memory = {128_GBps, 90_ns};
  s.root_complex_payload = 64;
  s.sources = {
      {"devices",
       "NVIDIA DGX-1 with Tesla V100 system architecture: two Xeons, a PCIe 3 switch for each two GPUs, hybrid cube mesh of NVLinks"},
      {"nvlink",
       "NVIDIA Tesla V100 architecture whitepaper: 25 GB/s in each direction of an NVLink 2 (rings of NCCL get 22.5 of them: "
       "vtrain_nvlink_allreduce)"},
      {"policy", "NVIDIA NCCL, src/graph/paths.cc: PATH_NVB, through a GPU that NVLinks join to both"},
      {"inter_socket", "NVIDIA NCCL, src/graph/topo.h: 10 GB/s between Skylake sockets"},
      {"memory", "Intel Xeon Scalable (Skylake): six channels of DDR4-2666, 128 GB/s"},
      {"root_complex_payload", "NVIDIA NCCL, src/graph/topo.h: Intel CPUs cut peer-to-peer traffic into packets of 64 bytes"}};
  return s;
}

Server dgx_a100() {
  Server s = dual_socket("dgx_a100", 4, 8, gen4, 16_GBps);
  add_nics(s, 8, gen4);
  add_nvswitch(s, 240_GBps);
  s.processor = HostProcessor::amd;
  s.memory = {BitsPerSecond{204'800'000'000 * 8}, 90_ns};
  s.sources = {{"devices", "NVIDIA DGX A100 user guide: 2 EPYC 7742, 8 A100, 4 PCIe 4 switches with 2 GPUs and 2 of 8 ConnectX-6 each"},
               {"nvswitch", "NVIDIA NCCL, src/graph/topo.h: 20 GB/s of the 25 GB/s of an NVLink 3, 12 links a GPU"},
               {"inter_socket", "NVIDIA NCCL, src/graph/topo.h: 16 GB/s between AMD sockets"},
               {"memory", "AMD EPYC 7742: eight channels of DDR4-3200, 204.8 GB/s"}};
  return s;
}

Server dgx_h100() {
  Server s = dual_socket("dgx_h100", 8, 8, gen5, 22_GBps);
  add_nics(s, 8, gen5);
  add_nvswitch(s, BitsPerSecond{370'800'000'000 * 8});
  s.memory = {BitsPerSecond{307'200'000'000 * 8}, 90_ns};
  s.root_complex_payload = 64;
  s.sources = {{"devices",
                "NVIDIA DGX H100 user guide: 2 Xeon 8480C, 8 H100, 8 ConnectX-7; a PCIe 5 switch for each GPU and NIC: "
                "topology file in aliyun/SimAI#128"},
               {"nvswitch", "NVIDIA NCCL, src/graph/topo.h: 20.6 GB/s of the 25 GB/s of an NVLink 4, 18 links a GPU"},
               {"inter_socket", "NVIDIA NCCL, src/graph/topo.h: 22 GB/s between Sapphire Rapids sockets"},
               {"memory", "Intel Xeon 8480C: eight channels of DDR5-4800, 307.2 GB/s"},
               {"root_complex_payload", "NVIDIA NCCL, src/graph/topo.h: Intel CPUs cut peer-to-peer traffic into packets of 64 bytes"}};
  return s;
}

Server dgx_b200() {
  Server s = dual_socket("dgx_b200", 8, 8, gen5, 40_GBps);
  add_nics(s, 8, gen5);
  add_nvswitch(s, rate_of_nvlink_5);
  s.memory = {BitsPerSecond{358'400'000'000 * 8}, 90_ns};
  s.root_complex_payload = 64;
  s.sources = {
      {"devices",
       "NVIDIA DGX B200 user guide: 2 Xeon 8570, 8 B200, 8 ConnectX-7 for them; a PCIe 5 switch for each GPU and NIC, as in DGX H100"},
      {"nvswitch", "NVIDIA NCCL, src/graph/topo.h: 40.1 GB/s of the 50 GB/s of an NVLink 5, 18 links a GPU"},
      {"inter_socket", "NVIDIA NCCL, src/graph/topo.h: 40 GB/s between Emerald Rapids sockets"},
      {"memory", "Intel Xeon 8570: eight channels of DDR5-5600, 358.4 GB/s"},
      {"root_complex_payload", "NVIDIA NCCL, src/graph/topo.h: Intel CPUs cut peer-to-peer traffic into packets of 64 bytes"}};
  return s;
}

// One domain of NVLinks is one server here, as it is one node to NCCL (MNNVL): 18 trays of two Grace processors with two GPUs and two NICs
// each. Processors of different trays reach each other by the network only.
Server gb200_nvl72() {
  constexpr int gpus = 72, of_processor = 2;
  Server s{.preset = "gb200_nvl72", .processor = HostProcessor::arm};
  for (int i = 0; i < gpus; ++i) {
    if (i % of_processor == 0) s.sockets.push_back(numbered("grace", i / of_processor));
    s.gpus.push_back(numbered("gpu", i));
    s.nics.push_back(numbered("nic", i));
    s.nic_of_gpu.push_back(s.nics.back());
    s.links.push_back(wire(s.sockets.back(), s.gpus.back(), 225_GBps, {}));
    s.links.push_back(pcie(s.sockets.back(), s.nics.back(), gen5, through_root));
  }
  for (std::size_t i = 1; i < s.sockets.size(); i += 2) s.links.push_back(wire(s.sockets[i - 1], s.sockets[i], 6_GBps, between_sockets));
  add_nvswitch(s, rate_of_nvlink_5);
  s.memory = {BitsPerSecond{512'000'000'000 * 8}, 90_ns};
  s.sources = {
      {"devices",
       "NVIDIA DGX SuperPOD reference architecture, GB200: 18 compute trays of 4 B200, 2 Grace and 4 ConnectX-7 of 400 Gb/s; 9 NVLink "
       "switch trays join 72 GPUs"},
      {"nvswitch", "NVIDIA NCCL, src/graph/topo.h: 40.1 GB/s of the 50 GB/s of an NVLink 5, 18 links a GPU"},
      {"c2c", "NVIDIA GB200 Grace Blackwell superchip: 900 GB/s of NVLink-C2C, both ways together, between a Grace and its two GPUs"},
      {"inter_socket", "NVIDIA NCCL, src/graph/topo.h: 6 GB/s between Arm processors"},
      {"memory", "NVIDIA Grace CPU: LPDDR5X, up to 512 GB/s"}};
  return s;
}

Server hgx_a100_4() {
  Server s{.preset = "hgx_a100_4", .sockets = {"socket0"}, .processor = HostProcessor::amd};
  for (int i = 0; i < 4; ++i) {
    s.gpus.push_back(numbered("gpu", i));
    s.nics.push_back(numbered("nic", i));
    s.nic_of_gpu.push_back(s.nics.back());
    s.links.push_back(pcie("socket0", s.gpus.back(), gen4, through_root));
    s.links.push_back(pcie("socket0", s.nics.back(), gen4, through_root));
    s.links.back().contention.nic_duplex_rate = nic_duplex_rate_of_root_port;
    for (int other = 0; other < i; ++other) s.links.push_back(wire(numbered("gpu", other), s.gpus.back(), 80_GBps, between_nvlinks));
  }
  s.memory = {BitsPerSecond{204'800'000'000 * 8}, 90_ns};
  s.sources = {{"devices",
                "NVIDIA HGX A100 4-GPU, as in the nodes of Perlmutter (NERSC): one EPYC 7763 whose PCIe 4 ports lead to 4 A100 and 4 NICs"},
               {"nvlink", "NVIDIA NCCL, src/graph/topo.h: 20 GB/s of the 25 GB/s of an NVLink 3, 4 links between each two GPUs"},
               {"memory", "AMD EPYC 7763: eight channels of DDR4-3200, 204.8 GB/s"},
               {"contention",
                "fitted to the 18.0 to 18.6 GB/s each way that NCCL's rings reach on each NIC of 25 GB/s of Perlmutter, Polaris and Sirius "
                "(models/server/pcie.hpp)"}};
  return s;
}

constexpr int usual_ranks = 8;

struct Preset {
  std::string_view name, description;
  Server (*make)();
};

constexpr Preset presets[] = {
    {"sub_node", "One GPU with its own NIC: what a node of the fabric is by itself.", [] { return Server{}; }},
    {"single_nic", "EFLOPS: 4 GPUs below two PCIe 3 switches on two sockets, all behind one NIC.", single_nic},
    {"two_nic", "The same with a NIC below each PCIe switch.", two_nic},
    {"congestionless", "The same with a NIC for each GPU; messages between its GPUs go out through the NICs.", congestionless},
    {"v100_nvlink", "8 V100 in a cube mesh of NVLinks, as in DGX-1, with one NIC.", v100_nvlink},
    {"dgx_a100", "8 A100 on NVSwitch, 8 NICs in pairs below PCIe 4 switches.", dgx_a100},
    {"hgx_a100_4", "4 A100, each two of them joined by NVLinks, and 4 NICs on the PCIe 4 ports of one socket.", hgx_a100_4},
    {"dgx_h100", "8 H100 on NVSwitch, each below a PCIe 5 switch with its NIC.", dgx_h100},
    {"dgx_b200", "8 B200 on NVSwitch, each below a PCIe 5 switch with its NIC.", dgx_b200},
    {"gb200_nvl72", "72 B200 of a rack in one NVLink domain, two and their NICs to each of 36 Grace.", gb200_nvl72},
    {name_of_cpu_host,
     "A host of MPI ranks: the cores of two sockets (64, or as many as \"cores\" says), one NIC on PCIe 4, or as many as \"nics\" says.",
     [] { return cpu_host({}); }},
    {name_of_shared_gpu, "One GPU that several ranks share (8, or as many as \"ranks\" says): a message is a copy in its memory.",
     [] { return shared_gpu(usual_ranks); }},
};

const Preset& preset(std::string_view name) {
  for (const Preset& p : presets)
    if (p.name == name) return p;
  check(false, "no server preset {}", name);
  return presets[0];
}

}  // namespace

const std::vector<std::string>& server_presets() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Preset& p : presets) all.emplace_back(p.name);
    return all;
  }();
  return names;
}

Server server_preset(std::string_view name) { return preset(name).make(); }

Server cpu_host(const CpuHost& host) {
  Server s{.preset = std::string(name_of_cpu_host),
           .cores = host.cores,
           .cores_per_l3 = host.cores_per_l3,
           .sockets = {"socket0", "socket1"},
           .policy = PeerPolicy::host};
  s.links.push_back(wire("socket0", "socket1", 537'600_Mbps, across_cpus));
  for (int i = 0; i < host.nics; ++i) {
    s.nics.push_back(numbered("nic", i));
    s.links.push_back(pcie(numbered("socket", i * 2 / host.nics), s.nics.back(), gen4, {}));
  }
  for (int i = 0; i < host.cores; ++i) {
    s.gpus.push_back(numbered("core", i));
    const int socket = i * 2 / host.cores, of_socket = i - socket * ((host.cores + 1) / 2);
    const bool shares_l3 = host.cores_per_l3 > 0;
    if (shares_l3 && of_socket % host.cores_per_l3 == 0) {
      s.caches.push_back(fmt::format("l3_{}", s.caches.size()));
      s.links.push_back(wire(numbered("socket", socket), s.caches.back(), 64_GBps, between_caches));
    }
    s.links.push_back(wire(shares_l3 ? s.caches.back() : numbered("socket", socket), s.gpus.back(), 64_GBps, from_core));
  }
  s.memory = {BitsPerSecond{204'800'000'000 * 8}, {}};
  s.sources = {
      {"devices", host.nics == 1 ? "two sockets of cores with one NIC on PCIe 4, as many hosts of MPI ranks have"
                                 : fmt::format("two sockets of cores with {} NICs on PCIe 4, as many as the scenario says", host.nics)},
      {"inter_socket", "Intel Xeon Platinum 8380: three UPI links of 11.2 GT/s, 22.4 GB/s each way"},
      {"cores",
       "assumed: 32 bytes a clock between a core and its cache, at 2 GHz; what a message costs a core is the hardware profile's to say"},
      {"latency",
       "assumed: 50 ns from core to core of a socket, 80 ns more from one L3 to another where a socket has several, and 80 ns more across "
       "sockets; the way to the NIC is a part of what a profile's messages cost, which are measured between hosts"},
      {"memory", "Intel Xeon Platinum 8380: eight channels of DDR4-3200, 204.8 GB/s"}};
  return s;
}

CpuHost as_cpu_host(const Server& host) { return {.cores = host.cores, .nics = host.nic_count(), .cores_per_l3 = host.cores_per_l3}; }

Server shared_gpu(int ranks) {
  Server s{.preset = std::string(name_of_shared_gpu), .ranks = ranks, .sockets = {"memory"}, .nics = {std::string(no_nic)}};
  constexpr BitsPerSecond more_than_any_memory{100'000'000'000'000'000};
  s.links.push_back(wire("memory", s.nics.front(), s.memory.bandwidth, {}));
  for (int i = 0; i < ranks; ++i) {
    s.gpus.push_back(numbered("rank", i));
    s.links.push_back(wire("memory", s.gpus.back(), more_than_any_memory, {}));
  }
  s.sources = {
      {"devices", "the memory of one GPU, and the ranks that work in it"},
      {"ranks", "links that no memory fills: what a copy costs, and what the ranks have between them, is the hardware profile's to say"}};
  return s;
}

std::string_view description_of(std::string_view name) { return preset(name).description; }

std::string_view name_of_endpoint(const Server& s) { return s.cores > 0 ? "core" : s.ranks > 0 ? "rank" : "GPU"; }

std::string short_name(const Server& s) {
  return !s.preset.empty() ? s.preset : fmt::format("described ({} GPUs, {} NICs)", s.gpu_count(), s.nic_count());
}

}  // namespace weft
