// What a simulated message costs: our flow network against SimGrid's own, in the same run. Prints one table; every row is
// measured in a process of its own, CPU seconds of the simulation alone.
//
//   flow_benchmark [--quick] [--no-reference]
#include "collectives/algorithms/registry.hpp"
#include "models/fabric/bigraph.hpp"
#include "models/fabric/fat_tree.hpp"
#include "models/fabric/placement.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/network/flow_network.hpp"
#include "sim/reference/s4u_network.hpp"

#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <sys/resource.h>

using namespace weft;

namespace {

struct Measured {
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
};

template <class Run>
Measured measure(const Question& question, Run run) {
  const std::string bytes = in_child([&] {
    const auto fabric = build(question.fabric);
    Request request{.algorithm = question.algorithm, .ranks = fabric->endpoints()};
    if (const auto* bigraph = std::get_if<BiGraph>(&question.fabric))
      request.bigraph = BiGraphShape{bigraph->switches, bigraph->nodes_per_switch};
    const Schedule schedule = build(request);
    const std::vector<int> placement = place(question.placement, request.ranks, question.fabric);
    Routes routes(*fabric, Ecmp{});
    const HardwareProfile hardware;
    const Job job{schedule, placement, (256_MiB).count / 4, 4, hardware, {}};
    const double before = cpu_seconds();
    const NetworkRun result = run(job, *fabric, routes);
    Measured m{.cpu_s = cpu_seconds() - before,
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

}  // namespace

int main(int argc, char** argv) {
  bool quick = false, reference = true;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--quick")
      quick = true;
    else if (std::string_view(argv[i]) == "--no-reference")
      reference = false;
    else
      return fmt::print(stderr, "{}: unknown flag; allowed: --quick, --no-reference\n", argv[i]), 2;
  }
  constexpr LinkSpec wire{100_Gbps, 500_ns};
  fmt::print("# all-reduce of 256 MiB, ideal hardware, 100 Gb/s links of 500 ns; cpu: seconds of the simulation on one core\n");
  fmt::print("# {:<9} {:>5} {:<17} {:<8} {:>9} {:>12} {:>9} {:>9} {:>10} {:>8} {:>12} {:>7} {:>8} {:>7}\n", "fabric", "ranks", "algorithm",
             "placed", "messages", "time us", "flow cpu", "ns/msg", "events", "solves", "solved flows", "MiB", "simgrid", "ratio");
  const auto row = [&](const Question& question, std::string_view fabric, bool compare) {
    const Measured flow = measure(question, [](const Job& j, const Fabric& f, Routes& r) { return run_flow(j, f, r); });
    fmt::print("  {:<9} {:>5} {:<17} {:<8} {:>9} {:>12.3f} {:>9.4f} {:>9.1f} {:>10} {:>8} {:>12} {:>7}", fabric, endpoints(question.fabric),
               question.algorithm, question.placement.policy == PlacementPolicy::random ? "random" : "linear", flow.messages,
               flow.finish_us, flow.cpu_s, flow.cpu_s / static_cast<double>(flow.messages) * 1e9, flow.events, flow.solves,
               flow.solved_flows, flow.peak_kib / 1024);
    if (compare && reference) {
      const Measured simgrid = measure(question, [](const Job& j, const Fabric&, Routes& r) { return run_s4u(j, r); });
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
