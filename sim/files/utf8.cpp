#include "sim/files/utf8.hpp"

#include <cstdint>

namespace weft {
namespace {

void add(std::uint32_t code, std::string& out) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  const auto low_bits = [&](int from) { byte(0x80 | ((code >> from) & 0x3f)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) return byte(0xc0 | (code >> 6)), low_bits(0);
  if (code < 0x10000) return byte(0xe0 | (code >> 12)), low_bits(6), low_bits(0);
  byte(0xf0 | (code >> 18)), low_bits(12), low_bits(6), low_bits(0);
}

}  // namespace

std::string as_utf8(std::string text) {
  if (text.starts_with("\xef\xbb\xbf")) return text.substr(3);
  const bool little = text.starts_with("\xff\xfe");
  if (!little && !text.starts_with("\xfe\xff")) return text;
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(text[at]), second = static_cast<unsigned char>(text[at + 1]);
    return static_cast<std::uint32_t>(little ? second << 8 | first : first << 8 | second);
  };
  const auto begins_pair = [](std::uint32_t u) { return u >= 0xd800 && u < 0xdc00; };
  const auto ends_pair = [](std::uint32_t u) { return u >= 0xdc00 && u < 0xe000; };
  std::string out;
  for (std::size_t at = 2; at + 1 < text.size(); at += 2) {
    const std::uint32_t first = unit(at);
    if (begins_pair(first) && at + 3 < text.size() && ends_pair(unit(at + 2))) {
      add(0x10000 + ((first - 0xd800) << 10) + (unit(at + 2) - 0xdc00), out);
      at += 2;
    } else {
      add(begins_pair(first) || ends_pair(first) ? 0xfffd : first, out);
    }
  }
  return out;
}

}  // namespace weft
