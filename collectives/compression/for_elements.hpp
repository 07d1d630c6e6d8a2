// Settings for the all-reduces of a step, which are of many sizes.
#pragma once

#include "collectives/compression/settings.hpp"

namespace weft {

// A count of k larger than `elements` stands for all of them, as small buckets of gradients need it; where errors are kept in a sketch, k
// is at most its columns.
CompressionSettings for_elements(CompressionSettings settings, std::int64_t elements);

}  // namespace weft
