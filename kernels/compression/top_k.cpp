#include "kernels/compression/top_k.hpp"

#include "kernels/compression/magnitude_groups.hpp"
#include "kernels/compression/top_k_ops.hpp"
#include "kernels/simd.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t compared_block = 64;

// A magnitude that k elements reach, and hardly more: counted where elements are few, and else one that, if a sample is like the rest,
// a few more than k reach.
std::uint32_t guess_threshold(std::span<const float> values, std::size_t k) {
  constexpr std::size_t samples = 8192;
  if (values.size() < 8 * samples || k > values.size() / 16)
    return group_of_kth(values.size(), k, [&](std::size_t i) { return values[i]; }).least();
  const std::size_t stride = values.size() / samples;
  std::vector<std::uint32_t> sample(samples);
  // The place within each stride is mixed, so that a period in the data is not taken for all of it.
  for (std::size_t i = 0; i < samples; ++i) sample[i] = magnitude_bits(values[i * stride + (i * 0x9e3779b1u) % stride]);
  const std::size_t expected = k * samples / values.size();
  const std::size_t rank = expected + expected / 4 + 16;
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank), sample.end(), std::greater<>{});
  return sample[rank];
}

// The first block from `begin` on with an element of at least this magnitude, or the end.
std::size_t next_block(std::span<const float> values, std::size_t begin, std::uint32_t threshold) {
  std::size_t found = values.size();
  vectorised([data = values.data(), size = values.size(), begin, threshold, found = &found]() WEFT_INLINE {
    std::size_t at = begin;
    for (; at + compared_block <= size; at += compared_block) {
      std::uint32_t reached = 0;  // its sign bit
      for (std::size_t i = 0; i < compared_block; ++i) reached |= threshold - 1 - magnitude_bits(data[at + i]);
      if (reached >> 31) break;
    }
    *found = at;  // the last block may be a part, and is not looked at here
  });
  return found;
}

// The keys of all elements of at least this magnitude, in the order of the elements.
void collect(std::span<const float> values, std::uint32_t threshold, std::vector<std::uint64_t>& keys) {
  for (std::size_t begin = next_block(values, 0, threshold); begin < values.size();) {
    const std::size_t end = std::min(begin + compared_block, values.size());
    for (std::size_t i = begin; i < end; ++i)
      if (magnitude_bits(values[i]) >= threshold) keys.push_back(top_k_key(values[i], static_cast<std::uint32_t>(i)));
    begin = next_block(values, end, threshold);
  }
}

}  // namespace

void top_k(std::span<const float> values, std::span<Entry> largest) {
  const std::size_t k = largest.size();
  check_top_k(k, values.size());
  if (k == 0) return;
  std::vector<std::uint64_t> keys;
  const std::uint32_t threshold = guess_threshold(values, k);
  collect(values, threshold, keys);
  if (keys.size() < k) {  // the sample misled: take all
    keys.clear();
    collect(values, 0, keys);
  }
  const auto end = keys.begin() + static_cast<std::ptrdiff_t>(k);
  if (end != keys.end()) std::nth_element(keys.begin(), end, keys.end(), std::greater<>{});
  std::sort(keys.begin(), end, std::greater<>{});
  for (std::size_t i = 0; i < k; ++i) largest[i] = {index_of(keys[i]), values[index_of(keys[i])]};
}

}  // namespace weft
