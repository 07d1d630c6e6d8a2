// The memories, streams and events that a StreamPlan needs, on the devices of the ranks of this process.
#pragma once

#include "collectives/executors/stream/plan.hpp"
#include "collectives/transports/cuda/handles.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::cuda {

class PlanResources {
 public:
  explicit PlanResources(std::vector<int> device_of_rank) : device_of_rank_(std::move(device_of_rank)) {}

  // Memory keeps its contents only as long as plans need the same.
  void prepare(StreamPlan);

  const StreamPlan& plan() const { return plan_; }
  int device_of(Rank r) const { return device_of_rank_[static_cast<std::size_t>(r)]; }
  int device_of_stream(int s) const { return device_of(plan_.rank_of_stream(s)); }

  // Those of ranks elsewhere are empty.
  const std::vector<OwnedStream>& streams() const { return streams_; }
  const OwnedStream& stream(int s) const { return streams_[static_cast<std::size_t>(s)]; }
  const OwnedStream& first_stream_of(Rank r) const { return stream(r * plan_.streams_per_rank); }
  const OwnedEvent& end(int stream) const { return ends_[static_cast<std::size_t>(stream)]; }
  const OwnedEvent& event(int e) const { return events_[static_cast<std::size_t>(e)]; }
  const OwnedEvent& mark(int m) const { return marks_[static_cast<std::size_t>(m)]; }
  std::byte* memory(int m) const { return memories_[static_cast<std::size_t>(m)].memory.as<std::byte>(); }

 private:
  struct Memory {
    DeviceMemory memory;
    int device = -1;
    std::int64_t bytes = 0;
  };

  void prepare_memories();
  void prepare_streams();
  void prepare_events();

  const std::vector<int> device_of_rank_;
  StreamPlan plan_;
  std::vector<Memory> memories_;
  std::vector<OwnedStream> streams_;
  std::vector<OwnedEvent> ends_, events_, marks_;
};

}  // namespace weft::cuda
