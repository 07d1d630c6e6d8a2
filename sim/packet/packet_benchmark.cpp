// What a packet-hop costs. Prints one table, CPU seconds of the simulation alone, on one core.
//
//   packet_benchmark [--quick]
#include "collectives/registry.hpp"
#include "models/bigraph.hpp"
#include "models/fat_tree.hpp"
#include "models/placement.hpp"
#include "models/star.hpp"
#include "sim/packet/packet_run.hpp"

#include <ctime>
#include <string_view>

#include <fmt/core.h>
#include <sys/resource.h>

using namespace weft;

namespace {

constexpr LinkSpec wire{100_Gbps, 500_ns};

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void heading() {
  fmt::print("# {:<28} {:>5} {:<17} {:<12} {:>7} {:>12} {:>12} {:>11} {:>8} {:>10} {:>11} {:>6}\n", "fabric", "ranks", "algorithm",
             "transport", "packet", "message", "time us", "hops", "cpu s", "events/hop", "Mhops/s", "MiB");
}

struct Question {
  std::string_view name;
  FabricSpec fabric;
  std::string algorithm;
  Bytes message;
  PacketSettings settings;
  PlacementPolicy placement = PlacementPolicy::linear;
};

void row(const Question& q) {
  const auto fabric = build(q.fabric);
  Request request{.algorithm = q.algorithm, .ranks = fabric->endpoints()};
  if (const auto* bigraph = std::get_if<BiGraph>(&q.fabric)) request.bigraph = BiGraphShape{bigraph->switches, bigraph->nodes_per_switch};
  const Schedule schedule = build(request);
  const std::vector<int> placement = place({.policy = q.placement, .seed = 1}, request.ranks, q.fabric);
  Routes routes(*fabric, Ecmp{});
  const HardwareProfile hardware;
  const Job job{schedule, placement, q.message.count / 4, 4, hardware, {}};
  PacketReport report;
  const double before = cpu_seconds();
  const NetworkRun run = run_packet_bare(job, *fabric, routes, q.settings, nullptr, &report);
  const double cpu_s = cpu_seconds() - before;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto hops = static_cast<double>(report.packet_hops);
  fmt::print("  {:<28} {:>5} {:<17} {:<12} {:>7} {:>12} {:>12.3f} {:>11} {:>8.3f} {:>10.2f} {:>11.2f} {:>6}\n", q.name, request.ranks,
             q.algorithm, name_of(q.settings.transport), to_string(q.settings.packet), to_string(q.message), run.finish.microseconds(),
             report.packet_hops, cpu_s, static_cast<double>(run.events) / hops, hops / cpu_s * 1e-6, usage.ru_maxrss / 1024);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  if (argc > 2 || (argc == 2 && !quick)) return fmt::print(stderr, "allowed: --quick\n"), 2;
  const BiGraph small{.switches = 16, .nodes_per_switch = 4, .host_link = wire, .fabric_link = wire};
  const BiGraph large{.switches = 64, .nodes_per_switch = 16, .host_link = wire, .fabric_link = wire};
  const FatTree tree{.k = 8, .host_link = wire, .fabric_link = wire};
  const FatTree wide{.k = 16, .host_link = wire, .fabric_link = wire};
  const Star star{.nodes = 64, .host_link = wire};
  const PacketSettings rdma{.packet = 1_KiB, .transport = PacketTransport::rdma};
  const PacketSettings dcqcn{.packet = 1_KiB};
  const PacketSettings dctcp{.packet = 1_KiB, .transport = PacketTransport::dctcp};
  heading();
  row({"bigraph 16x4", small, "ring", 64_MiB, rdma});
  row({"bigraph 16x4", small, "halving_doubling", 64_MiB, rdma});
  row({"bigraph 16x4", small, "halving_doubling", 64_MiB, dcqcn});
  row({"bigraph 16x4", small, "halving_doubling", 64_MiB, dctcp});
  row({"star 64", star, "direct", 16_MiB, dcqcn});
  row({"fat_tree 128, random", tree, "halving_doubling", 32_MiB, dcqcn, PlacementPolicy::random});
  row({"fat_tree 128, random", tree, "ring", 32_MiB, dctcp, PlacementPolicy::random});
  if (quick) return 0;
  row({"bigraph 64x16", large, "ring", 16_MiB, dcqcn});
  row({"bigraph 64x16", large, "hdrm", 16_MiB, dcqcn});
  row({"fat_tree 1024, random", wide, "halving_doubling", 16_MiB, dcqcn, PlacementPolicy::random});
  PacketSettings bursts = dcqcn;
  bursts.packet = 64_KiB;
  row({"fat_tree 1024, random", wide, "halving_doubling", 256_MiB, bursts, PlacementPolicy::random});
}
