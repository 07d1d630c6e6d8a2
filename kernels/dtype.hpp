// Element types and reduction operators of a collective.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace weft {

enum class DType { float16, bfloat16, float32, float64, int32, int64, uint8 };
enum class ReduceOp { sum, min, max, prod, avg, band, bor };

std::size_t size_of(DType);          // bytes of one element
std::string_view name_of(DType);     // "float32"
std::string_view name_of(ReduceOp);  // "sum"
std::optional<DType> dtype_named(std::string_view);
std::optional<ReduceOp> op_named(std::string_view);
std::span<const DType> all_dtypes();
std::span<const ReduceOp> all_ops();

// band and bor are defined on integers only.
bool defined(ReduceOp, DType);

}  // namespace weft
