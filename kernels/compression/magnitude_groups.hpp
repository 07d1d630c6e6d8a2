// Where the k-th largest magnitude is, by counting: magnitudes that share their upper bits are one group.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/finite_ops.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

constexpr int magnitude_group_shift = 20;  // leaves the exponent and three bits of the fraction

struct MagnitudeGroup {
  std::uint32_t number = 0;  // of the group, its magnitudes shifted
  std::size_t size = 0;
  std::size_t above = 0;  // elements of larger groups; the k-th is among the next `size`

  std::uint32_t least() const { return number << magnitude_group_shift; }
};

// value(i) for i below `count`; 1 <= k <= count.
template <class Value>
MagnitudeGroup group_of_kth(std::size_t count, std::size_t k, Value value) {
  check(k >= 1 && k <= count, "the {}th largest of {} elements", k, count);
  std::array<std::size_t, std::size_t{1} << (31 - magnitude_group_shift)> sizes{};
  for (std::size_t i = 0; i < count; ++i) ++sizes[magnitude_bits(value(i)) >> magnitude_group_shift];
  std::size_t group = sizes.size() - 1, above = 0;
  for (; above + sizes[group] < k; --group) above += sizes[group];
  return {static_cast<std::uint32_t>(group), sizes[group], above};
}

}  // namespace weft
