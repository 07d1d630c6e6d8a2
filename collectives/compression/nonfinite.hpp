// A NaN or an infinity in a gradient ends the run before it spoils everybody's sum.
#pragma once

#include "collectives/compression/compressor.hpp"
#include "kernels/finite.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace weft {

std::int64_t total_elements(const std::vector<TensorShape>&);

// Throws RunError with the rank, the first tensor that has any, and how many. `count(begin, size)` says what a part of the gradient has.
void require_finite(const std::vector<TensorShape>&, Rank, const std::function<NonFinite(std::size_t begin, std::size_t size)>& count);

}  // namespace weft
