// kernels/compression/sparse.hpp on the GPU: the same bits. An index beyond the elements ends the program, as it does on the CPU.
#pragma once

#include "kernels/compression/sparse.hpp"
#include "kernels/cuda/runtime.hpp"

#include <cstdint>
#include <span>

namespace weft::cuda {

void sort_by_index(std::span<Entry> entries, Stream);
void indices_of(std::span<const Entry> entries, std::span<std::uint32_t> indices, Stream);

void gather(std::span<const float> values, std::span<const std::uint32_t> indices, std::span<float> out, Stream);
void scatter(std::span<const std::uint32_t> indices, std::span<const float> values, std::span<float> into, Stream);
// No index occurs twice.
void scatter_add(std::span<const Entry> entries, std::span<float> into, Stream);
// into[indices[i]] = 0.
void forget(std::span<const std::uint32_t> indices, std::span<float> into, Stream);

// `dropped` is as long as the lists; what is left of it adds nothing wherever it is added.
void merge_top_k(std::span<Entry> into, std::span<const Entry> from, std::span<Entry> dropped, Stream);

// Of a list, those entries whose index is in `survivors` too, which are in ascending order: their elements become 0, or their values
// are added to them.
void forget_survivors(std::span<const Entry> list, std::span<const Entry> survivors, std::span<float> into, Stream);
void add_survivors(std::span<const Entry> list, std::span<const Entry> survivors, std::span<float> into, Stream);

}  // namespace weft::cuda
