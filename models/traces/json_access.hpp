// JSON of traces: read leniently where nothing depends on it, and strictly where a number matters.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/json_problem.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft {

using TraceJson = nlohmann::json;

inline std::string shown_json(const TraceJson& value) {
  std::string text = value.dump(-1, ' ', true, TraceJson::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

inline TraceJson parse_trace_json(std::string_view text, const std::string& file, std::size_t first_line = 1) {
  return json_of<TraceJson>(text, file + ": ", first_line);
}

// The member of an object, or null.
inline const TraceJson* member(const TraceJson& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

// A whole number, also as a float or in a string, or nothing where there is none. Throws InputError where it is something else.
inline std::optional<std::int64_t> whole_member(const TraceJson& object, const char* key, const std::string& place) {
  const TraceJson* value = member(object, key);
  if (!value) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>() ? 1 : 0;
  if (value->is_number_unsigned() && std::in_range<std::int64_t>(value->get<std::uint64_t>())) return value->get<std::int64_t>();
  if (value->is_number_integer() && !value->is_number_unsigned()) return value->get<std::int64_t>();
  if (value->is_number_float())
    if (const double number = value->get<double>(); std::abs(number) < 9e15 && std::trunc(number) == number)
      return static_cast<std::int64_t>(number);
  throw InputError(fmt::format("{}: \"{}\" must be a whole number, got {}", place, key, shown_json(*value)));
}

inline std::optional<std::string> text_member(const TraceJson& object, const char* key) {
  const TraceJson* value = member(object, key);
  if (!value) return std::nullopt;
  return value->is_string() ? value->get<std::string>() : shown_json(*value);
}

}  // namespace weft
