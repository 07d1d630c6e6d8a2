// What a workload says of compression.
#pragma once

#include "sim/json/fields.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft {

// "1%" or 1000.
template <>
struct Form<Amount> {
  static std::string wanted();
  static Json schema();
  static Json write(const Amount& amount);
  static bool read(const Json& json, const JsonPath& where, Input& in, Amount& out);
};
template <>
struct Names<ErrorMemory> {
  static constexpr const char* kind = "memory";
  static const std::vector<std::pair<ErrorMemory, std::string>>& values();
};
template <>
struct Declared<CompressionChoice> {
  static Declaration<CompressionChoice> declaration();
};

// The key "compression" of a workload.
Field<Workload> compression_field();

}  // namespace weft
