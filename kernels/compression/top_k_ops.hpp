// The order of top-k as one integer, shared by the CPU and the CUDA version.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/compression/top_k.hpp"
#include "kernels/finite_ops.hpp"

#include <cstddef>
#include <cstdint>

namespace weft {

// Magnitude above, index below and turned around: the larger key comes first, and no two are equal.
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline std::uint64_t top_k_key(float value, std::uint32_t index) {
  return (std::uint64_t{magnitude_bits(value)} << 32) | static_cast<std::uint32_t>(~index);
}

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline std::uint32_t index_of(std::uint64_t key) {
  return ~static_cast<std::uint32_t>(key);
}

inline void check_top_k(std::size_t k, std::size_t count) {
  check(k <= count, "the largest {} of {} elements", k, count);
  check(count <= std::size_t{1} << 32, "top-k of {} elements, whose index does not fit into 32 bits", count);
}

}  // namespace weft
