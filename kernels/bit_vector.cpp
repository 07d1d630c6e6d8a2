#include "kernels/bit_vector.hpp"

#include "kernels/base/error.hpp"
#include "kernels/reduce.hpp"

namespace weft {

void bit_min(std::span<std::uint64_t> into, std::span<const std::uint64_t> from) {
  check(into.size() == from.size(), "the minimum of bit vectors of {} and {} words", into.size(), from.size());
  reduce(DType::int64, ReduceOp::band, into.data(), from.data(), into.size());
}

}  // namespace weft
