#include "sim/packet/packet_run.hpp"

#include "sim/engine/kernel_model.hpp"
#include "sim/network/flow_network.hpp"
#include "sim/packet/packet_network.hpp"

#include <exception>

namespace weft {
namespace {

class PacketSimulation final : public EventSource {
 public:
  PacketSimulation(const Job& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
                   std::vector<MessageRecord>* timeline)
      : fabric_(fabric),
        routes_(routes),
        network_(fabric, goodput_of_links(fabric, job.hardware), settings),
        executor_(job, routes, network_, timeline) {
    executor_.begin();
  }

  // Failures and timers may lie after the end: nobody waits for them.
  SimTime next_date() const override { return failure_ || executor_.finished() ? SimTime::never() : network_.next_date(); }

  // Several dates at once: packets have more of them than the engine can go through, and nothing else happens in between.
  // An exception must not cross the engine: it comes out in result().
  void advance() override {
    try {
      for (int dates = 0; dates < 10'000 && next_date() != SimTime::never(); ++dates)
        network_.advance([this](std::uint32_t token) { executor_.ended(token); });
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  NetworkRun result(PacketReport* report) {
    if (failure_) std::rethrow_exception(failure_);
    if (!executor_.finished()) throw RunError(executor_.waiting() + "\n" + network_.stall());
    NetworkRun run = executor_.result();
    run.events = network_.events();
    run.bytes_on_link.resize(static_cast<std::size_t>(fabric_.links()));
    for (std::size_t route = 0; route < executor_.bytes_on_route().size(); ++route)
      for (const Hop& hop : routes_.hops(static_cast<RouteId>(route)))
        run.bytes_on_link[static_cast<std::size_t>(hop.link)] += executor_.bytes_on_route()[route];
    if (report) *report = network_.report();
    return run;
  }

 private:
  const Fabric& fabric_;
  Routes& routes_;
  PacketNetwork network_;
  EventExecutor<PacketNetwork> executor_;
  std::exception_ptr failure_;
};

}  // namespace

NetworkRun run_packet(const Job& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
                      std::vector<MessageRecord>* timeline, PacketReport* report) {
  PacketSimulation simulation(job, fabric, routes, settings, timeline);
  run_in_engine(simulation);
  return simulation.result(report);
}

NetworkRun run_packet_bare(const Job& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
                           std::vector<MessageRecord>* timeline, PacketReport* report) {
  PacketSimulation simulation(job, fabric, routes, settings, timeline);
  while (simulation.next_date() != SimTime::never()) simulation.advance();
  return simulation.result(report);
}

}  // namespace weft
