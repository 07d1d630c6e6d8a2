#include "kernels/cuda/check.hpp"
#include "kernels/cuda/one_launch.hpp"

namespace weft::cuda {
namespace {

constexpr unsigned threads = 512;
constexpr unsigned looks_at_own = 4096;  // memory for one at the host's, which is far away

struct Block {
  __device__ unsigned thread() const { return threadIdx.x; }
  __device__ unsigned threads() const { return blockDim.x; }
  __device__ void sync() const { __syncthreads(); }
  __device__ void raise(std::uint32_t* flag, std::uint32_t value) const {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  }
  __device__ void wait_for(const std::uint32_t* flag, std::uint32_t value, const volatile std::uint32_t* given_up) const {
    for (unsigned looks = 1;; ++looks) {
      std::uint32_t seen;
      asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      if (static_cast<std::int32_t>(seen - value) >= 0) return;
      if (looks % looks_at_own == 0 && given_up != nullptr && *given_up != 0) return;
    }
  }
};

template <class T>
struct Whole {
  __device__ T operator()(T sum) const { return sum; }
};

template <class T, class Finish>
__global__ void __launch_bounds__(threads) one_launch_kernel(OneLaunchCall call, Shots shots, Finish finish) {
  Block block;
  OneLaunch<T, Block>(block, call, blockIdx.x).template run<ReduceOp::sum>(shots, finish);
}

}  // namespace

void one_launch_allreduce(const OneLaunchCall& call, Shots shots, DType type, ReduceOp op, Stream stream) {
  check(op == ReduceOp::sum || op == ReduceOp::avg, "one launch makes no {}", name_of(op));
  check(call.ranks >= 1 && call.ranks <= max_one_launch_ranks, "one launch of {} ranks", call.ranks);
  check(call.count * size_of(type) <= call.capacity_bytes, "a message of {} x {} B in {} B", call.count, size_of(type),
        call.capacity_bytes);
  check(reinterpret_cast<std::uintptr_t>(call.message) % 16 == 0, "a message that is not aligned to 16 bytes");
  with_type(type, [&]<class T>() {
    const auto launch = [&]<class Finish>(const Finish& finish) {
      one_launch_kernel<T><<<one_launch_blocks, threads, 0, stream>>>(call, shots, finish);
      check_launch("one_launch_allreduce");
    };
    if (op == ReduceOp::avg)
      launch(Average<T>(call.ranks));
    else
      launch(Whole<T>());
  });
}

}  // namespace weft::cuda
