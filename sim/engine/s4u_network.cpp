#include "sim/engine/s4u_network.hpp"

#include "kernels/base/error.hpp"
#include "sim/engine/s4u_world.hpp"
#include "sim/network/flow_network.hpp"

#include <deque>
#include <vector>

namespace weft {

DType type_of_size(std::int64_t bytes) {
  for (const DType type : {DType::uint8, DType::float16, DType::float32, DType::float64})
    if (static_cast<std::int64_t>(size_of(type)) == bytes) return type;
  throw std::logic_error(fmt::format("internal error: elements of {} bytes", bytes));
}

namespace {

// Tells the world the path of every pair that exchanges messages, asking for routes in the order of the schedule.
void connect_pairs(const Job& job, const Fabric& fabric, Routes& routes, S4uWorld& world) {
  std::vector<bool> connected;
  Step step;
  for (int k = 0; k < job.schedule.steps(); ++k) {
    routes.begin_step();
    for (const Steps& steps : job.schedule.channels) {
      if (k >= steps.count()) continue;
      steps.produce(k, step);
      for (const Transfer& t : step.transfers()) {
        if (t.from == t.to) continue;
        const int from = job.placement[static_cast<std::size_t>(t.from)];
        const int to = job.placement[static_cast<std::size_t>(t.to)];
        const RouteId id = routes.of(from, to);
        if (static_cast<std::size_t>(id) >= connected.size()) connected.resize(static_cast<std::size_t>(id) + 1);
        if (connected[static_cast<std::size_t>(id)]) continue;
        connected[static_cast<std::size_t>(id)] = true;
        if (routes.claim(id) != FlowClaim{})
          throw InputError(
              fmt::format("network \"simgrid\" shares links in equal parts, but messages from {} to {} have a claim of their own "
                          "(PCIe arbitration in the server): use network \"flow\"",
                          fabric.device(fabric.node_of(from)).name, fabric.device(fabric.node_of(to)).name));
        world.connect(from, to, routes.hops(id), routes.latency(id));
      }
    }
  }
}

}  // namespace

NetworkRun run_s4u(const Job& job, const Fabric& fabric, Routes& routes, const RankMemory& memory) {
  const Schedule& s = job.schedule;
  HardwareProfile hardware = job.hardware;
  hardware.reduce_rate = hardware.reduce_rate_for(Bytes{job.elements * job.element_bytes});
  S4uWorld world(hardware, fabric.endpoints(), goodput_of_links(fabric, job.hardware));
  connect_pairs(job, fabric, routes, world);
  const Buffer sizes_only{.layout = {job.elements, s.chunks}, .dtype = type_of_size(job.element_bytes)};
  std::deque<StepWindow> windows;
  for (std::size_t channel = 0; channel < s.channels.size(); ++channel) {
    StepWindow& window = windows.emplace_back(s.channels[channel], s.ranks);
    for (Rank rank = 0; rank < s.ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const Buffer& buffer = memory.buffers.empty() ? sizes_only : memory.buffers[r];
      world.add_actor(rank, static_cast<int>(channel), job.placement[r], job.start.empty() ? SimTime{} : job.start[r],
                      [&window, &buffer, &memory, rank, channel](Transport& transport) {
                        WindowedSteps steps(window, rank);
                        run_blocking(steps, static_cast<int>(channel), memory.op, buffer, transport);
                      });
    }
  }
  return world.run();
}

}  // namespace weft
