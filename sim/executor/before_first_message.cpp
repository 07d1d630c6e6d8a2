#include "sim/executor/before_first_message.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

Bytes largest_arrival_to_reduce(const Schedule& schedule, Bytes message, std::span<const std::vector<StandsFor>> stands_for) {
  const ChunkLayout layout = layout_of(schedule, message.count);
  std::vector<std::int64_t> arrives(static_cast<std::size_t>(schedule.ranks));
  std::int64_t largest = 0;
  Step step;
  for (std::size_t channel = 0; channel < schedule.channels.size(); ++channel)
    for (int k = 0; k < schedule.channels[channel].count(); ++k) {
      schedule.channels[channel].produce(k, step);
      const int steps = stands_for.empty() ? 1 : stands_for[channel][static_cast<std::size_t>(k)].steps;
      std::ranges::fill(arrives, 0);
      for (const Transfer& t : step.transfers()) {
        if (!t.reduces) continue;
        std::int64_t& here = arrives[static_cast<std::size_t>(t.to)];
        here += layout.size(t.chunk, t.count);
        largest = std::max(largest, here / steps);
      }
    }
  return Bytes{largest};
}

namespace {

bool reduces(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce || collective == Collective::reduce_scatter;
}

// Every rank of a reduce-scatter adds what arrives to nothing but the block that it keeps.
bool adds_to_own_blocks(const Schedule& schedule) {
  if (schedule.collective != Collective::reduce_scatter || schedule.chunks != schedule.ranks) return false;
  Step step;
  for (const Steps& channel : schedule.channels)
    for (int k = 0; k < channel.count(); ++k) {
      channel.produce(k, step);
      if (!std::ranges::all_of(step.transfers(), [](const Transfer& t) { return !t.reduces || (t.chunk == t.to && t.count == 1); }))
        return false;
    }
  return true;
}

struct InitialCopies {
  Bytes bytes;
  bool fit_result = true;  // else they need a buffer: not every rank of a reduce has room for its result
};

InitialCopies initial_copies(const HardwareProfile& hardware, const Schedule& schedule, Bytes message) {
  if (!reduces(schedule.collective) || hardware.initial_copies == 0) return {};
  const bool of_blocks = adds_to_own_blocks(schedule);
  const double bytes = hardware.initial_copies * static_cast<double>(message.count);
  return {Bytes{std::llround(of_blocks ? bytes / schedule.ranks : bytes)}, of_blocks || schedule.collective == Collective::allreduce};
}

SimTime page_faults(const HardwareProfile& hardware, const Schedule& schedule, Bytes message, const InitialCopies& copies,
                    std::span<const std::vector<StandsFor>> stands_for) {
  // What arrives in a step is rarely more than the message: to schedules of small ones nobody has to look.
  if (hardware.page_fault_rate.count == 0 || message < hardware.fresh_buffer) return {};
  Bytes fresh;
  for (const Bytes buffer : {largest_arrival_to_reduce(schedule, message, stands_for), copies.fit_result ? Bytes{} : copies.bytes})
    if (buffer >= hardware.fresh_buffer) fresh += buffer;
  return fresh / hardware.page_fault_rate;
}

}  // namespace

SimTime before_first_message(const HardwareProfile& hardware, const Schedule& schedule, Bytes message,
                             std::span<const std::vector<StandsFor>> stands_for) {
  const InitialCopies copies = initial_copies(hardware, schedule, message);
  const BitsPerSecond rate = hardware.reduce_rate_for(message);
  return hardware.call_overhead + (rate.count == 0 ? SimTime{} : copies.bytes / rate) +
         page_faults(hardware, schedule, message, copies, stands_for);
}

}  // namespace weft
