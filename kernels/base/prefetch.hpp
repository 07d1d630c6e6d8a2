// Asks for memory that will soon be needed, so that it is there by then: what costs most in tables that are larger than the caches and
// are read at places without order.
#pragma once

#include <cstddef>

namespace weft {

inline void prefetch(const void* at) {
  __builtin_prefetch(at, 1);
  // To GCC (12 to 14 at least) a function that only prefetches has no effect, and it leaves out the calls of it.
  asm volatile("");
}

// All cache lines of it.
template <class T>
void prefetch_all(const T& value) {
  constexpr std::size_t cache_line = 64;
  const auto* bytes = reinterpret_cast<const char*>(&value);
  for (std::size_t at = 0; at < sizeof(T); at += cache_line) prefetch(bytes + at);
  if constexpr (sizeof(T) > 1) prefetch(bytes + sizeof(T) - 1);
}

}  // namespace weft
