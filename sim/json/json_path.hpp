// Where in a JSON value something stands, built on the stack while reading and spelled out only when something is wrong.
#pragma once

#include "kernels/base/json_problem.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace weft {

// One reference token of a JSON pointer (RFC 6901).
inline std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

// A key as a message shows it: printable, and cut where nobody would read on.
inline std::string key_shown(std::string_view key) {
  constexpr std::size_t longest = 60;
  return printable(escaped(key.size() > longest ? key.substr(0, longest) : key)) + (key.size() > longest ? "..." : "");
}

struct JsonPath {
  const JsonPath* up = nullptr;  // null: the whole value, pointer ""
  std::string_view key = {};
  std::ptrdiff_t index = -1;  // an array element, when not negative

  JsonPath in(std::string_view name) const { return {this, name, -1}; }
  JsonPath at(std::size_t i) const { return {this, {}, static_cast<std::ptrdiff_t>(i)}; }
  std::string pointer() const {
    if (!up) return std::string(key);  // a root may carry a prefix of its own
    return up->pointer() + "/" + (index >= 0 ? fmt::format("{}", index) : key_shown(key));
  }
};

}  // namespace weft
