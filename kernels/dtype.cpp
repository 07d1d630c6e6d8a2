#include "kernels/dtype.hpp"

#include "kernels/base/error.hpp"

#include <array>
#include <utility>

namespace weft {
namespace {

struct DTypeEntry {
  DType type;
  std::string_view name;
  std::size_t size;
  bool integer;
};

// In the order of the enumeration: entries are looked up by its value.
constexpr std::array dtypes{
    DTypeEntry{DType::float16, "float16", 2, false}, DTypeEntry{DType::bfloat16, "bfloat16", 2, false},
    DTypeEntry{DType::float32, "float32", 4, false}, DTypeEntry{DType::float64, "float64", 8, false},
    DTypeEntry{DType::int32, "int32", 4, true},      DTypeEntry{DType::int64, "int64", 8, true},
    DTypeEntry{DType::uint8, "uint8", 1, true},
};

constexpr std::array<std::pair<ReduceOp, std::string_view>, 7> ops{{
    {ReduceOp::sum, "sum"},
    {ReduceOp::min, "min"},
    {ReduceOp::max, "max"},
    {ReduceOp::prod, "prod"},
    {ReduceOp::avg, "avg"},
    {ReduceOp::band, "band"},
    {ReduceOp::bor, "bor"},
}};

constexpr auto dtype_values = [] {
  std::array<DType, dtypes.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = dtypes[i].type;
  return values;
}();

constexpr auto op_values = [] {
  std::array<ReduceOp, ops.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = ops[i].first;
  return values;
}();

const DTypeEntry& entry(DType type) {
  const auto index = static_cast<std::size_t>(type);
  check(index < dtypes.size() && dtypes[index].type == type, "no data type has the value {}", index);
  return dtypes[index];
}

}  // namespace

std::size_t size_of(DType type) { return entry(type).size; }
std::string_view name_of(DType type) { return entry(type).name; }

std::string_view name_of(ReduceOp op) {
  const auto index = static_cast<std::size_t>(op);
  check(index < ops.size() && ops[index].first == op, "no reduction has the value {}", index);
  return ops[index].second;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeEntry& e : dtypes)
    if (e.name == name) return e.type;
  return std::nullopt;
}

std::optional<ReduceOp> op_named(std::string_view name) {
  for (const auto& [op, op_name] : ops)
    if (op_name == name) return op;
  return std::nullopt;
}

std::span<const DType> all_dtypes() { return dtype_values; }
std::span<const ReduceOp> all_ops() { return op_values; }

bool defined(ReduceOp op, DType type) {
  const bool bitwise = op == ReduceOp::band || op == ReduceOp::bor;
  return !bitwise || entry(type).integer;
}

}  // namespace weft
