// The streams of GPUs, as a world of the benchmark.
#pragma once

#include "collectives/bench/settings.hpp"
#include "collectives/bench/stream_world.hpp"
#include "collectives/transports/cuda/executor.hpp"
#include "collectives/transports/cuda/one_launch.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::bench {

// How many GPUs are visible. Throws InputError if none is.
int visible_devices();

class DeviceWorld : public StreamWorld {
 public:
  // Transfers are pulled from memory to memory, or go as messages where there is a messenger.
  DeviceWorld(const Settings&, std::vector<int> devices, cuda::Messenger*);

  int ranks() const override { return static_cast<int>(devices_.size()); }
  int gpus() const override;
  std::string about() const override;
  bool has_own(std::string_view algorithm) const override { return is_one_launch(algorithm) || StreamWorld::has_own(algorithm); }
  bool library_runs(Collective collective, DType dtype, ReduceOp op) const override;
  std::string name() const { return cuda::describe_devices(devices_); }
  void prepare(const StreamJob&) override;
  void write(Rank rank, ByteView bytes) override { executor_.write(rank, bytes); }
  void read(Rank rank, ByteSpan bytes) const override { executor_.read(rank, bytes); }
  void capture() override { executor_.capture(); }
  double run() override { return executor_.run(); }
  std::vector<MarkedOperation> marked() const override { return marked_; }
  std::vector<double> marks_us() const override { return executor_.marks_us(); }
  std::vector<ClockOffset> clocks() const override;
  ClockOffset clock_began() const override { return {executor_.start().host_us, executor_.start().error_us}; }

 protected:
  cuda::Executor& executor() { return executor_; }

 private:
  bool is_one_launch(std::string_view algorithm) const;
  void prepare_one_launch(const StreamJob&);

  const std::vector<int> devices_;
  const StreamPlanSettings::Carriage carriage_;
  cuda::Executor executor_;
  std::optional<cuda::OneLaunchWorld> one_launch_;  // of the job
  const bool graph_;
  std::vector<MarkedOperation> marked_;
};

}  // namespace weft::bench
