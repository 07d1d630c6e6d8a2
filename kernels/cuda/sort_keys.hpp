// 64-bit keys in descending order of some of their bits, on the GPU. Not for the host's memory.
#pragma once

#include "kernels/cuda/runtime.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::cuda {

struct KeyBits {
  int first = 0, end = 64;
};

// `from` and `to` do not overlap. Keys that are equal in these bits keep their order.
void sort_keys_descending(const std::uint64_t* from, std::uint64_t* to, std::size_t count, KeyBits, Stream);

}  // namespace weft::cuda
