#include "kernels/compression/top_k_ops.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/sort_keys.hpp"
#include "kernels/cuda/sparse.hpp"

#include <algorithm>
#include <bit>

namespace weft::cuda {
namespace {

constexpr unsigned threads = 256;

template <class Act>
__global__ void __launch_bounds__(threads) each_kernel(Act act, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < count; i += std::size_t{gridDim.x} * threads) act(i);
}

// act(i) for every i below count, each by a thread.
template <class Act>
void for_each(const char* name, std::size_t count, Act act, Stream stream) {
  if (count == 0) return;
  const std::size_t blocks = std::min<std::size_t>((count + threads - 1) / threads, 1u << 20);
  each_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(act, count);
  check_launch(name);
}

// Elements that indices from another rank choose.
struct Elements {
  float* data;
  std::size_t count;

  explicit Elements(std::span<float> all) : data(all.data()), count(all.size()) {}
  __device__ float& at(std::uint32_t index) const {
    if (index >= count) __trap();
    return data[index];
  }
};

// How many entries of an ascending list come before those of this index, or before those of larger ones.
enum class Counts { below, up_to };
template <Counts counts>
__device__ std::size_t position(const Entry* list, std::size_t size, std::uint32_t index) {
  std::size_t first = 0;
  for (std::size_t left = size; left > 0;) {
    const std::size_t half = left / 2;
    const std::uint32_t middle = list[first + half].index;
    const bool beyond = counts == Counts::below ? middle < index : middle <= index;
    first = beyond ? first + half + 1 : first;
    left = beyond ? left - half - 1 : half;
  }
  return first;
}

struct Gather {
  Elements values;
  const std::uint32_t* indices;
  float* out;
  __device__ void operator()(std::size_t i) const { out[i] = values.at(indices[i]); }
};
struct Scatter {
  const std::uint32_t* indices;
  const float* values;
  Elements into;
  __device__ void operator()(std::size_t i) const { into.at(indices[i]) = values[i]; }
};
struct ScatterAdd {
  const Entry* entries;
  Elements into;
  __device__ void operator()(std::size_t i) const { into.at(entries[i].index) += entries[i].value; }
};
struct Forget {
  const std::uint32_t* indices;
  Elements into;
  __device__ void operator()(std::size_t i) const { into.at(indices[i]) = 0; }
};
struct IndicesOf {
  const Entry* entries;
  std::uint32_t* indices;
  __device__ void operator()(std::size_t i) const { indices[i] = entries[i].index; }
};

// The larger key has the lower index.
struct IndexKeys {
  const Entry* entries;
  std::uint64_t* keys;
  __device__ void operator()(std::size_t i) const {
    keys[i] = std::uint64_t{~entries[i].index} << 32 | std::bit_cast<std::uint32_t>(entries[i].value);
  }
};
struct FromIndexKeys {
  const std::uint64_t* keys;
  Entry* entries;
  __device__ void operator()(std::size_t i) const {
    entries[i] = {static_cast<std::uint32_t>(~(keys[i] >> 32)), std::bit_cast<float>(static_cast<std::uint32_t>(keys[i]))};
  }
};

// Both lists in one, by index; of two entries with the same index that of `into` comes first.
struct Interleave {
  const Entry* into;
  const Entry* from;
  std::size_t k;
  Entry* both;
  __device__ void operator()(std::size_t i) const {
    if (i < k)
      both[i + position<Counts::below>(from, k, into[i].index)] = into[i];
    else
      both[i - k + position<Counts::up_to>(into, k, from[i - k].index)] = from[i - k];
  }
};

// The sum of two entries with one index is in the first's place; the second's key is 0, which no other is.
struct AddEquals {
  const Entry* both;
  std::size_t count;
  Entry* sums;
  std::uint64_t* keys;
  __device__ void operator()(std::size_t i) const {
    const Entry own = both[i];
    const bool second = i > 0 && both[i - 1].index == own.index, first = i + 1 < count && both[i + 1].index == own.index;
    sums[i] = {own.index, first ? own.value + both[i + 1].value : own.value};
    keys[i] = second ? 0 : top_k_key(sums[i].value, static_cast<std::uint32_t>(i));
  }
};

// Of places in descending order of their magnitudes: those kept, as keys that sort by place, and those dropped.
struct Share {
  const std::uint64_t* sorted;
  std::size_t k;
  const Entry* sums;
  std::uint64_t* kept;
  Entry* dropped;
  __device__ void operator()(std::size_t i) const {
    if (i < k)
      kept[i] = std::uint64_t{~index_of(sorted[i])} << 32;
    else
      dropped[i - k] = sorted[i] != 0 ? sums[index_of(sorted[i])] : Entry{0, -0.0f};
  }
};
struct TakePlaces {
  const std::uint64_t* places;
  const Entry* sums;
  Entry* into;
  __device__ void operator()(std::size_t i) const { into[i] = sums[static_cast<std::uint32_t>(~(places[i] >> 32))]; }
};

enum class Survivors { become_zero, are_added };
template <Survivors what>
struct ForSurvivors {
  const Entry* list;
  const Entry* survivors;
  std::size_t survive;
  Elements into;
  __device__ void operator()(std::size_t i) const {
    const Entry own = list[i];
    const std::size_t at = position<Counts::below>(survivors, survive, own.index);
    if (at == survive || survivors[at].index != own.index) return;
    float& element = into.at(own.index);
    element = what == Survivors::become_zero ? 0.0f : element + own.value;
  }
};

constexpr KeyBits upper_half{.first = 32, .end = 64};

}  // namespace

void sort_by_index(std::span<Entry> entries, Stream stream) {
  const Scratch keys(2 * entries.size() * sizeof(std::uint64_t), stream);
  auto* const unsorted = keys.as<std::uint64_t>();
  auto* const sorted = unsorted + entries.size();
  for_each("sort_by_index: keys", entries.size(), IndexKeys{entries.data(), unsorted}, stream);
  sort_keys_descending(unsorted, sorted, entries.size(), upper_half, stream);
  for_each("sort_by_index: entries", entries.size(), FromIndexKeys{sorted, entries.data()}, stream);
}

void indices_of(std::span<const Entry> entries, std::span<std::uint32_t> indices, Stream stream) {
  check(indices.size() == entries.size(), "{} indices of {} entries", indices.size(), entries.size());
  for_each("indices_of", entries.size(), IndicesOf{entries.data(), indices.data()}, stream);
}

void gather(std::span<const float> values, std::span<const std::uint32_t> indices, std::span<float> out, Stream stream) {
  check(indices.size() == out.size(), "{} indices gathered into {} elements", indices.size(), out.size());
  const std::span<float> elements(const_cast<float*>(values.data()), values.size());  // which are only read
  for_each("gather", indices.size(), Gather{Elements(elements), indices.data(), out.data()}, stream);
}

void scatter(std::span<const std::uint32_t> indices, std::span<const float> values, std::span<float> into, Stream stream) {
  check(indices.size() == values.size(), "{} values scattered to {} indices", values.size(), indices.size());
  for_each("scatter", indices.size(), Scatter{indices.data(), values.data(), Elements(into)}, stream);
}

void scatter_add(std::span<const Entry> entries, std::span<float> into, Stream stream) {
  for_each("scatter_add", entries.size(), ScatterAdd{entries.data(), Elements(into)}, stream);
}

void forget(std::span<const std::uint32_t> indices, std::span<float> into, Stream stream) {
  for_each("forget", indices.size(), Forget{indices.data(), Elements(into)}, stream);
}

void merge_top_k(std::span<Entry> into, std::span<const Entry> from, std::span<Entry> dropped, Stream stream) {
  const std::size_t k = into.size();
  check(from.size() == k && dropped.size() == k, "a list of {} entries merged into one of {}, what is dropped into {}", from.size(), k,
        dropped.size());
  if (k == 0) return;
  const Scratch entries(4 * k * sizeof(Entry), stream), keys(4 * k * sizeof(std::uint64_t), stream);
  auto* const both = entries.as<Entry>();
  auto* const sums = both + 2 * k;
  auto* const unsorted = keys.as<std::uint64_t>();
  auto* const sorted = unsorted + 2 * k;
  for_each("merge_top_k: both lists", 2 * k, Interleave{into.data(), from.data(), k, both}, stream);
  for_each("merge_top_k: sums", 2 * k, AddEquals{both, 2 * k, sums, unsorted}, stream);
  sort_keys_descending(unsorted, sorted, 2 * k, {.first = 0, .end = 63}, stream);
  for_each("merge_top_k: share", 2 * k, Share{sorted, k, sums, unsorted, dropped.data()}, stream);
  sort_keys_descending(unsorted, sorted, k, upper_half, stream);
  for_each("merge_top_k: kept", k, TakePlaces{sorted, sums, into.data()}, stream);
}

void forget_survivors(std::span<const Entry> list, std::span<const Entry> survivors, std::span<float> into, Stream stream) {
  for_each("forget_survivors", list.size(),
           ForSurvivors<Survivors::become_zero>{list.data(), survivors.data(), survivors.size(), Elements(into)}, stream);
}

void add_survivors(std::span<const Entry> list, std::span<const Entry> survivors, std::span<float> into, Stream stream) {
  for_each("add_survivors", list.size(),
           ForSurvivors<Survivors::are_added>{list.data(), survivors.data(), survivors.size(), Elements(into)}, stream);
}

}  // namespace weft::cuda
