#include "kernels/dtype.hpp"

#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("every data type is found by its own name") {
  CHECK(all_dtypes().size() == 7);
  for (DType type : all_dtypes()) {
    CAPTURE(std::string(name_of(type)));
    CHECK(dtype_named(name_of(type)) == type);
  }
  CHECK(dtype_named("float8") == std::nullopt);
  CHECK(dtype_named("") == std::nullopt);
}

TEST_CASE("every reduction is found by its own name") {
  CHECK(all_ops().size() == 7);
  for (ReduceOp op : all_ops()) {
    CAPTURE(std::string(name_of(op)));
    CHECK(op_named(name_of(op)) == op);
  }
  CHECK(op_named("Sum") == std::nullopt);
}

TEST_CASE("elements have the size their name says") {
  CHECK(size_of(DType::float16) == 2);
  CHECK(size_of(DType::bfloat16) == 2);
  CHECK(size_of(DType::float32) == 4);
  CHECK(size_of(DType::float64) == 8);
  CHECK(size_of(DType::int32) == 4);
  CHECK(size_of(DType::int64) == 8);
  CHECK(size_of(DType::uint8) == 1);
}

TEST_CASE("bitwise reductions are for integers, all others for every type") {
  for (DType type : all_dtypes()) {
    CAPTURE(std::string(name_of(type)));
    const bool integer = type == DType::int32 || type == DType::int64 || type == DType::uint8;
    for (ReduceOp op : all_ops()) {
      CAPTURE(std::string(name_of(op)));
      const bool bitwise = op == ReduceOp::band || op == ReduceOp::bor;
      CHECK(defined(op, type) == (integer || !bitwise));
    }
  }
}

TEST_CASE("a value outside the enumeration is our own bug") {
  CHECK_THROWS_WITH_AS(size_of(static_cast<DType>(7)), "internal error: no data type has the value 7", std::logic_error);
  CHECK_THROWS_WITH_AS(name_of(static_cast<ReduceOp>(9)), "internal error: no reduction has the value 9", std::logic_error);
}
