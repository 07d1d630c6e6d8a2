// One rank's collective of one size on its device, where the other ranks are in processes of their own.
#pragma once

#include "collectives/bench/plan.hpp"
#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/worlds/stream_world.hpp"
#include "collectives/bench/worlds/trace.hpp"
#include "collectives/executors/blocking.hpp"

#include <vector>

namespace weft::bench {

class DeviceRun {
 public:
  DeviceRun(StreamWorld& device, const Settings& settings, const PlannedAlgorithm& algorithm, Rank rank)
      : device_(device), settings_(settings), algorithm_(algorithm), rank_(rank) {}

  enum class Marks { off, on };
  // Takes the collective as what run() does, on these data. All ranks call it together: a graph needs a run before it is captured.
  void prepare(const Buffer& data, Marks);
  void write(const Buffer& data) { device_.write(rank_, bytes_of(data)); }
  void read(const Buffer& data) const { device_.read(rank_, bytes_of(data)); }
  std::vector<float> kept() const { return device_.kept(rank_); }
  // Runs it so many times, back to back. Returns the microseconds of one, by the device's clock.
  double run(std::int64_t count) { return device_.run(count); }

  // NCCL scales an average before it sums.
  bool scales_first() const { return algorithm_.name == "nccl"; }
  // Of the last run with marks, by now_us(), and by how much that may be wrong.
  std::vector<Record> records() const;
  double clock_error_us() const { return device_.clock_began().error_us; }

 private:
  ByteSpan bytes_of(const Buffer& data) const {
    return {data.data, buffer_bytes(algorithm_.schedule, data.layout.elements, settings_.dtype)};
  }

  StreamWorld& device_;
  const Settings& settings_;
  const PlannedAlgorithm& algorithm_;
  const Rank rank_;
};

Operation operation_of(MarkedOperation::What);

}  // namespace weft::bench
