#pragma once

#include <cstddef>

namespace weft {

// A rank, node, link or place in a list that is known not to be negative, for indexing: values[at(rank)].
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace weft
