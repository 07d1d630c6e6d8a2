// The smallest key among the k largest is found digit by digit (radix select): count the keys that share the digits known
// so far by their next digit, go to the digit in which the k-th falls. Then all keys from it on are gathered, and only
// those k are sorted. Nothing waits for the host.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/top_k.hpp"
#include "kernels/top_k_ops.hpp"

#include <algorithm>

#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>

namespace weft::cuda {
namespace {

using Count = unsigned long long;

constexpr unsigned threads = 512;
constexpr int key_bits = 63;  // of a magnitude without sign and an index
constexpr int digit_bits = 11;
constexpr unsigned digits = 1u << digit_bits;
constexpr int passes = (key_bits + digit_bits - 1) / digit_bits;

struct Digit {
  int shift;
  unsigned mask;
};

// The last digit is what is left.
__host__ __device__ constexpr Digit digit_of_pass(int pass) {
  const int above = key_bits - pass * digit_bits;
  const int width = above < digit_bits ? above : digit_bits;
  return {above - width, (1u << width) - 1};
}

struct State {
  Count wanted;          // of the keys that share the digits known so far
  std::uint64_t prefix;  // those digits, in place
  Count gathered;
  bool done;  // all that share them are wanted: the rest of the digits does not matter
  Count histogram[digits];
};

__global__ void start_kernel(State* state, Count wanted) {
  for (unsigned d = threadIdx.x; d < digits; d += threads) state->histogram[d] = 0;
  if (threadIdx.x == 0) {
    state->wanted = wanted;
    state->prefix = 0;
    state->gathered = 0;
    state->done = false;
  }
}

__global__ void __launch_bounds__(threads) count_kernel(State* state, const float* values, std::size_t count, int pass) {
  __shared__ unsigned histogram[digits];
  if (state->done) return;
  for (unsigned d = threadIdx.x; d < digits; d += threads) histogram[d] = 0;
  __syncthreads();
  const Digit digit = digit_of_pass(pass);
  const std::uint64_t known = pass == 0 ? 0 : ~std::uint64_t{0} << digit_of_pass(pass - 1).shift;
  const std::uint64_t prefix = state->prefix;
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < count; i += std::size_t{gridDim.x} * threads) {
    const std::uint64_t key = top_k_key(values[i], static_cast<std::uint32_t>(i));
    if ((key & known) == prefix) atomicAdd(&histogram[static_cast<unsigned>(key >> digit.shift) & digit.mask], 1u);
  }
  __syncthreads();
  for (unsigned d = threadIdx.x; d < digits; d += threads)
    if (histogram[d] != 0) atomicAdd(&state->histogram[d], Count{histogram[d]});
}

// One block: finds the digit in which the last wanted key falls, counting from the largest digit down.
__global__ void __launch_bounds__(threads) choose_kernel(State* state, int pass) {
  constexpr int each = digits / threads;
  using Scan = cub::BlockScan<Count, threads>;
  __shared__ typename Scan::TempStorage storage;
  if (state->done) return;
  const Count wanted = state->wanted;
  Count here[each], before[each];
  const unsigned first = threadIdx.x * each;
  for (int i = 0; i < each; ++i) {
    Count& counted = state->histogram[digits - 1 - (first + i)];
    here[i] = counted;
    counted = 0;  // for the next pass
  }
  Scan(storage).ExclusiveSum(here, before);
  __syncthreads();  // `wanted` was read by all
  for (int i = 0; i < each; ++i) {
    if (wanted <= before[i] || wanted > before[i] + here[i]) continue;
    state->wanted = wanted - before[i];
    state->prefix |= std::uint64_t{digits - 1 - (first + i)} << digit_of_pass(pass).shift;
    state->done = wanted - before[i] == here[i];
  }
}

__global__ void __launch_bounds__(threads) gather_kernel(State* state, const float* values, std::size_t count, std::uint64_t* keys) {
  const std::uint64_t smallest = state->prefix;
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < count; i += std::size_t{gridDim.x} * threads) {
    const std::uint64_t key = top_k_key(values[i], static_cast<std::uint32_t>(i));
    if (key >= smallest) keys[atomicAdd(&state->gathered, Count{1})] = key;
  }
}

__global__ void __launch_bounds__(threads) entries_kernel(const std::uint64_t* keys, const float* values, Entry* largest, std::size_t k) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= k) return;
  const std::uint32_t index = index_of(keys[i]);
  largest[i] = {index, values[index]};
}

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

}  // namespace

void top_k(std::span<const float> values, std::span<Entry> largest, Stream stream) {
  const std::size_t count = values.size(), k = largest.size();
  check_top_k(k, count);
  if (k == 0) return;

  const Scratch state(sizeof(State), stream), keys(2 * k * sizeof(std::uint64_t), stream);
  auto* unsorted = keys.as<std::uint64_t>();
  auto* sorted = unsorted + k;
  const unsigned blocks = std::min(blocks_for(count), 2048u);

  start_kernel<<<1, threads, 0, stream>>>(state.as<State>(), k);
  check_launch("top_k: start");
  for (int pass = 0; pass < passes; ++pass) {
    count_kernel<<<blocks, threads, 0, stream>>>(state.as<State>(), values.data(), count, pass);
    check_launch("top_k: count");
    choose_kernel<<<1, threads, 0, stream>>>(state.as<State>(), pass);
    check_launch("top_k: choose");
  }
  gather_kernel<<<blocks, threads, 0, stream>>>(state.as<State>(), values.data(), count, unsorted);
  check_launch("top_k: gather");

  std::size_t sort_bytes = 0;
  const auto sort = [&](void* scratch) {
    check_cuda(cub::DeviceRadixSort::SortKeysDescending(scratch, sort_bytes, unsorted, sorted, k, 0, key_bits, stream),
               "cub::DeviceRadixSort::SortKeysDescending");
  };
  sort(nullptr);
  const Scratch sorting(sort_bytes, stream);
  sort(sorting.as<void>());
  entries_kernel<<<blocks_for(k), threads, 0, stream>>>(sorted, values.data(), largest.data(), k);
  check_launch("top_k: entries");
}

}  // namespace weft::cuda
