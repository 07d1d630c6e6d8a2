// The smallest key among the k largest is found digit by digit (radix select): count the keys that share the digits known
// so far by their next digit, go to the digit in which the k-th falls. After the first digit the few keys from it on are
// kept in a list, which is all that is read from then on, unless they are too many for it. In the end all keys from the
// smallest on are gathered, and only those k are sorted. Nothing waits for the host.
#include "kernels/compression/top_k_ops.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/sort_keys.hpp"
#include "kernels/cuda/top_k.hpp"

#include <algorithm>

#include <cub/block/block_scan.cuh>

namespace weft::cuda {
namespace {

using Count = unsigned long long;

constexpr unsigned threads = 512;
constexpr unsigned groups_per_thread = 4;  // of four keys, all asked for before the first is used
constexpr int key_bits = 63;               // of a magnitude without sign and an index
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
  Count kept;            // how many the list should hold; more than it can: it is not used
  Count gathered;
  bool done;  // all that share them are wanted: the rest of the digits does not matter
  Count histogram[digits];
};

__global__ void start_kernel(State* state, Count wanted) {
  for (unsigned d = threadIdx.x; d < digits; d += threads) state->histogram[d] = 0;
  if (threadIdx.x == 0) {
    state->wanted = wanted;
    state->prefix = 0;
    state->kept = 0;
    state->gathered = 0;
    state->done = false;
  }
}

// Four keys, or those of them that there are.
struct Keys {
  std::uint64_t key[4];
  bool there[4];
};

// Where keys come from: the values, four at once where 16 bytes are aligned, or the list of those that were kept.
struct Source {
  const float* values;
  std::size_t count;
  std::size_t before;  // values that would be needed in front for 16 bytes to be aligned
  const std::uint64_t* list;
  Count capacity;

  __device__ bool listed(const State& state) const { return state.kept <= capacity; }
  __device__ std::size_t groups(const State& state, bool of_list) const {
    return ((of_list ? static_cast<std::size_t>(state.kept) : count + before) + 3) / 4;
  }
  __device__ Keys keys(const State& state, bool of_list, std::size_t group) const {
    Keys out;
    if (of_list) {
      for (int e = 0; e < 4; ++e) {
        out.there[e] = 4 * group + e < state.kept;
        out.key[e] = out.there[e] ? list[4 * group + e] : 0;
      }
      return out;
    }
    float value[4] = {};
    if (4 * group >= before && 4 * group + 4 <= count + before) {
      const float4 four = *reinterpret_cast<const float4*>(values + (4 * group - before));
      value[0] = four.x, value[1] = four.y, value[2] = four.z, value[3] = four.w;
      for (bool& there : out.there) there = true;
    } else {
      for (int e = 0; e < 4; ++e) {
        out.there[e] = 4 * group + e >= before && 4 * group + e < count + before;
        if (out.there[e]) value[e] = values[4 * group + e - before];
      }
    }
    for (int e = 0; e < 4; ++e) out.key[e] = top_k_key(value[e], static_cast<std::uint32_t>(4 * group + e - before));
    return out;
  }
};

__global__ void __launch_bounds__(threads) count_kernel(State* state, Source source, int pass) {
  __shared__ unsigned histogram[digits];
  if (state->done) return;
  for (unsigned d = threadIdx.x; d < digits; d += threads) histogram[d] = 0;
  __syncthreads();
  const Digit digit = digit_of_pass(pass);
  const std::uint64_t known = pass == 0 ? 0 : ~std::uint64_t{0} << digit_of_pass(pass - 1).shift;
  const std::uint64_t prefix = state->prefix;
  const bool of_list = pass > 0 && source.listed(*state);
  const std::size_t groups = source.groups(*state, of_list), stride = std::size_t{gridDim.x} * threads;
#pragma unroll 4
  for (std::size_t group = std::size_t{blockIdx.x} * threads + threadIdx.x; group < groups; group += stride) {
    const Keys keys = source.keys(*state, of_list, group);
    for (int e = 0; e < 4; ++e)
      if (keys.there[e] && (keys.key[e] & known) == prefix)
        atomicAdd(&histogram[static_cast<unsigned>(keys.key[e] >> digit.shift) & digit.mask], 1u);
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

// Room for `mine` behind what all threads have reserved, with one atomic addition to `total` for all of a block. All its threads call it.
__device__ Count reserve(Count* total, unsigned mine) {
  __shared__ unsigned here;
  __shared__ Count first;
  if (threadIdx.x == 0) here = 0;
  __syncthreads();
  const unsigned before = mine > 0 ? atomicAdd(&here, mine) : 0;
  __syncthreads();
  if (threadIdx.x == 0 && here > 0) first = atomicAdd(total, Count{here});
  __syncthreads();
  return first + before;
}

enum class Collects { kept, gathered };

// All keys from the smallest on that the digits known so far allow, as far as there is room; each block has one part of the source.
template <Collects what>
__global__ void __launch_bounds__(threads) collect_kernel(State* state, Source source, std::uint64_t* to, Count room) {
  const bool of_list = what == Collects::gathered && source.listed(*state);
  const std::size_t groups = source.groups(*state, of_list), begin = std::size_t{blockIdx.x} * (threads * groups_per_thread);
  if (begin >= groups) return;
  const std::uint64_t smallest = state->prefix;
  Keys keys[groups_per_thread];
#pragma unroll
  for (unsigned u = 0; u < groups_per_thread; ++u) {
    const std::size_t group = begin + u * threads + threadIdx.x;
    keys[u] = group < groups ? source.keys(*state, of_list, group) : Keys{};
  }
  unsigned mine = 0;
#pragma unroll
  for (Keys& four : keys)
    for (int e = 0; e < 4; ++e) mine += four.there[e] = four.there[e] && four.key[e] >= smallest;
  Count at = reserve(what == Collects::kept ? &state->kept : &state->gathered, mine);
#pragma unroll
  for (const Keys& four : keys)
    for (int e = 0; e < 4; ++e) {
      if (!four.there[e]) continue;
      if (at < room) to[at] = four.key[e];
      ++at;
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

  // Those that share the first digit, 8 bits of exponent and 3 of fraction, are few more than are wanted, unless values crowd there.
  const std::size_t capacity = std::min(count, 4 * k + count / 32);
  const Scratch state(sizeof(State), stream), keys(2 * k * sizeof(std::uint64_t), stream), list(capacity * sizeof(std::uint64_t), stream);
  auto* unsorted = keys.as<std::uint64_t>();
  auto* sorted = unsorted + k;
  const Source source{.values = values.data(),
                      .count = count,
                      .before = reinterpret_cast<std::uintptr_t>(values.data()) % 16 / sizeof(float),
                      .list = list.as<std::uint64_t>(),
                      .capacity = capacity};
  const std::size_t groups = (count + source.before + 3) / 4;
  const unsigned counting = std::min(blocks_for(groups), 2048u),
                 collecting = blocks_for((groups + groups_per_thread - 1) / groups_per_thread);

  start_kernel<<<1, threads, 0, stream>>>(state.as<State>(), k);
  check_launch("top_k: start");
  for (int pass = 0; pass < passes; ++pass) {
    count_kernel<<<counting, threads, 0, stream>>>(state.as<State>(), source, pass);
    check_launch("top_k: count");
    choose_kernel<<<1, threads, 0, stream>>>(state.as<State>(), pass);
    check_launch("top_k: choose");
    if (pass > 0) continue;
    collect_kernel<Collects::kept><<<collecting, threads, 0, stream>>>(state.as<State>(), source, list.as<std::uint64_t>(), capacity);
    check_launch("top_k: keep");
  }
  collect_kernel<Collects::gathered><<<collecting, threads, 0, stream>>>(state.as<State>(), source, unsorted, k);
  check_launch("top_k: gather");

  sort_keys_descending(unsorted, sorted, k, {.first = 0, .end = key_bits}, stream);
  entries_kernel<<<blocks_for(k), threads, 0, stream>>>(sorted, values.data(), largest.data(), k);
  check_launch("top_k: entries");
}

}  // namespace weft::cuda
