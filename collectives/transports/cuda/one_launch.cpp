#include "collectives/transports/cuda/one_launch.hpp"

#include "kernels/cuda/one_launch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weft::cuda {

std::string OneLaunchWorld::obstacle(const std::vector<int>& devices, const Executor& executor) {
  if (std::cmp_greater(devices.size(), max_one_launch_ranks))
    return fmt::format("has at most {} ranks, got {}", max_one_launch_ranks, devices.size());
  for (Rank reader = 0; std::cmp_less(reader, devices.size()); ++reader)
    for (Rank owner = 0; std::cmp_less(owner, devices.size()); ++owner)
      if (!executor.reads(reader, owner))
        return fmt::format("needs peer access between all GPUs, and rank {} cannot read the memory of rank {}", reader, owner);
  return {};
}

OneLaunchWorld::OneLaunchWorld(std::vector<int> devices, std::size_t capacity_bytes)
    : devices_(std::move(devices)), capacity_bytes_(capacity_bytes) {
  const KeptDevice callers;
  const std::size_t staging = one_launch_staging_bytes(capacity_bytes), flags = one_launch_flags * sizeof(std::uint32_t);
  for (const int device : devices_) {
    use_device(device);
    const DeviceMemory& own = memories_.emplace_back(staging + flags);
    auto* const at = own.as<std::byte>();
    zero(at + staging, flags);
    synchronise();
    places_.push_back({at, reinterpret_cast<std::uint32_t*>(at + staging)});
  }
}

void OneLaunchWorld::enqueue(Shots shots, DType dtype, ReduceOp op, std::int64_t elements, const Executor& executor) {
  OneLaunchCall call{};
  call.ranks = static_cast<int>(devices_.size());
  call.count = static_cast<std::size_t>(elements);
  call.capacity_bytes = capacity_bytes_;
  std::copy(places_.begin(), places_.end(), call.place);
  for (call.rank = 0; call.rank < call.ranks; ++call.rank) {
    use_device(devices_[static_cast<std::size_t>(call.rank)]);
    call.message = executor.message(call.rank);
    one_launch_allreduce(call, shots, dtype, op, executor.stream(call.rank));
  }
}

}  // namespace weft::cuda
