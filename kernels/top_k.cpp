#include "kernels/top_k.hpp"

#include "kernels/simd.hpp"
#include "kernels/top_k_ops.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t block = 64;

// A magnitude that, if the sample is like the rest, a few more than k elements reach. 0 when there is little to gain.
std::uint32_t guess_threshold(std::span<const float> values, std::size_t k) {
  constexpr std::size_t samples = 8192;
  if (values.size() < 8 * samples || k > values.size() / 16) return 0;
  const std::size_t stride = values.size() / samples;
  std::vector<std::uint32_t> sample(samples);
  // The place within each stride is mixed, so that a period in the data is not taken for all of it.
  for (std::size_t i = 0; i < samples; ++i) sample[i] = magnitude_bits(values[i * stride + (i * 0x9e3779b1u) % stride]);
  const std::size_t expected = k * samples / values.size();
  const std::size_t rank = expected + expected / 4 + 16;
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank), sample.end(), std::greater<>{});
  return sample[rank];
}

// The keys of all elements of at least this magnitude, in the order of the elements.
void collect(std::span<const float> values, std::uint32_t threshold, std::vector<std::uint64_t>& keys) {
  for (std::size_t begin = 0; begin < values.size(); begin += block) {
    const std::size_t count = std::min(block, values.size() - begin);
    const float* data = values.data() + begin;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= magnitude_bits(data[i]) >= threshold ? 1u : 0u;
    if (any == 0) continue;
    for (std::size_t i = 0; i < count; ++i)
      if (magnitude_bits(data[i]) >= threshold) keys.push_back(top_k_key(data[i], static_cast<std::uint32_t>(begin + i)));
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
