#include "collectives/transports/cuda/plan_resources.hpp"

#include "collectives/transports/cuda/devices.hpp"

#include <utility>

namespace weft::cuda {
namespace {

using Kind = StreamOperation::Kind;

}  // namespace

void PlanResources::prepare(StreamPlan plan) {
  const bool same_streams = plan.streams_per_rank == plan_.streams_per_rank && !streams_.empty();
  plan_ = std::move(plan);
  prepare_memories();
  if (!same_streams) prepare_streams();
  prepare_events();
}

void PlanResources::prepare_memories() {
  memories_.resize(plan_.memories.size());
  for (std::size_t m = 0; m < memories_.size(); ++m) {
    Memory& own = memories_[m];
    const int device = device_of(plan_.rank_of_memory(static_cast<int>(m)));
    if (device == elsewhere || (own.device == device && own.bytes >= plan_.memories[m])) continue;
    own = {};  // before more is asked for
    use_device(device);
    own = {DeviceMemory(static_cast<std::size_t>(plan_.memories[m])), device, plan_.memories[m]};
  }
}

void PlanResources::prepare_streams() {
  const auto count = static_cast<std::size_t>(plan_.streams());
  streams_.clear();
  ends_.clear();
  streams_.resize(count);
  ends_.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    const int device = device_of_stream(static_cast<int>(s));
    if (device == elsewhere) continue;
    use_device(device);
    streams_[s] = make_stream();
    ends_[s] = make_event(Timing::off);
  }
}

void PlanResources::prepare_events() {
  events_.clear();
  events_.resize(static_cast<std::size_t>(plan_.events));
  marks_.clear();
  marks_.resize(static_cast<std::size_t>(plan_.marks));
  for (const StreamOperation& o : plan_.operations) {
    if ((o.kind != Kind::record && o.kind != Kind::mark) || device_of_stream(o.stream) == elsewhere) continue;
    use_device(device_of_stream(o.stream));
    if (o.kind == Kind::record)
      events_[static_cast<std::size_t>(o.event)] = make_event(Timing::off);
    else
      marks_[static_cast<std::size_t>(o.event)] = make_event(Timing::on);
  }
}

}  // namespace weft::cuda
