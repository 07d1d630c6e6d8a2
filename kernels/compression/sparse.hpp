// Sparse vectors: some elements of a dense one, by index, or a list of entries in ascending order of their indices, each
// index once. What compressed all-reduces gather, merge and scatter (gTop-k, gs-SGD).
#pragma once

#include "kernels/compression/top_k.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

void sort_by_index(std::span<Entry> entries);

// out[i] = values[indices[i]]. Indices beyond the values are our own bug.
void gather(std::span<const float> values, std::span<const std::uint32_t> indices, std::span<float> out);

// into[indices[i]] = values[i]; no index occurs twice.
void scatter(std::span<const std::uint32_t> indices, std::span<const float> values, std::span<float> into);

// into[entry.index] += entry.value, in the order of the entries.
void scatter_add(std::span<const Entry> entries, std::span<float> into);

// Adds two lists of the same length k and keeps the k entries of largest magnitude, in the order of top_k. What is dropped is
// appended to `dropped`, sums as they would have been kept, in the order of the indices.
void merge_top_k(std::span<Entry> into, std::span<const Entry> from, std::vector<Entry>& dropped);

}  // namespace weft
