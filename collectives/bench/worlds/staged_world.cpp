#include "collectives/bench/worlds/compressed_device.hpp"
#include "collectives/bench/worlds/device_world.hpp"
#include "collectives/bench/worlds/stream_world.hpp"
#include "collectives/bench/worlds/worlds.hpp"
#include "collectives/executors/blocking.hpp"
#include "collectives/transports/cuda/device_transport.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cuda/reduce.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace weft::bench {
namespace {

// The rank's data and work on its device; messages go over the host's transport, by the thread that calls.
class StagedRun final : public StreamWorld {
 public:
  StagedRun(World& world, int device)
      : world_(world),
        rank_(world.here().front()),
        device_(device),
        carriage_(world.takes_device_memory() ? cuda::Carriage::direct : cuda::Carriage::staged),
        transport_(world.at(rank_, 0), {.device = device, .carriage = carriage_}) {}

  int ranks() const override { return world_.ranks(); }
  std::string about() const override {
    return fmt::format("{} ranks, rank {} on: {}; messages {}", ranks(), rank_, cuda::describe_devices({device_}),
                       direct() ? "from device memory" : "through page-locked memory of the host");
  }
  cuda::DeviceTransport& transport() { return transport_; }
  bool direct() const { return carriage_ == cuda::Carriage::direct; }

  void prepare(const StreamJob& job) override {
    const cuda::KeptDevice callers;
    cuda::use_device(device_);
    memory_ = {};  // before more is asked for
    memory_ = cuda::DeviceMemory(buffer_bytes(job.schedule, job.elements, job.dtype));
    job_.emplace(job);
  }
  void write(Rank, ByteView bytes) override { copy(memory_.data(), bytes.data(), bytes.size()); }
  void read(Rank, ByteSpan bytes) const override { copy(bytes.data(), memory_.data(), bytes.size()); }

  double run(std::int64_t count) override {
    const double start = now_us();
    for (std::int64_t i = 0; i < count; ++i) run_once();
    transport_.finish();
    return (now_us() - start) / static_cast<double>(count);
  }

  void capture() override { check(false, "a graph of what the host does"); }
  std::vector<MarkedOperation> marked() const override { return {}; }
  std::vector<double> marks_us() const override { return {}; }
  std::vector<ClockOffset> clocks() const override { return {}; }

 private:
  void run_once() {
    const Schedule& schedule = job_->schedule;
    const Buffer buffer{{.elements = job_->elements, .chunks = schedule.chunks}, job_->dtype, memory_.as<std::byte>()};
    if (job_->library) {
      transport_.finish();  // the library goes by itself
      world_.run_library(schedule, job_->op, rank_, buffer);
    } else {
      FilteredSteps steps(schedule.channels.front(), rank_);
      run_blocking(steps, 0, job_->op, buffer, transport_);
    }
    if (job_->op == ReduceOp::avg) average(buffer);
  }
  void copy(void* to, const void* from, std::size_t bytes) const {
    const cuda::KeptDevice callers;
    cuda::use_device(device_);
    cuda::copy(to, from, bytes);
    cuda::synchronise();
  }
  void average(const Buffer& buffer) {
    const auto [first, end] = averaged_chunks(job_->schedule, rank_);
    const ByteSpan part = buffer.chunks(first, end - first);
    transport_.finish();
    const cuda::KeptDevice callers;
    cuda::use_device(device_);
    cuda::scale_average(job_->dtype, part.data(), part.size() / size_of(job_->dtype), job_->schedule.workers(), transport_.stream());
    cuda::synchronise(transport_.stream());
  }

  World& world_;
  const Rank rank_;
  const int device_;
  const cuda::Carriage carriage_;
  cuda::DeviceTransport transport_;
  cuda::DeviceMemory memory_;
  std::optional<StreamJob> job_;
};

class WorldLookout final : public cuda::Lookout {
 public:
  explicit WorldLookout(World& world) : world_(world) {}
  void look() override { world_.look(); }
  void tell_waiting(const std::string& what) override { world_.tell_waiting(what); }
  std::string others() override { return world_.others(); }

 private:
  World& world_;
};

class StagedRank final : public World {
 public:
  StagedRank(const Settings& s, World& world, int device)
      : settings_(s), world_(world), rank_(world.here().front()), device_(device), lookout_(world), run_(world, device) {
    if (s.compression) compressed_.emplace(s, rank_, run_.transport(), world.at(rank_, 0));
  }

  int ranks() const override { return world_.ranks(); }
  int gpus() const override { return std::min(ranks(), cuda::device_count()); }
  std::string about() const override { return run_.about(); }
  std::string_view library() const override { return world_.library(); }
  bool has_own(std::string_view algorithm) const override { return is_one_launch(algorithm) || world_.has_own(algorithm); }
  bool runs_own(std::string_view algorithm, Collective collective, DType dtype, ReduceOp op) const override {
    if (is_one_launch(algorithm)) return collective == Collective::allreduce && (op == ReduceOp::sum || op == ReduceOp::avg);
    return run_.direct() && world_.runs_own(algorithm, collective, dtype, op);
  }
  std::vector<Rank> here() const override { return world_.here(); }
  Transport& at(Rank rank, int channel) override { return world_.at(rank, channel); }
  void fail(const std::string& reason) override {
    if (one_launch_) one_launch_->give_up();
    world_.fail(reason);
  }
  std::string report() const override { return world_.report(); }
  bool one_clock() const override { return world_.one_clock(); }
  void look() override { world_.look(); }
  void tell_waiting(const std::string& what) override { world_.tell_waiting(what); }
  std::string others() override { return world_.others(); }
  StreamWorld* device(std::string_view algorithm) override {
    if (compressed_) return &*compressed_;
    if (!is_one_launch(algorithm)) return &run_;
    if (!one_launch_)
      one_launch_.emplace(settings_, only(rank_, ranks(), device_),
                          DeviceWorld::Beside{.lookout = &lookout_, .host = &world_.at(rank_, 0)});
    return &*one_launch_;
  }

 private:
  const Settings& settings_;
  World& world_;
  const Rank rank_;
  const int device_;
  WorldLookout lookout_;
  StagedRun run_;
  std::optional<CompressedOnDevice> compressed_;
  std::optional<DeviceWorld> one_launch_;  // since it is first asked for
};

}  // namespace

std::unique_ptr<World> staged_rank(const Settings& s, World& world, int local_rank) {
  return std::make_unique<StagedRank>(s, world, local_rank % visible_devices());
}

}  // namespace weft::bench
