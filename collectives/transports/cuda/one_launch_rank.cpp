#include "collectives/transports/cuda/one_launch_rank.hpp"

#include "collectives/transports/cuda/pinned_memory.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cuda/one_launch.hpp"

#include <atomic>
#include <optional>

#include <fmt/format.h>

namespace weft::cuda {

class OneLaunchRank::Work {
 public:
  Work(Rank rank, int ranks, int device, Transport& host)
      : rank_(rank), ranks_(ranks), device_(device), given_up_(sizeof(std::uint32_t)), memory_(rank, ranks, device, host) {
    std::atomic_ref(given_up()).store(0);
  }

  std::string make_room(std::size_t message_bytes) {
    if (ranks_ > max_one_launch_ranks) return fmt::format("has at most {} ranks, got {}", max_one_launch_ranks, ranks_);
    if (capacity_bytes_ && message_bytes <= *capacity_bytes_) return {};
    capacity_bytes_.reset();
    std::string why = memory_.make_room(one_launch_staging_bytes(message_bytes) + one_launch_flags * sizeof(std::uint32_t));
    if (why.empty()) capacity_bytes_ = message_bytes;
    return why;
  }
  void enqueue(Shots shots, DType dtype, ReduceOp op, std::int64_t elements, void* message, Stream stream) {
    check(capacity_bytes_.has_value(), "one launch without room");
    OneLaunchCall call{};
    for (std::size_t r = 0; r < memory_.places().size(); ++r) {
      std::byte* const place = memory_.places()[r];
      call.place[r] = {place, reinterpret_cast<std::uint32_t*>(place + one_launch_staging_bytes(*capacity_bytes_))};
    }
    call.rank = rank_;
    call.ranks = ranks_;
    call.message = message;
    call.count = static_cast<std::size_t>(elements);
    call.capacity_bytes = *capacity_bytes_;
    call.given_up = &given_up();
    use_device(device_);
    one_launch_allreduce(call, shots, dtype, op, stream);
  }
  void give_up() {
    std::atomic_ref(given_up()).store(1);
    memory_.leave_alone();
  }

 private:
  std::uint32_t& given_up() const { return *reinterpret_cast<std::uint32_t*>(given_up_.data()); }

  const Rank rank_;
  const int ranks_, device_;
  PinnedMemory given_up_;
  SharedMemory memory_;
  std::optional<std::size_t> capacity_bytes_;  // none before there is room, and where there can be none
};

OneLaunchRank::OneLaunchRank(Rank rank, int ranks, int device, Transport& host) {
  const KeptDevice callers;
  use_device(device);
  work_ = std::make_unique<Work>(rank, ranks, device, host);
}
OneLaunchRank::~OneLaunchRank() = default;

std::string OneLaunchRank::make_room(std::size_t message_bytes) { return work_->make_room(message_bytes); }
void OneLaunchRank::enqueue(Shots shots, DType dtype, ReduceOp op, std::int64_t elements, void* message, Stream stream) {
  const KeptDevice callers;
  work_->enqueue(shots, dtype, op, elements, message, stream);
}
void OneLaunchRank::give_up() { work_->give_up(); }

}  // namespace weft::cuda
