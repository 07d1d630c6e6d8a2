#include "sim/no_effect.hpp"

#include "sim/scenario/networks.hpp"

#include <algorithm>

namespace weft {

void note_what_has_no_effect(const Scenario& scenario, SimTime end, const std::vector<PlacedJob>& jobs,
                             const std::function<void(std::string_view)>& note) {
  const auto first = std::ranges::min_element(scenario.faults.failures, {}, &Failure::at);
  if (first != scenario.faults.failures.end() && first->at >= end)
    note(fmt::format("no failure begins within the run of {:.2f} us: the first is at {}", end.microseconds(), to_string(first->at)));
  const Workload& w = scenario.workload;
  const bool reduces =
      w.collective == Collective::allreduce || w.collective == Collective::reduce_scatter || w.collective == Collective::reduce;
  if (!jobs.front().program) {
    if (w.root != 0 && !has_root(w.collective)) note(fmt::format("\"root\" has no effect: the {} has none", name_of(w.collective)));
    if (w.op != ReduceOp::sum && !reduces) note(fmt::format("\"op\" has no effect: the {} reduces nothing", name_of(w.collective)));
  }
  if (scenario.fabric.ecmp.policy == EcmpPolicy::d_mod_k && scenario.fabric.ecmp.seed != Ecmp{}.seed)
    note("the \"seed\" of \"ecmp\" has no effect: \"d_mod_k\" draws nothing");
  const TrainingChoice& training = w.training;
  if (const Checkpoints& c = training.checkpoints; c.rate.count > 0 && training.events.empty()) {
    if (c.every == 0) note("no checkpoint is written: \"every\" is not given");
    if (c.every > w.iterations) note(fmt::format("no checkpoint is due within {} steps: one is written every {}", w.iterations, c.every));
  }
  if (scenario.network == NetworkKind::packet) {
    const PacketSettings packet = scenario.packet.value_or(PacketSettings{});
    const std::string_view transport = name_of(packet.transport);
    if (needs_marks(packet.transport) && !packet.ecn.on) note(fmt::format("{} hears of no congestion: \"ecn\" is off", transport));
    if (!has_window(packet.transport) && packet.window != PacketSettings{}.window)
      note(fmt::format("\"window\" has no effect: {} has none", transport));
    if (packet.transport != PacketTransport::dcqcn && packet.dcqcn != DcqcnSettings{})
      note(fmt::format("\"dcqcn\" has no effect: \"transport\" is {}", transport));
  }
  const HardwareProfile& h = scenario.hardware;
  const bool runs_nccl = std::ranges::any_of(jobs, [](const PlacedJob& job) { return job.regime.protocol != NcclProtocol::automatic; });
  if (h.rendezvous > SimTime{} && h.rendezvous_threshold == HardwareProfile{}.rendezvous_threshold && !runs_nccl)
    note("\"rendezvous\" has no effect: \"rendezvous_threshold\" is never");
  if (h.handshake > SimTime{} && h.eager_copy_rate.count == 0)
    note("\"handshake\" has no effect: copies of short messages take no time, as \"eager_copy_rate\" is unlimited");
  if (h.host_handshake > SimTime{} && h.host_eager_copy_rate.count == 0)
    note("\"host_handshake\" has no effect: copies of short messages take no time, as \"host_eager_copy_rate\" is unlimited");
}

}  // namespace weft
