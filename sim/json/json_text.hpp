// From text to a JSON value, strictly: what this refuses never reaches the binder.
#pragma once

#include "kernels/base/error.hpp"

#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft {

using Json = nlohmann::ordered_json;  // keeps the order of the file: errors and `weft show` follow it

constexpr int deepest_nesting = 64;

// Parses one JSON value. Problems are appended: syntax, truncation, invalid UTF-8 and too deep nesting with line and
// column (then the value is null), and every key that an object holds twice with its pointer (the first one counts).
Json parse_json(std::string_view text, std::vector<Problem>& problems);

// The pointer of element i of what stands at a pointer, which may be one value or a list.
std::string element_at(const Json& json, const char* pointer, std::size_t i);

// The value in one line, short enough for an error message.
std::string shown(const Json&);

}  // namespace weft
