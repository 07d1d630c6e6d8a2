#include "sim/network/flow_network.hpp"

#include "sim/engine/kernel_model.hpp"
#include "sim/network/background_copies.hpp"
#include "sim/network/fluid.hpp"

#include <cmath>

namespace weft {
namespace {

class FlowSimulation final : public EventSource {
 public:
  FlowSimulation(const Job& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline)
      : fabric_(fabric),
        routes_(routes),
        network_(goodput_of_links(fabric, job.hardware)),
        copies_(job.copies, fabric, network_),
        executor_(job, routes, network_, timeline) {
    executor_.begin();
  }

  // Copies go on for ever; the run is over when the collective is and each stream has a result.
  SimTime next_date() const override {
    const bool over = executor_.finished() ? copies_.all_ended_once() : executor_.stuck();
    return over ? SimTime::never() : network_.next_date();
  }
  void advance() override {
    network_.advance([this](std::uint32_t token) { BackgroundCopies::is_copy(token) ? copies_.ended(token) : executor_.ended(token); });
  }

  NetworkRun result() {
    if (!executor_.finished()) throw RunError(executor_.waiting());
    NetworkRun run = executor_.result();
    run.events = network_.events();
    run.solves = network_.solves();
    run.solved_flows = network_.solved_flows();
    run.copies = copies_.result();
    run.bytes_on_link.resize(static_cast<std::size_t>(fabric_.links()));
    for (std::size_t route = 0; route < executor_.bytes_on_route().size(); ++route)
      for (const Hop& hop : routes_.hops(static_cast<RouteId>(route)))
        run.bytes_on_link[static_cast<std::size_t>(hop.link)] += executor_.bytes_on_route()[route];
    return run;
  }

 private:
  const Fabric& fabric_;
  Routes& routes_;
  FluidNetwork network_;
  BackgroundCopies copies_;
  EventExecutor<FluidNetwork> executor_;
};

}  // namespace

std::vector<BitsPerSecond> goodput_of_links(const Fabric& fabric, const HardwareProfile& hardware) {
  std::vector<BitsPerSecond> rates;
  rates.reserve(static_cast<std::size_t>(fabric.links()));
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const Link& link = fabric.link(id);
    const double efficiency = link.in_server ? 1.0 : hardware.wire_efficiency;
    rates.push_back({std::llround(static_cast<double>(link.bandwidth.count) * efficiency)});
  }
  return rates;
}

NetworkRun run_flow(const Job& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline) {
  FlowSimulation simulation(job, fabric, routes, timeline);
  run_in_engine(simulation);
  return simulation.result();
}

NetworkRun run_flow_bare(const Job& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline) {
  FlowSimulation simulation(job, fabric, routes, timeline);
  while (simulation.next_date() != SimTime::never()) simulation.advance();
  return simulation.result();
}

}  // namespace weft
