#include "kernels/cuda/bit_vector.hpp"

#include "kernels/base/error.hpp"
#include "kernels/cuda/reduce.hpp"

namespace weft::cuda {

void bit_min(std::span<std::uint64_t> into, std::span<const std::uint64_t> from, Stream stream) {
  check(into.size() == from.size(), "the minimum of bit vectors of {} and {} words", into.size(), from.size());
  reduce(DType::int64, ReduceOp::band, into.data(), from.data(), into.size(), stream);
}

}  // namespace weft::cuda
