// The k elements of largest magnitude: what sparse all-reduces send (gTop-k, gs-SGD).
#pragma once

#include <cstdint>
#include <span>

namespace weft {

struct Entry {
  std::uint32_t index = 0;
  float value = 0;

  friend bool operator==(const Entry&, const Entry&) = default;
};

// Fills `largest` by decreasing magnitude; of equal magnitudes the lower index comes first, so the result is one for all
// machines. A NaN counts as larger than infinity. largest.size() <= values.size() <= 2^32.
void top_k(std::span<const float> values, std::span<Entry> largest);

}  // namespace weft
