#include "collectives/transports/cuda/shared_memory.hpp"

#include "collectives/executors/blocking.hpp"
#include "collectives/registry/registry.hpp"
#include "kernels/cuda/check.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <fstream>
#include <string_view>
#include <type_traits>

namespace weft::cuda {
namespace {

// What CUDA gives out by a handle are whole pages of this size: nothing else is to lie in them.
constexpr std::size_t page_bytes = std::size_t{2} << 20;

template <std::size_t size>
void put(std::array<char, size>& into, std::string_view text) {
  into = {};
  text.copy(into.data(), size - 1);
}
template <std::size_t size>
std::string_view text_of(const std::array<char, size>& from) {
  return from.data();
}

// By which processes of one running machine know each other.
std::string machine() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

// What a rank tells the others.
struct Offer {
  std::array<char, 40> machine{};
  std::array<char, 24> gpu{};  // its place on the bus
  std::array<char, 192> problem{};
  cudaIpcMemHandle_t handle{};
};
static_assert(std::is_trivially_copyable_v<Offer>);

}  // namespace

class SharedMemory::Work {
 public:
  Work(Rank rank, int ranks, int device, Transport& host) : rank_(rank), ranks_(ranks), device_(device), host_(host) {}
  ~Work() {
    try {
      close();
    } catch (const std::exception&) {  // a rank is lost: there is nothing to wait for
    }
  }

  std::string make_room(std::size_t bytes) {
    use_device(device_);
    close();
    const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    own_ = DeviceMemory(whole);
    zero(own_.data(), whole);
    synchronise();
    std::vector<Offer> all = exchanged(offer());
    if (std::string why = obstacle(all); !why.empty()) return why;
    all = exchanged(opened(all));  // also: nobody writes to memory before it is zero and seen by all
    const auto bad = std::find_if(all.begin(), all.end(), [](const Offer& o) { return !text_of(o.problem).empty(); });
    return bad == all.end() ? "" : std::string(text_of(bad->problem));
  }
  const std::vector<std::byte*>& places() const { return places_; }
  void leave_alone() { alone_ = true; }

 private:
  // The others' memory is given back before its owners free it.
  void close() {
    use_device(device_);
    if (places_.empty()) return;
    for (Rank r = 0; r < ranks_; ++r)
      if (std::byte* const place = places_[static_cast<std::size_t>(r)]; r != rank_ && place != nullptr)
        static_cast<void>(cudaIpcCloseMemHandle(place));  // fails only after another call has failed
    places_.clear();
    if (!alone_) exchanged({});
    own_ = {};
  }

  Offer offer() const {
    Offer own;
    put(own.machine, machine());
    check_cuda(cudaDeviceGetPCIBusId(own.gpu.data(), static_cast<int>(own.gpu.size()), device_), "cudaDeviceGetPCIBusId");
    if (const cudaError_t error = cudaIpcGetMemHandle(&own.handle, own_.data()); error != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // it would be reported by the next launch
      put(own.problem, fmt::format("needs memory that processes share, and rank {} cannot give its own: cudaIpcGetMemHandle: {}", rank_,
                                   cudaGetErrorString(error)));
    }
    return own;
  }
  static std::string obstacle(const std::vector<Offer>& all) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (!text_of(all[r].problem).empty()) return std::string(text_of(all[r].problem));
      if (all[r].machine != all[0].machine) return fmt::format("needs all ranks on one machine, and rank {} is not on rank 0's", r);
      for (std::size_t other = 0; other < r; ++other)
        if (all[r].gpu == all[other].gpu)
          return fmt::format("needs a GPU for each rank, and ranks {} and {} both have {}", other, r, text_of(all[r].gpu));
    }
    return {};
  }
  Offer opened(const std::vector<Offer>& all) {
    Offer verdict;
    places_.assign(all.size(), nullptr);
    places_[static_cast<std::size_t>(rank_)] = own_.as<std::byte>();
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (std::cmp_equal(r, rank_)) continue;
      void* place = nullptr;
      const cudaError_t error = cudaIpcOpenMemHandle(&place, all[r].handle, cudaIpcMemLazyEnablePeerAccess);
      places_[r] = static_cast<std::byte*>(place);
      if (error == cudaSuccess) continue;
      static_cast<void>(cudaGetLastError());  // it would be reported by the next launch
      put(verdict.problem, fmt::format("needs peer access between all GPUs, and rank {} cannot read the memory of rank {}: {} ({})", rank_,
                                       r, cudaGetErrorString(error), cudaGetErrorName(error)));
      break;
    }
    return verdict;
  }

  std::vector<Offer> exchanged(const Offer& own) {
    std::vector<Offer> all(static_cast<std::size_t>(ranks_));
    all[static_cast<std::size_t>(rank_)] = own;
    const Schedule schedule = build({.collective = Collective::allgather, .algorithm = "bruck", .ranks = ranks_});
    const auto bytes = static_cast<std::int64_t>(all.size() * sizeof(Offer));
    std::vector<std::byte> memory(buffer_bytes(schedule, bytes, DType::uint8));
    std::memcpy(memory.data(), all.data(), static_cast<std::size_t>(bytes));
    FilteredSteps steps(schedule.channels.front(), rank_);
    run_blocking(steps, 0, ReduceOp::sum, {layout_of(schedule, bytes), DType::uint8, memory.data()}, host_);
    std::memcpy(all.data(), memory.data(), static_cast<std::size_t>(bytes));
    return all;
  }

  const Rank rank_;
  const int ranks_, device_;
  Transport& host_;
  DeviceMemory own_;
  std::vector<std::byte*> places_;
  bool alone_ = false;
};

SharedMemory::SharedMemory(Rank rank, int ranks, int device, Transport& host) : work_(std::make_unique<Work>(rank, ranks, device, host)) {}
SharedMemory::~SharedMemory() {
  const KeptDevice callers;
  work_.reset();
}

std::string SharedMemory::make_room(std::size_t bytes) {
  const KeptDevice callers;
  return work_->make_room(bytes);
}
const std::vector<std::byte*>& SharedMemory::places() const { return work_->places(); }
void SharedMemory::leave_alone() { work_->leave_alone(); }

}  // namespace weft::cuda
