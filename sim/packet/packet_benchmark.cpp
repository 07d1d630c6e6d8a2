// What a packet-hop costs. Prints one table, CPU seconds of the simulation alone, on one core.
//
//   packet_benchmark [--quick]
#include "collectives/registry/registry.hpp"
#include "models/fabric/bigraph.hpp"
#include "models/fabric/fat_tree.hpp"
#include "models/fabric/placement.hpp"
#include "models/fabric/star.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/packet/datagram_network.hpp"
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
  const PlacedSchedule job{schedule, placement, q.message.count / 4, 4, hardware, {}};
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

// The traffic of in-network aggregation without its arithmetic: workers keep a window of packets in flight, the switch sends
// one on for each that all workers have sent, the server answers all of them.
struct Worker final : Agent {
  Address self, server;
  std::int32_t bytes;
  std::uint32_t packets, window, next = 0, answered = 0;
  void send_more(Wire& w) {
    for (; next < packets && next - answered < window; ++next) {
      Datagram d{.from = self, .to = server, .wire_bytes = bytes};
      d.header.set(next);
      w.send(std::move(d));
    }
  }
  void start(Wire& w) override { send_more(w); }
  void on_datagram(Wire& w, Datagram) override {
    ++answered;
    send_more(w);
  }
  void on_timer(Wire&, std::uint64_t) override {}
  bool finished() const override { return answered == packets; }
};

struct Aggregator final : Agent {
  std::uint8_t workers;
  std::vector<std::uint8_t> counts = std::vector<std::uint8_t>(1 << 16);
  Address server;
  void on_datagram(Wire& w, Datagram d) override {
    if (d.to == server) {
      std::uint8_t& count = counts[d.header.as<std::uint32_t>() & 0xffff];
      if (++count < workers) return;
      count = 0;
    }
    w.send(std::move(d));
  }
  void on_timer(Wire&, std::uint64_t) override {}
};

struct Server final : Agent {
  Address group;
  void on_datagram(Wire& w, Datagram d) override {
    std::swap(d.from, d.to);
    d.to = group;
    w.send(std::move(d));
  }
  void on_timer(Wire&, std::uint64_t) override {}
};

void aggregation(Bytes message) {
  constexpr int workers = 8;
  const auto fabric = build(Star{.nodes = workers + 1, .host_link = wire});
  Routes routes(*fabric, Ecmp{});
  PacketNetwork network(*fabric, goodput_of_links(*fabric, {}), {});
  DatagramNetwork net(network, routes);
  std::vector<Worker> agents(workers);
  std::vector<Address> members;
  for (Address a = 0; a < workers; ++a) {
    Worker& worker = agents[static_cast<std::size_t>(a)];
    worker.self = a, worker.server = workers, worker.bytes = 306, worker.window = 200;
    worker.packets = static_cast<std::uint32_t>(message.count / 248);  // 62 values
    net.attach(a, a, worker);
    members.push_back(a);
  }
  Server server;
  Aggregator program;
  program.workers = workers, program.server = workers, server.group = workers + 2;
  net.attach(workers, workers, server);
  net.program(workers + 1, fabric->to(0), program);
  net.group(workers + 2, members);
  const double before = cpu_seconds();
  run_agents(network, net);
  const double cpu_s = cpu_seconds() - before;
  fmt::print(
      "  aggregation of {} from {} workers, packets of 306 B: {:.3f} us, {} hops in {:.2f} s: {:.2f} Mhops/s, {} datagrams in flight at "
      "the end\n",
      to_string(message), workers, network.now().microseconds(), network.packet_hops(), cpu_s,
      static_cast<double>(network.packet_hops()) / cpu_s * 1e-6, net.datagrams_in_flight());
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
  const PacketSettings dcqcn{.packet = 1_KiB, .transport = PacketTransport::dcqcn};
  const PacketSettings dctcp{.packet = 1_KiB, .transport = PacketTransport::dctcp};
  heading();
  row({"bigraph 16x4", small, "ring", 64_MiB, rdma});
  row({"bigraph 16x4", small, "halving_doubling", 64_MiB, rdma});
  row({"bigraph 16x4", small, "halving_doubling", 64_MiB, dcqcn});
  row({"bigraph 16x4", small, "halving_doubling", 64_MiB, dctcp});
  row({"star 64", star, "direct", 16_MiB, dcqcn});
  row({"fat_tree 128, random", tree, "halving_doubling", 32_MiB, dcqcn, PlacementPolicy::random});
  row({"fat_tree 128, random", tree, "ring", 32_MiB, dctcp, PlacementPolicy::random});
  aggregation(quick ? 16_MB : 528_MB);
  if (quick) return 0;
  row({"bigraph 64x16", large, "ring", 16_MiB, dcqcn});
  row({"bigraph 64x16", large, "hdrm", 16_MiB, dcqcn});
  row({"fat_tree 1024, random", wide, "halving_doubling", 16_MiB, dcqcn, PlacementPolicy::random});
  PacketSettings bursts = dcqcn;
  bursts.packet = 64_KiB;
  row({"fat_tree 1024, random", wide, "halving_doubling", 256_MiB, bursts, PlacementPolicy::random});
}
