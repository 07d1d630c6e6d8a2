// What an algorithm costs by its formula. Each algorithm states it above its function; verify.hpp counts what the
// schedule really does (Traffic), and the two must be equal.
#pragma once

#include <cstdint>

namespace weft {

struct Cost {
  int steps = 0;
  std::int64_t messages = 0;         // between different ranks
  std::int64_t max_chunks_sent = 0;  // by the rank that sends most, to other ranks
  int chunks = 1;                    // the message is cut into so many
  friend bool operator==(const Cost&, const Cost&) = default;
};

}  // namespace weft
