// The smallest key among the k largest is found digit by digit (radix select): count the keys that share the digits known
// so far by their next digit, go to the digit in which the k-th falls. Of many values a sample says first from which magnitude on a
// little more than k are to be expected: one reading of all keeps those in a list, which is all that is read from then on. Where the
// list turns out to hold fewer than k, or more than it has room for, all values are read each time instead. In the end all keys from the
// smallest on are gathered, and only those k are sorted. Nothing waits for the host.
#include "kernels/compression/top_k_ops.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/sort_keys.hpp"
#include "kernels/cuda/top_k.hpp"

#include <algorithm>
#include <cmath>

#include <cub/block/block_scan.cuh>

namespace weft::cuda {
namespace {

using Count = unsigned long long;

constexpr unsigned threads = 512;
constexpr unsigned max_blocks = 528;       // of kernels that go through everything in turns: four on each multiprocessor of an H100
constexpr unsigned groups_per_thread = 4;  // of four keys, all asked for before the first is used
constexpr int key_bits = 63;               // of a magnitude without sign and an index
constexpr int digit_bits = 11;
constexpr unsigned digits = 1u << digit_bits;
constexpr int passes = (key_bits + digit_bits - 1) / digit_bits;
constexpr int sample_passes = 2;  // 22 of the 31 bits of a magnitude
constexpr std::size_t min_sampled = 1u << 15, max_samples = 1u << 17;

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

// Of a search for the smallest of the `wanted` largest keys.
struct State {
  Count wanted;          // of the keys that share the digits known so far
  std::uint64_t prefix;  // those digits, in place
  Count kept;            // how many the list should hold; more than it can: it is not used
  Count gathered;
  unsigned counted;  // blocks that have counted in this pass
  bool done;         // all that share them are wanted: the rest of the digits does not matter
  Count histogram[digits];
};

// Of the sample and of all.
struct States {
  State sample, all;
};

__global__ void start_kernel(States* states, Count wanted_of_sample, Count wanted) {
  for (State* state : {&states->sample, &states->all}) {
    for (unsigned d = threadIdx.x; d < digits; d += threads) state->histogram[d] = 0;
    if (threadIdx.x > 0) continue;
    state->wanted = state == &states->all ? wanted : wanted_of_sample;
    state->prefix = 0;
    state->kept = 0;
    state->gathered = 0;
    state->counted = 0;
    state->done = false;
  }
}

// Four keys, or those of them that there are.
struct Keys {
  std::uint64_t key[4];
  bool there[4];
};

enum class From { sample, list, values };

// Where keys come from: the values, four at once where 16 bytes are aligned, some of these groups of four, or the list of the values that
// were kept.
struct Source {
  const float* values;
  std::size_t count;
  std::size_t before;   // values that would be needed in front for 16 bytes to be aligned
  std::size_t sampled;  // groups of the sample
  const std::uint64_t* list;
  Count least, capacity;  // so many keys must the list hold, and can it

  __device__ From from(const State& state) const { return state.kept >= least && state.kept <= capacity ? From::list : From::values; }
  __device__ std::size_t groups(const State& state, From from) const {
    if (from == From::sample) return sampled;
    return ((from == From::list ? static_cast<std::size_t>(state.kept) : count + before) + 3) / 4;
  }
  __device__ Keys keys(const State& state, From from, std::size_t group) const {
    Keys out;
    if (from == From::list) {
      for (int e = 0; e < 4; ++e) {
        out.there[e] = 4 * group + e < state.kept;
        out.key[e] = out.there[e] ? list[4 * group + e] : 0;
      }
      return out;
    }
    if (from == From::sample) {  // one of each so many, now the first, now another, so that what repeats is not met each time
      const std::size_t each = (count + before) / 4 / sampled;
      group = group * each + static_cast<std::uint32_t>(group * 0x9e3779b1u) % each;
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

// By all threads of one block: finds the digit in which the last wanted key falls, counting from the largest digit down.
__device__ void choose(State* state, int pass) {
  constexpr int each = digits / threads;
  using Scan = cub::BlockScan<Count, threads>;
  __shared__ typename Scan::TempStorage storage;
  const Count wanted = state->wanted;
  Count here[each], before[each];
  const unsigned first = threadIdx.x * each;
  for (int i = 0; i < each; ++i) {
    Count& counted = state->histogram[digits - 1 - (first + i)];
    here[i] = __ldcg(&counted);
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

// Counts one digit of the keys that share those before it; the last block that has counted chooses.
__global__ void __launch_bounds__(threads) count_kernel(State* state, Source source, bool of_sample, int pass) {
  __shared__ unsigned histogram[digits];
  __shared__ bool last;
  if (state->done) return;
  const From from = of_sample ? From::sample : source.from(*state);
  const std::size_t groups = source.groups(*state, from), stride = std::size_t{gridDim.x} * threads;
  if (std::size_t{blockIdx.x} * threads >= groups) return;
  const std::size_t busy = (groups + threads - 1) / threads;  // blocks, if there were that many
  for (unsigned d = threadIdx.x; d < digits; d += threads) histogram[d] = 0;
  __syncthreads();
  const Digit digit = digit_of_pass(pass);
  const std::uint64_t known = pass == 0 ? 0 : ~std::uint64_t{0} << digit_of_pass(pass - 1).shift;
  const std::uint64_t prefix = state->prefix;
#pragma unroll 4
  for (std::size_t group = std::size_t{blockIdx.x} * threads + threadIdx.x; group < groups; group += stride) {
    const Keys keys = source.keys(*state, from, group);
    for (int e = 0; e < 4; ++e)
      if (keys.there[e] && (keys.key[e] & known) == prefix)
        atomicAdd(&histogram[static_cast<unsigned>(keys.key[e] >> digit.shift) & digit.mask], 1u);
  }
  __syncthreads();
  for (unsigned d = threadIdx.x; d < digits; d += threads)
    if (histogram[d] != 0) atomicAdd(&state->histogram[d], Count{histogram[d]});
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const std::size_t blocks = busy < gridDim.x ? busy : gridDim.x;
    last = atomicAdd(&state->counted, 1u) + 1 == blocks;
    if (last) state->counted = 0;
  }
  __syncthreads();
  if (last) choose(state, pass);
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

// All keys from the smallest on that the digits known so far allow, of the sample for those that are kept, as far as there is room.
template <Collects what>
__global__ void __launch_bounds__(threads) collect_kernel(States* states, Source source, std::uint64_t* to, Count room) {
  State* const all = &states->all;
  const From from = what == Collects::kept ? From::values : source.from(*all);
  const std::size_t groups = source.groups(*all, from), part = threads * groups_per_thread;
  const std::uint64_t smallest = what == Collects::kept ? states->sample.prefix : all->prefix;
  for (std::size_t begin = blockIdx.x * part; begin < groups; begin += gridDim.x * part) {
    Keys keys[groups_per_thread];
#pragma unroll
    for (unsigned u = 0; u < groups_per_thread; ++u) {
      const std::size_t group = begin + u * threads + threadIdx.x;
      keys[u] = group < groups ? source.keys(*all, from, group) : Keys{};
    }
    unsigned mine = 0;
#pragma unroll
    for (Keys& four : keys)
      for (int e = 0; e < 4; ++e) mine += four.there[e] = four.there[e] && four.key[e] >= smallest;
    Count at = reserve(what == Collects::kept ? &all->kept : &all->gathered, mine);
#pragma unroll
    for (const Keys& four : keys)
      for (int e = 0; e < 4; ++e) {
        if (!four.there[e]) continue;
        if (at < room) to[at] = four.key[e];
        ++at;
      }
    __syncthreads();  // what was reserved is read by all
  }
}

__global__ void __launch_bounds__(threads) entries_kernel(const std::uint64_t* keys, const float* values, Entry* largest, std::size_t k) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= k) return;
  const std::uint32_t index = index_of(keys[i]);
  largest[i] = {index, values[index]};
}

unsigned blocks_for(std::size_t count, std::size_t each, unsigned most) {
  return static_cast<unsigned>(std::min<std::size_t>((count + each - 1) / each, most));
}

// So many of a sample of `samples` from `count` are wanted that hardly ever fewer than k of all are as large as the smallest of them: the
// share of k, six times its standard deviation, and some more where that is few.
Count wanted_of_sample(std::size_t k, std::size_t count, std::size_t samples) {
  const double expected = static_cast<double>(k) / static_cast<double>(count) * static_cast<double>(samples);
  return static_cast<Count>(std::min(expected + 6 * std::sqrt(expected) + 16, static_cast<double>(samples)));
}

}  // namespace

void top_k(std::span<const float> values, std::span<Entry> largest, Stream stream) {
  const std::size_t count = values.size(), k = largest.size();
  check_top_k(k, count);
  if (k == 0) return;

  const bool samples = count >= min_sampled;
  const std::size_t sample = std::min(count / 4, max_samples) / 4 * 4;
  const std::size_t capacity = samples ? std::min(count, 4 * k + count / 32) : 0;
  const Scratch states(sizeof(States), stream), keys(2 * k * sizeof(std::uint64_t), stream), list(capacity * sizeof(std::uint64_t), stream);
  State *const of_sample = &states.as<States>()->sample, *const all = &states.as<States>()->all;
  auto* unsorted = keys.as<std::uint64_t>();
  auto* sorted = unsorted + k;
  const Source source{.values = values.data(),
                      .count = count,
                      .before = reinterpret_cast<std::uintptr_t>(values.data()) % 16 / sizeof(float),
                      .sampled = sample / 4,
                      .list = list.as<std::uint64_t>(),
                      .least = k,
                      .capacity = capacity};
  const std::size_t groups = (count + source.before + 3) / 4;
  const unsigned counting = blocks_for(groups, threads, max_blocks);

  start_kernel<<<1, threads, 0, stream>>>(states.as<States>(), wanted_of_sample(k, count, sample), k);
  check_launch("top_k: start");
  if (samples) {
    const unsigned blocks = blocks_for(source.sampled, threads, max_blocks);
    for (int pass = 0; pass < sample_passes; ++pass) {
      count_kernel<<<blocks, threads, 0, stream>>>(of_sample, source, true, pass);
      check_launch("top_k: sample");
    }
    const unsigned keeping = blocks_for(groups, threads * groups_per_thread, UINT32_MAX);
    collect_kernel<Collects::kept><<<keeping, threads, 0, stream>>>(states.as<States>(), source, list.as<std::uint64_t>(), capacity);
    check_launch("top_k: keep");
  }
  for (int pass = 0; pass < passes; ++pass) {
    count_kernel<<<counting, threads, 0, stream>>>(all, source, false, pass);
    check_launch("top_k: count");
  }
  const unsigned gathering = blocks_for(groups, threads * groups_per_thread, max_blocks);
  collect_kernel<Collects::gathered><<<gathering, threads, 0, stream>>>(states.as<States>(), source, unsorted, k);
  check_launch("top_k: gather");

  sort_keys_descending(unsorted, sorted, k, {.first = 0, .end = key_bits}, stream);
  entries_kernel<<<blocks_for(k, threads, UINT32_MAX), threads, 0, stream>>>(sorted, values.data(), largest.data(), k);
  check_launch("top_k: entries");
}

}  // namespace weft::cuda
