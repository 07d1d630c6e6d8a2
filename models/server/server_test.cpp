#include "models/server/server.hpp"

#include "models/server/server_paths.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::string drawn(const ServerPaths& paths, const ServerPaths::Path& path) {
  std::string names;
  for (const int id : path) {
    const auto& link = paths.links()[static_cast<std::size_t>(id)];
    if (names.empty()) names = paths.devices()[static_cast<std::size_t>(link.from)].name;
    names += " " + paths.devices()[static_cast<std::size_t>(link.to)].name;
  }
  return names;
}

std::string line(const std::vector<Problem>& problems) {
  std::string text;
  for (const auto& [where, what] : problems) text += where + ": " + what + "\n";
  return text;
}

Server preset_with_policy(const char* preset, PeerPolicy policy) {
  Server s = server_preset(preset);
  s.policy = policy;
  return s;
}

}  // namespace

TEST_CASE("server: every preset can be built, and each of its numbers has a source") {
  CHECK(server_presets().front() == "sub_node");
  for (const std::string& name : server_presets()) {
    CAPTURE(name);
    const Server s = server_preset(name);
    CHECK(line(problems(s)) == "");
    CHECK(s.preset == name);
    CHECK(!description_of(name).empty());
    if (!s.is_sub_node()) CHECK(s.sources.contains("devices"));
    for (const ServerLink& link : s.links)
      if (link.contention != PeerContention{}) CHECK(s.sources.contains("contention"));
    if (s.inter_socket_weight != 1) CHECK(s.sources.contains("inter_socket_weight"));
  }
}

TEST_CASE("server: the policy decides how a message goes from GPU to GPU") {
  const ServerPaths upi(preset_with_policy("two_nic", PeerPolicy::pcie_upi));
  CHECK(drawn(upi, upi.peer(0, 1)) == "gpu0 switch0 gpu1");
  CHECK(drawn(upi, upi.peer(0, 2)) == "gpu0 switch0 socket0 socket0-socket1 socket1 switch1 gpu2");
  const ServerPaths mixed(preset_with_policy("two_nic", PeerPolicy::pcie_nic));
  CHECK(drawn(mixed, mixed.peer(0, 1)) == "gpu0 switch0 gpu1");
  CHECK(drawn(mixed, mixed.peer(0, 2)) == "");  // through the NICs
  const ServerPaths nic(preset_with_policy("two_nic", PeerPolicy::nic));
  CHECK(drawn(nic, nic.peer(0, 1)) == "");
  CHECK(drawn(nic, nic.to_nic(3)) == "gpu3 switch1 nic1");
  CHECK(drawn(nic, nic.to_memory(3)) == "gpu3 switch1 socket1 socket1/memory");
  CHECK(drawn(nic, ServerPaths::back(nic.to_memory(3))) == "socket1/memory socket1 switch1 gpu3");
  const ServerPaths host(preset_with_policy("two_nic", PeerPolicy::host));
  CHECK(drawn(host, host.peer(0, 1)) == "gpu0 switch0 socket0 socket0/memory socket0 switch0 gpu1");
  CHECK(drawn(host, host.peer(0, 2)) == "gpu0 switch0 socket0 socket0/memory socket0 socket0-socket1 socket1 switch1 gpu2");
  // NVLink comes before every policy.
  const ServerPaths dgx(preset_with_policy("dgx_a100", PeerPolicy::nic));
  CHECK(drawn(dgx, dgx.peer(0, 7)) == "gpu0 nvswitch gpu7");
  CHECK(dgx.peer_terms(0, 7) == FlowTerms{});
}

TEST_CASE("server: with nvlink_relay a message goes through a GPU that NVLinks join to both, else over PCIe") {
  Server s = server_preset("v100_nvlink");
  const auto gpu = [&](const char* name) { return static_cast<int>(std::ranges::find(s.gpus, name) - s.gpus.begin()); };
  const ServerPaths relay(s);
  CHECK(drawn(relay, relay.peer(gpu("gpu3"), gpu("gpu4"))) == "gpu3 gpu0 gpu4");
  CHECK(drawn(relay, relay.peer(gpu("gpu0"), gpu("gpu3"))) == "gpu0 gpu3");
  CHECK(relay.peer_terms(gpu("gpu3"), gpu("gpu4")) == FlowTerms{});
  s.policy = PeerPolicy::pcie_upi;
  const ServerPaths upi(s);
  CHECK(drawn(upi, upi.peer(gpu("gpu3"), gpu("gpu4"))) == "gpu3 switch1 socket0 socket1 switch2 gpu4");
  const ServerPaths no_nvlink(preset_with_policy("two_nic", PeerPolicy::nvlink_relay));
  CHECK(drawn(no_nvlink, no_nvlink.peer(0, 1)) == "gpu0 switch0 gpu1");
}

TEST_CASE("server: a link under contention is one cable to its middle and a cable for each kind of traffic from there") {
  Server s = preset_with_policy("single_nic", PeerPolicy::pcie_upi);
  s.links.front().contention = {.nic_rate = 30_Gbps, .two_way_rate = 20_Gbps};
  const ServerPaths paths(s);
  const auto crossing = [&](const ServerPaths::Path& path) { return paths.links()[static_cast<std::size_t>(path[3])]; };
  CHECK(drawn(paths, paths.to_nic(2)) == "gpu2 switch1 socket1 socket0-socket1 socket0 switch0 nic0");
  // From socket0 the middle comes before the lane, from socket1 after it.
  const ServerPaths::DirectedLink peers = crossing(paths.peer(0, 2));
  CHECK(peers.two_way_rate == 20_Gbps);
  CHECK(peers.spec.bandwidth == 10_GBps);
  const auto nics = crossing(ServerPaths::back(paths.to_nic(2)));
  CHECK(nics.two_way_rate.count == 0);
  CHECK(nics.spec.bandwidth == 30_Gbps);
  SimTime there;
  for (const int id : paths.peer(0, 2)) there += paths.links()[static_cast<std::size_t>(id)].spec.latency;
  CHECK(there == 1200_ns);  // as without: 150 + 200 + 500 + 200 + 150
  s = server_preset("dgx_a100");
  s.links.back().contention = {.nic_rate = {}, .two_way_rate = 20_Gbps};
  CHECK(line(problems(s)) ==
        "/links/" + std::to_string(s.links.size() - 1) + "/contention: is for PCIe and for links between sockets, got it on NVLink\n");
}

TEST_CASE("server: GPUs use the nearest NIC and share several equally near ones out, unless told otherwise") {
  const auto nics = [](const Server& s) {
    const ServerPaths paths(s);
    std::vector<int> out;
    for (int gpu = 0; gpu < s.gpu_count(); ++gpu) out.push_back(paths.nic_of(gpu));
    return out;
  };
  CHECK(nics(server_preset("single_nic")) == std::vector{0, 0, 0, 0});
  CHECK(nics(server_preset("two_nic")) == std::vector{0, 0, 1, 1});
  CHECK(nics(server_preset("congestionless")) == std::vector{0, 1, 2, 3});
  Server tied{.preset = "", .sockets = {"s"}, .gpus = {"g0", "g1", "g2", "g3"}, .nics = {"n0", "n1"}};
  for (const char* device : {"g0", "g1", "g2", "g3", "n0", "n1"})
    tied.links.push_back({"s", device, PcieLink{.generation = 4}, {}, 150_ns});
  CHECK(nics(tied) == std::vector{0, 0, 1, 1});  // neighbours together, as NCCL's channels take them to their NICs
  Server told = server_preset("congestionless");
  told.nic_of_gpu = {"nic0", "nic0", "nic3", "nic3"};
  CHECK(nics(told) == std::vector{0, 0, 3, 3});
}

TEST_CASE("server: terms follow the way: credits by round trip, sockets by their weight, cut packets by their rate") {
  const Server s = server_preset("single_nic");
  const ServerPaths paths(s);
  // gpu0 - switch0 - nic0: 2 x 150 ns, the shortest way. gpu2 to nic0: 150 + 200 + 500 + 200 + 150 = 1200 ns, between sockets.
  CHECK(paths.nic_terms(0) == FlowTerms{});
  CHECK(paths.nic_terms(2).weight == doctest::Approx(300.0 / 1200 * 0.5));
  CHECK(paths.nic_terms(2).rate_cap == pcie_rate({.generation = 3, .width = 16, .max_payload = 64}));
  CHECK(paths.peer_terms(0, 1) == FlowTerms{});
  CHECK(paths.peer_terms(0, 2) == paths.nic_terms(2));
  // Host memory: 150 + 200 + 90 ns; nothing is cut.
  CHECK(paths.memory_terms(0).weight == doctest::Approx(300.0 / 440));
  CHECK(paths.memory_terms(0).rate_cap.count == 0);
}

TEST_CASE("server: what cannot be built is refused, everything at once") {
  Server s{.preset = ""};
  s.sockets = {"s"};
  s.gpus = {"g0", "g0"};
  s.nics = {"n"};
  s.links = {{"g0", "x", PcieLink{.generation = 9}, {}, {}}, {"g0", "g0", {}, {}, {}}};
  CHECK(line(problems(s)) ==
        "/gpus/1: names \"g0\" a second time\n"
        "/links/0/to: must be a device of the server, got \"x\"\n"
        "/links/0/pcie/generation: must be between 1 and 6, got 9\n"
        "/links/1: must join two devices, got \"g0\" twice\n"
        "/links/1: has no speed: give \"pcie\" or \"bandwidth\"\n");
  s = server_preset("two_nic");
  s.inter_socket_weight = 0;
  s.root_complex_payload = 65;
  s.nic_of_gpu = {"nic0", "gpu0"};
  CHECK(line(problems(s)) ==
        "/inter_socket_weight: must be more than 0 and at most 1, got 0\n"
        "/root_complex_payload: must be 0 or a power of two from 64 to 4096 bytes, got 65\n"
        "/nic_of_gpu: must name the NIC of each of 4 GPUs, got 2\n"
        "/nic_of_gpu/1: must be one of the NICs, got \"gpu0\"\n");
}

TEST_CASE("server: one rank on each of the 384 cores of two processors is a server") {
  Server s;
  s.sockets = {"socket0", "socket1"}, s.nics = {"nic0"};
  s.links.push_back({"nic0", "socket0", PcieLink{}, {}, {}});
  for (int i = 0; i < 384; ++i) {
    s.gpus.push_back("gpu" + std::to_string(i));
    s.links.push_back({s.gpus.back(), s.sockets[static_cast<std::size_t>(i % 2)], PcieLink{}, {}, {}});
  }
  s.links.push_back({"socket0", "socket1", {}, 400_Gbps, {}});
  CHECK(line(problems(s)) == "");
}

TEST_CASE("server: the NICs of a host of cores are spread over its sockets, and a core sends over one of its socket") {
  const auto nics_of_cores = [](const CpuHost& host) {
    const Server s = cpu_host(host);
    CHECK(line(problems(s)) == "");
    const ServerPaths paths(s);
    std::string nics;
    for (int core = 0; core < s.gpu_count(); ++core) nics += std::to_string(paths.nic_of(core));
    return nics;
  };
  CHECK(nics_of_cores({.cores = 8}) == "00000000");
  CHECK(nics_of_cores({.cores = 8, .nics = 2}) == "00001111");
  CHECK(nics_of_cores({.cores = 8, .nics = 4}) == "00112233");
  CHECK(nics_of_cores({.cores = 8, .nics = 8}) == "01234567");
  const Server two = cpu_host({.cores = 8, .nics = 2});
  const ServerPaths paths(two);
  CHECK(drawn(paths, paths.to_nic(3)) == "core3 socket0 nic0");
  CHECK(drawn(paths, paths.to_nic(4)) == "core4 socket1 nic1");
  for (const ServerLink& link : two.links)
    if (link.to.starts_with("nic")) CHECK(link.pcie == PcieLink{.generation = 4, .width = 16});
}

TEST_CASE("server: cores of a host that share an L3 send past the memory of their socket, others through it") {
  const Server host = cpu_host({.cores = 10, .cores_per_l3 = 2});
  CHECK(line(problems(host)) == "");
  CHECK(host.caches == std::vector<std::string>{"l3_0", "l3_1", "l3_2", "l3_3", "l3_4", "l3_5"});  // 2 + 2 + 1 on each socket
  const ServerPaths paths(host);
  CHECK(drawn(paths, paths.peer(2, 3)) == "core2 l3_1 core3");
  CHECK(drawn(paths, paths.peer(0, 3)) == "core0 l3_0 socket0 socket0/memory socket0 l3_1 core3");
  CHECK(drawn(paths, paths.peer(4, 5)) == "core4 l3_2 socket0 socket0/memory socket0 socket1 l3_3 core5");
  CHECK(drawn(paths, paths.to_nic(9)) == "core9 l3_5 socket1 socket0 nic0");
  CHECK(ServerPaths(cpu_host({.cores = 10})).peer(2, 3).size() == 4);
  CHECK(as_cpu_host(host).cores_per_l3 == 2);
}

TEST_CASE("server: a cycle of PCIe links, a device without a way and ten thousand GPUs are refused") {
  Server s = server_preset("two_nic");
  s.links.push_back({"switch0", "switch1", PcieLink{}, {}, {}});
  CHECK(problems(s).empty());  // two trees may touch: the ways stay unique in each socket
  s.links.push_back({"switch0", "socket0", PcieLink{}, {}, {}});
  CHECK(line(problems(s)) == "/links/10: closes a cycle: \"switch0\" and \"socket0\" are joined already, and PCIe is a tree\n");
  s = server_preset("two_nic");
  s.gpus.push_back("gpu4");
  CHECK(line(problems(s)) ==
        "/gpus/4: \"gpu4\" has no way over PCIe to a NIC\n"
        "/gpus/4: \"gpu4\" has no way over PCIe to a socket\n");
  s = server_preset("two_nic");
  for (int i = 4; i < 10'000; ++i) s.gpus.push_back("gpu" + std::to_string(i));
  CHECK(line(problems(s)) == "/gpus: must be between 1 and 1024, got 10000\n: has 10006 devices, at most 2048 are allowed\n");
}
