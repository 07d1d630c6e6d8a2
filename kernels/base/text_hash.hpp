// A text as a number: the same on every machine and in every run.
#pragma once

#include "kernels/base/hash.hpp"

#include <string_view>

namespace weft {

constexpr std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = golden_ratio;
  for (const char c : text) hash = mixed(hash ^ static_cast<unsigned char>(c)) + golden_ratio;
  return hash;
}

}  // namespace weft
