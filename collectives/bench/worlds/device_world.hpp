// The streams of GPUs, as a world of the benchmark.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/worlds/stream_world.hpp"
#include "collectives/transports/cuda/executor.hpp"
#include "collectives/transports/cuda/one_launch.hpp"
#include "collectives/transports/cuda/one_launch_rank.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::bench {

// How many GPUs are visible. Throws InputError if none is.
int visible_devices();

// The devices of a job's one rank here, whose others have processes of their own.
std::vector<int> only(Rank rank, int ranks, int device);

bool is_one_launch(std::string_view algorithm);

class DeviceWorld : public StreamWorld {
 public:
  // What the ranks have beside their devices; all must stay.
  struct Beside {
    cuda::Messenger* messenger = nullptr;  // carries transfers, which are pulled from memory to memory without
    cuda::Lookout* lookout = nullptr;      // where no messenger is one
    Transport* host = nullptr;             // where the others have processes of their own: carries memory of the host between them
  };
  DeviceWorld(const Settings&, std::vector<int> devices, Beside);

  int ranks() const override { return static_cast<int>(devices_.size()); }
  int gpus() const override;
  std::string about() const override;
  bool has_own(std::string_view algorithm) const override { return is_one_launch(algorithm) || StreamWorld::has_own(algorithm); }
  bool runs_own(std::string_view algorithm, Collective, DType, ReduceOp) const override;
  std::string name() const { return cuda::describe_devices(devices_); }
  void prepare(const StreamJob&) override;
  void write(Rank rank, ByteView bytes) override { executor_.write(rank, bytes); }
  void read(Rank rank, ByteSpan bytes) const override { executor_.read(rank, bytes); }
  void capture() override { executor_.capture(); }
  double run(std::int64_t count) override { return executor_.run(count); }
  // A rank of another process is lost: nothing on the device waits for it any longer.
  void give_up();
  std::vector<MarkedOperation> marked() const override { return marked_; }
  std::vector<double> marks_us() const override { return executor_.marks_us(); }
  std::vector<ClockOffset> clocks() const override;
  ClockOffset clock_began() const override { return {executor_.start().host_us, executor_.start().error_us}; }

 protected:
  cuda::Executor& executor() { return executor_; }

 private:
  void prepare_one_launch(const StreamJob&);
  void prepare_one_launch_here(const StreamJob&);
  void prepare_one_launch_between_processes(const StreamJob&);

  const std::vector<int> devices_;
  const StreamPlanSettings::Carriage carriage_;
  cuda::Executor executor_;
  std::optional<cuda::OneLaunchWorld> one_launch_;  // of the job
  Transport* const host_;
  std::optional<cuda::OneLaunchRank> one_launch_rank_;  // where the others have processes of their own
  const bool graph_;
  std::vector<MarkedOperation> marked_;
};

}  // namespace weft::bench
