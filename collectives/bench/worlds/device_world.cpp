#include "collectives/bench/worlds/device_world.hpp"

#include "collectives/bench/worlds/worlds.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

namespace weft::bench {

namespace {

Shots shots_of(const StreamJob& job) { return job.algorithm == "one_shot" ? Shots::one : Shots::two; }

}  // namespace

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

std::vector<int> only(Rank rank, int ranks, int device) {
  std::vector<int> devices(static_cast<std::size_t>(ranks), cuda::elsewhere);
  devices[static_cast<std::size_t>(rank)] = device;
  return devices;
}

bool is_one_launch(std::string_view algorithm) { return algorithm == "one_shot" || algorithm == "two_shot"; }

DeviceWorld::DeviceWorld(const Settings& s, std::vector<int> devices, Beside beside)
    : devices_(std::move(devices)),
      carriage_(beside.messenger == nullptr ? StreamPlanSettings::Carriage::pull : StreamPlanSettings::Carriage::messages),
      executor_({.devices = devices_, .messenger = beside.messenger, .lookout = beside.lookout, .patience = s.patience}),
      host_(beside.host),
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

bool DeviceWorld::runs_own(std::string_view, Collective collective, DType, ReduceOp op) const {
  return collective == Collective::allreduce && (op == ReduceOp::sum || op == ReduceOp::avg);
}

void DeviceWorld::prepare_one_launch(const StreamJob& job) {
  if (host_ != nullptr)
    prepare_one_launch_between_processes(job);
  else
    prepare_one_launch_here(job);
}

void DeviceWorld::prepare_one_launch_here(const StreamJob& job) {
  if (const std::string why = cuda::OneLaunchWorld::obstacle(devices_, executor_); !why.empty())
    throw InputError(fmt::format("--algorithm {}: {}", job.algorithm, why));
  if (graph_ && gpus() < ranks())
    throw InputError(
        fmt::format("--graph: kernels of {} wait for each other, and a graph need not run those of one GPU at once: needs a "
                    "GPU for each of {} ranks, got {}",
                    job.algorithm, ranks(), gpus()));
  one_launch_.emplace(devices_, static_cast<std::size_t>(job.elements) * size_of(job.dtype));
  executor_.replace([this, shots = shots_of(job), dtype = job.dtype, op = job.op, elements = job.elements] {
    one_launch_->enqueue(shots, dtype, op, elements, executor_);
  });
}

void DeviceWorld::prepare_one_launch_between_processes(const StreamJob& job) {
  const auto here = std::find_if(devices_.begin(), devices_.end(), [](int d) { return d != cuda::elsewhere; });
  const auto rank = static_cast<Rank>(here - devices_.begin());
  if (!one_launch_rank_) one_launch_rank_.emplace(rank, ranks(), *here, *host_);
  const std::string why = one_launch_rank_->make_room(static_cast<std::size_t>(job.elements) * size_of(job.dtype));
  if (!why.empty()) throw InputError(fmt::format("--algorithm {}: {}", job.algorithm, why));
  executor_.replace([this, rank, shots = shots_of(job), dtype = job.dtype, op = job.op, elements = job.elements] {
    one_launch_rank_->enqueue(shots, dtype, op, elements, executor_.message(rank), executor_.stream(rank));
  });
}

void DeviceWorld::give_up() {
  if (one_launch_rank_) one_launch_rank_->give_up();
}

std::vector<ClockOffset> DeviceWorld::clocks() const {
  std::vector<ClockOffset> all;
  for (const cuda::Executor::Clock& c : executor_.clocks()) all.push_back({c.offset_us, c.error_us});
  return all;
}

std::unique_ptr<StreamWorld> cuda_world(const Settings& s) {
  return std::make_unique<DeviceWorld>(s, cuda::devices_of_ranks(s.with_servers(), visible_devices()), DeviceWorld::Beside{});
}

}  // namespace weft::bench
