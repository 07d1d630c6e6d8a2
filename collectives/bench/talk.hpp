// What ranks of a benchmark tell one another beside the collectives that they measure.
#pragma once

#include "collectives/executors/transport.hpp"

#include <span>
#include <vector>

namespace weft::bench {

inline constexpr int talk_channel = 4095;  // of the tags

template <class T>
ByteSpan bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}
template <class T>
ByteSpan bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace weft::bench
