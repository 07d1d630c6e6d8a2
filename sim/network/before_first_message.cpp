#include "sim/network/before_first_message.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

Bytes largest_arrival_to_reduce(const Schedule& schedule, Bytes message, std::span<const std::vector<int>> stands_for) {
  const ChunkLayout layout{message.count, schedule.chunks};
  std::vector<std::int64_t> arrives(static_cast<std::size_t>(schedule.ranks));
  std::int64_t largest = 0;
  Step step;
  for (std::size_t channel = 0; channel < schedule.channels.size(); ++channel)
    for (int k = 0; k < schedule.channels[channel].count(); ++k) {
      schedule.channels[channel].produce(k, step);
      const int steps = stands_for.empty() ? 1 : stands_for[channel][static_cast<std::size_t>(k)];
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

SimTime initial_copies(const HardwareProfile& hardware, Collective collective, Bytes message) {
  const bool reduces = collective == Collective::allreduce || collective == Collective::reduce || collective == Collective::reduce_scatter;
  const BitsPerSecond rate = hardware.reduce_rate_for(message);
  if (!reduces || hardware.initial_copies == 0 || rate.count == 0) return {};
  return Bytes{std::llround(hardware.initial_copies * static_cast<double>(message.count))} / rate;
}

SimTime page_faults(const HardwareProfile& hardware, const Schedule& schedule, Bytes message,
                    std::span<const std::vector<int>> stands_for) {
  // What arrives in a step is rarely more than the message: to schedules of small ones nobody has to look.
  if (hardware.page_fault_rate.count == 0 || message < hardware.fresh_buffer) return {};
  const Bytes buffer = largest_arrival_to_reduce(schedule, message, stands_for);
  return buffer < hardware.fresh_buffer ? SimTime{} : buffer / hardware.page_fault_rate;
}

}  // namespace

SimTime before_first_message(const HardwareProfile& hardware, const Schedule& schedule, Bytes message,
                             std::span<const std::vector<int>> stands_for) {
  return hardware.call_overhead + initial_copies(hardware, schedule.collective, message) +
         page_faults(hardware, schedule, message, stands_for);
}

}  // namespace weft
