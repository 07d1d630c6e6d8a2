// Numbers of things, in words: "1 leaf", "2 leaves".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace weft {

// `many`: where it is not `one` with an s.
inline std::string counted(std::int64_t number, std::string_view one, std::string_view many = {}) {
  if (number == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", number, one) : fmt::format("{} {}", number, many);
}

}  // namespace weft
