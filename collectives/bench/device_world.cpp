#include "collectives/bench/device_world.hpp"

#include "collectives/bench/worlds.hpp"
#include "kernels/base/error.hpp"

#include <cstdlib>
#include <set>

#include <fmt/format.h>

namespace weft::bench {

int visible_devices() {
  // Each stream is to have a hardware queue: with the usual 8 of a device, work of a ninth waits for that of another. Read when the
  // device is first used.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  const int devices = cuda::device_count();
  if (devices == 0)
    throw InputError(
        "no CUDA device is visible: --transport cuda and nccl, and --device gpu, need a GPU with its driver, and CUDA_VISIBLE_DEVICES not "
        "to hide it");
  return devices;
}

DeviceWorld::DeviceWorld(const Settings& s, std::vector<int> devices, cuda::Messenger* messenger)
    : devices_(std::move(devices)),
      carriage_(messenger == nullptr ? StreamPlanSettings::Carriage::pull : StreamPlanSettings::Carriage::messages),
      executor_({.devices = devices_, .messenger = messenger, .patience = s.patience}),
      graph_(s.graph) {}

int DeviceWorld::gpus() const {
  std::set<int> all(devices_.begin(), devices_.end());
  all.erase(cuda::elsewhere);
  return static_cast<int>(all.size());
}

std::string DeviceWorld::about() const {
  bool reads = true;
  for (Rank a = 0; a < ranks(); ++a)
    for (Rank b = 0; b < ranks(); ++b) reads = reads && executor_.reads(a, b);
  return fmt::format("{} ranks on {} GPU{}: {}{}", ranks(), gpus(), gpus() == 1 ? "" : "s", cuda::describe_devices(devices_),
                     reads ? "" : "; some without peer access");
}

void DeviceWorld::prepare(const StreamJob& job) {
  StreamPlan plan = plan_streams(job.schedule, {.elements = job.elements,
                                                .dtype = job.dtype,
                                                .op = job.op,
                                                .carriage = carriage_,
                                                .reads = [this](Rank reader, Rank owner) { return executor_.reads(reader, owner); },
                                                .marks = job.marks});
  marked_ = plan.marked;
  executor_.prepare(std::move(plan));
  one_launch_.reset();
  if (is_one_launch(job.algorithm)) prepare_one_launch(job);
}

bool DeviceWorld::is_one_launch(std::string_view algorithm) const {
  return carriage_ == StreamPlanSettings::Carriage::pull && (algorithm == "one_shot" || algorithm == "two_shot");
}

bool DeviceWorld::library_runs(Collective collective, DType, ReduceOp op) const {
  return collective == Collective::allreduce && (op == ReduceOp::sum || op == ReduceOp::avg);
}

void DeviceWorld::prepare_one_launch(const StreamJob& job) {
  if (const std::string why = cuda::OneLaunchWorld::obstacle(devices_, executor_); !why.empty())
    throw InputError(fmt::format("--algorithm {}: {}", job.algorithm, why));
  if (graph_ && gpus() < ranks())
    throw InputError(
        fmt::format("--graph: kernels of {} wait for each other, and a graph need not run those of one GPU at once: needs a "
                    "GPU for each of {} ranks, got {}",
                    job.algorithm, ranks(), gpus()));
  one_launch_.emplace(devices_, static_cast<std::size_t>(job.elements) * size_of(job.dtype));
  const Shots shots = job.algorithm == "one_shot" ? Shots::one : Shots::two;
  executor_.replace([this, shots, dtype = job.dtype, op = job.op, elements = job.elements] {
    one_launch_->enqueue(shots, dtype, op, elements, executor_);
  });
}

std::vector<ClockOffset> DeviceWorld::clocks() const {
  std::vector<ClockOffset> all;
  for (const cuda::Executor::Clock& c : executor_.clocks()) all.push_back({c.offset_us, c.error_us});
  return all;
}

std::unique_ptr<StreamWorld> cuda_world(const Settings& s) {
  return std::make_unique<DeviceWorld>(s, cuda::devices_of_ranks(s.with_servers(), visible_devices()), nullptr);
}

}  // namespace weft::bench
