// The terminal that people read tables on.
#pragma once

#include <cstddef>
#include <optional>

namespace weft {

// Columns of the terminal behind this descriptor; nothing where it is none. COLUMNS in the environment comes first, also where there is
// none.
std::optional<std::size_t> terminal_width(int descriptor);

// Whether colours are wanted there: a terminal that knows them, and no NO_COLOR in the environment (no-color.org).
bool terminal_has_colour(int descriptor);

}  // namespace weft
