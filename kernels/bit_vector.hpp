// Bit vectors in 64-bit words, and their elementwise minimum: what workers that each know which gradients they have ready
// need to learn which are ready everywhere (AIACC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

// into[i] = min(into[i], from[i]) of every bit, which is AND. Sizes are equal.
void bit_min(std::span<std::uint64_t> into, std::span<const std::uint64_t> from);

}  // namespace weft
