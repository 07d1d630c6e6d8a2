// What a simulated message costs: our flow network against SimGrid's own, in the same run. Prints one table; every row is
// measured in a process of its own, CPU seconds of the simulation alone.
//
//   flow_benchmark [--quick] [--no-reference]
//   flow_benchmark --scale [--quick]      1,024 to 65,536 nodes, with the proof: what a message costs there against 1,024; "servers"
//                                         have eight GPUs and one NIC on a BiGraph
//   flow_benchmark --socket               messages of 8 to 104 cores that share the memory of their socket
#include "collectives/registry/registry.hpp"
#include "collectives/schedule/verify.hpp"
#include "models/fabric/bigraph.hpp"
#include "models/fabric/fat_tree.hpp"
#include "models/fabric/placement.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/flow/flow_network.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/reference/s4u_network.hpp"

#include <array>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <sys/resource.h>

using namespace weft;

namespace {

struct Measured {
  double proof_s = 0;
  double cpu_s = 0;
  double finish_us = 0;
  std::int64_t messages = 0;
  std::uint64_t events = 0, solves = 0, solved_flows = 0;
  std::int64_t peak_kib = 0;  // of the whole process
};

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Question {
  FabricSpec fabric;
  std::string algorithm;
  Placement placement;
  Collective collective = Collective::allreduce;
  SimTime send_overhead = {};
  Server server = {};
};

template <class Run>
Measured measure(const Question& question, Run run, bool prove = false) {
  const std::string bytes = in_child([&] {
    const auto fabric = build(question.fabric, question.server);
    Request request{.collective = question.collective, .algorithm = question.algorithm, .ranks = fabric->endpoints()};
    if (question.server.gpu_count() > 1) request.settings.group = question.server.gpu_count();
    if (const auto* bigraph = std::get_if<BiGraph>(&question.fabric))
      request.bigraph = BiGraphShape{bigraph->switches, bigraph->nodes_per_switch};
    const Schedule schedule = build(request);
    const std::vector<int> placement = place(question.placement, request.ranks, question.fabric, question.server);
    Routes routes(*fabric, Ecmp{});
    HardwareProfile hardware;
    hardware.send_overhead = question.send_overhead;
    const PlacedSchedule job{schedule, placement, (256_MiB).count / 4, 4, hardware, {}};
    const double before_proof = cpu_seconds();
    if (prove) check(verify(schedule).empty(), "{} is wrong", question.algorithm);
    const double before = cpu_seconds();
    const NetworkRun result = run(job, *fabric, routes);
    Measured m{.proof_s = before - before_proof,
               .cpu_s = cpu_seconds() - before,
               .finish_us = result.finish.microseconds(),
               .messages = result.messages,
               .events = result.events,
               .solves = result.solves,
               .solved_flows = result.solved_flows};
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    m.peak_kib = usage.ru_maxrss;
    return std::string(reinterpret_cast<const char*>(&m), sizeof m);
  });
  Measured m;
  std::memcpy(&m, bytes.data(), sizeof m);
  return m;
}

constexpr LinkSpec wire{100_Gbps, 500_ns};

// Eight GPUs that share an NVSwitch and, below a PCIe switch, a NIC.
Server with_one_nic() {
  Server server{.preset = "", .sockets = {"socket"}, .pcie_switches = {"pcie"}, .nvswitches = {"nvswitch"}, .nics = {"nic"}};
  const auto pcie = [](std::string from, const char* to) {
    return ServerLink{.from = std::move(from), .to = to, .pcie = PcieLink{.generation = 5}, .latency = 300_ns};
  };
  server.links = {pcie("nic", "pcie"), pcie("pcie", "socket")};
  for (int gpu = 0; gpu < 8; ++gpu) {
    server.gpus.push_back(fmt::format("gpu{}", gpu));
    server.links.push_back(pcie(server.gpus.back(), "pcie"));
    server.links.push_back({.from = server.gpus.back(), .to = "nvswitch", .bandwidth = 2966_Gbps, .latency = 300_ns});
  }
  return server;
}

double ns_each(double cpu_s, const Measured& m) { return cpu_s / static_cast<double>(m.messages) * 1e9; }

// A message of each pattern in networks of growing size, with its proof, against one in the smallest.
void measure_scale(bool quick) {
  fmt::print("# 256 MiB, ideal hardware unless \"overheads\", 100 Gb/s links of 500 ns; proof, cpu: seconds on one core\n");
  fmt::print("# {:<9} {:>6} {:<17} {:<10} {:>9} {:>8} {:>9} {:>9} {:>9} {:>7} {:>12}\n", "fabric", "ranks", "algorithm", "collective",
             "messages", "proof", "flow cpu", "ns/msg", "proof ns", "MiB", "against");
  const auto row = [](const Question& question, std::string_view fabric, const Measured* base) {
    const Measured m = measure(
        question, [](const PlacedSchedule& j, const Fabric& f, Routes& r) { return run_flow(j, f, r); }, true);
    fmt::print("  {:<9} {:>6} {:<17} {:<10} {:>9} {:>8.3f} {:>9.3f} {:>9.1f} {:>9.1f} {:>7} {:>11.2f}x\n", fabric,
               endpoints(question.fabric, question.server), question.algorithm,
               question.send_overhead.ps > 0 ? "overheads" : name_of(question.collective), m.messages, m.proof_s, m.cpu_s,
               ns_each(m.cpu_s, m), ns_each(m.proof_s, m), m.peak_kib / 1024,
               base ? ns_each(m.cpu_s, m) / ns_each(base->cpu_s, *base) : 1.0);
    std::fflush(stdout);
    return m;
  };
  const auto bigraph = [](int switches, int nodes) {
    return BiGraph{.switches = switches, .nodes_per_switch = nodes, .host_link = wire, .fabric_link = wire};
  };
  const Measured ring = row({bigraph(64, 16), "ring", {}}, "bigraph", nullptr);
  row({bigraph(64, 16), "ring", {}, Collective::allreduce, 5893_ns}, "bigraph", &ring);
  if (!quick) row({bigraph(128, 32), "ring", {}}, "bigraph", &ring);
  for (const char* algorithm : {"hdrm", "halving_doubling"}) {
    const Measured base = row({bigraph(64, 16), algorithm, {}}, "bigraph", nullptr);
    for (const int times : {2, 4, 8})
      if (!quick || times == 2) row({bigraph(64 * times, 16 * times), algorithm, {}}, "bigraph", &base);
  }
  const Measured base = row({FatTree{.k = 16, .host_link = wire, .fabric_link = wire}, "halving_doubling", {}}, "fat_tree", nullptr);
  for (const int k : {32, 64})
    if (!quick) row({FatTree{.k = k, .host_link = wire, .fabric_link = wire}, "halving_doubling", {}}, "fat_tree", &base);
  const auto of_servers = [&](int switches, int servers) {
    return Question{.fabric = bigraph(switches, servers), .algorithm = "hierarchical_ring", .placement = {}, .server = with_one_nic()};
  };
  const Measured hierarchical = row(of_servers(32, 4), "servers", nullptr);
  if (!quick) row(of_servers(512, 16), "servers", &hierarchical);
  const Measured all = row({bigraph(16, 8), "direct", {}, Collective::alltoall}, "bigraph", nullptr);
  for (const auto& [switches, nodes] : {std::pair{32, 8}, {32, 16}})
    if (!quick) row({bigraph(switches, nodes), "direct", {}, Collective::alltoall}, "bigraph", &all);
}

// Each core sends message after message to another one, of sizes that are drawn: none begin or end together.
void measure_socket() {
  fmt::print("# cores  messages  ns/msg  flows a solve\n");
  for (const int cores : {8, 26, 52, 104}) {
    FluidNetwork network(std::vector<BitsPerSecond>(static_cast<std::size_t>(2 * cores), 512_Gbps));
    const LinkId in = network.add_link(817_Gbps), out = network.add_link(817_Gbps);
    std::mt19937_64 random(1);
    for (int core = 0; core < cores; ++core)
      network.add_route(std::array{Hop{core, 0}, Hop{in, 0}, Hop{out, 0}, Hop{cores + (core + 1) % cores, 0}}, 25_ns, {.weight = 0.5});
    constexpr int each = 2000;
    std::vector<int> sent(static_cast<std::size_t>(cores));
    const auto send = [&](std::uint32_t core) {
      if (sent[core]++ < each) network.start(core, static_cast<std::int64_t>(1024 + random() % 65536), network.now(), core);
    };
    const double before = cpu_seconds();
    for (int core = 0; core < cores; ++core) send(static_cast<std::uint32_t>(core));
    while (network.next_date() != SimTime::never()) network.advance(send);
    fmt::print("{:>7} {:>9} {:>7.0f} {:>14.1f}\n", cores, cores * each, (cpu_seconds() - before) / (cores * each) * 1e9,
               static_cast<double>(network.solved_flows()) / static_cast<double>(network.solves()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false, reference = true, scale = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--quick")
      quick = true;
    else if (std::string_view(argv[i]) == "--no-reference")
      reference = false;
    else if (std::string_view(argv[i]) == "--scale")
      scale = true;
    else if (std::string_view(argv[i]) == "--socket")
      return measure_socket(), 0;
    else
      return fmt::print(stderr, "{}: unknown flag; allowed: --quick, --no-reference, --scale, --socket\n", argv[i]), 2;
  }
  if (scale) return measure_scale(quick), 0;
  fmt::print("# all-reduce of 256 MiB, ideal hardware, 100 Gb/s links of 500 ns; cpu: seconds of the simulation on one core\n");
  fmt::print("# {:<9} {:>5} {:<17} {:<8} {:>9} {:>12} {:>9} {:>9} {:>10} {:>8} {:>12} {:>7} {:>8} {:>7}\n", "fabric", "ranks", "algorithm",
             "placed", "messages", "time us", "flow cpu", "ns/msg", "events", "solves", "solved flows", "MiB", "simgrid", "ratio");
  const auto row = [&](const Question& question, std::string_view fabric, bool compare) {
    const Measured flow = measure(question, [](const PlacedSchedule& j, const Fabric& f, Routes& r) { return run_flow(j, f, r); });
    fmt::print("  {:<9} {:>5} {:<17} {:<8} {:>9} {:>12.3f} {:>9.4f} {:>9.1f} {:>10} {:>8} {:>12} {:>7}", fabric, endpoints(question.fabric),
               question.algorithm, question.placement.policy == PlacementPolicy::random ? "random" : "linear", flow.messages,
               flow.finish_us, flow.cpu_s, flow.cpu_s / static_cast<double>(flow.messages) * 1e9, flow.events, flow.solves,
               flow.solved_flows, flow.peak_kib / 1024);
    if (compare && reference) {
      const Measured simgrid = measure(question, [](const PlacedSchedule& j, const Fabric&, Routes& r) { return run_s4u(j, r); });
      fmt::print(" {:>8.3f} {:>6.1f}x", simgrid.cpu_s, simgrid.cpu_s / flow.cpu_s);
    }
    fmt::print("\n");
    std::fflush(stdout);
  };
  struct Shape {
    int switches, nodes_per_switch;
  };
  for (const Shape s : {Shape{16, 4}, Shape{32, 8}, Shape{64, 16}}) {
    if (quick && s.switches > 16) break;
    const BiGraph bigraph{.switches = s.switches, .nodes_per_switch = s.nodes_per_switch, .host_link = wire, .fabric_link = wire};
    for (const char* algorithm : {"ring", "halving_doubling", "hdrm"}) row({bigraph, algorithm, {}}, "bigraph", true);
  }
  const int k = quick ? 4 : 16;  // k^3 / 4 = 1024
  const FatTree fat_tree{.k = k, .host_link = wire, .fabric_link = wire};
  for (const char* algorithm : {"halving_doubling", "ring"})
    row({fat_tree, algorithm, {.policy = PlacementPolicy::random, .seed = 1}}, "fat_tree", false);
}
