#include "kernels/bit_vector.hpp"

#include "kernels/base/error.hpp"
#include "kernels/reduce.hpp"
#include "kernels/simd.hpp"

#include <bit>

namespace weft {

void bit_min(std::span<std::uint64_t> into, std::span<const std::uint64_t> from) {
  check(into.size() == from.size(), "the minimum of bit vectors of {} and {} words", into.size(), from.size());
  reduce(DType::int64, ReduceOp::band, into.data(), from.data(), into.size());
}

std::size_t count_ones(std::span<const std::uint64_t> words) {
  std::size_t ones = 0;
  vectorised([data = words.data(), count = words.size(), ones = &ones]() WEFT_INLINE {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += static_cast<std::size_t>(std::popcount(data[i]));
    *ones = sum;
  });
  return ones;
}

}  // namespace weft
