#include "collectives/in_network/gradient_values.hpp"

#include "kernels/base/error.hpp"

#include <array>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("gradients: float32 goes as fixed point, the last packet padded, and comes back where it was") {
  std::vector<float> buffer = {-1, 0.5f, 1.25f, -2, 3, 100};
  GradientValues gradients(DType::float32, buffer.data() + 1, buffer.data() + 1, {4},
                           {.worker = 0, .first_element = 1, .elements = 4, .each = 3});
  std::array<std::int32_t, 3> packet{};
  gradients.read(0, packet);
  CHECK(packet == std::array{2, 5, -8});
  packet.fill(7);
  gradients.read(1, packet);
  CHECK(packet == std::array{12, 0, 0});
  gradients.write(1, std::array{-6, 0, 0});
  gradients.write(0, std::array{1, 2, 3});
  CHECK(buffer == std::vector<float>{-1, 0.25f, 0.5f, 0.75f, -1.5f, 100});
  CHECK(gradients.unfit_value().empty());
  CHECK(gradients.limit_sum().empty());
}

TEST_CASE("gradients: int32 goes as it is, to the limits") {
  std::vector<std::int32_t> buffer = {1, INT32_MAX, INT32_MIN};
  GradientValues gradients(DType::int32, buffer.data(), buffer.data(), {}, {.worker = 0, .elements = 3, .each = 2});
  std::array<std::int32_t, 2> packet{};
  gradients.read(0, packet);
  CHECK(packet == std::array{1, INT32_MAX});
  gradients.read(1, packet);
  CHECK(packet == std::array{INT32_MIN, 0});
  CHECK(gradients.unfit_value().empty());
  gradients.write(1, std::array{9, 9});
  CHECK(buffer == std::vector{1, INT32_MAX, 9});
}

TEST_CASE("gradients: the first value that does not fit is named by worker and element, and saturated") {
  std::vector<float> buffer = {1, 2, 3, -30, std::numeric_limits<float>::quiet_NaN()};
  GradientValues gradients(DType::float32, buffer.data(), buffer.data(), {1e8},
                           {.worker = 2, .first_element = 10, .elements = 5, .each = 2});
  std::array<std::int32_t, 2> packet{};
  gradients.read(0, packet);
  CHECK(gradients.unfit_value().empty());
  gradients.read(1, packet);
  CHECK(packet[1] == -INT32_MAX);
  CHECK(gradients.unfit_value() == "worker 2, element 13: -30 times the scale 1e+08 does not fit into 32 bits");
  gradients.read(2, packet);
  CHECK(gradients.unfit_value() == "worker 2, element 13: -30 times the scale 1e+08 does not fit into 32 bits");
}

TEST_CASE("gradients: a NaN does not fit, and neither do the values of narrower types") {
  float nan = std::numeric_limits<float>::quiet_NaN();
  GradientValues gradients(DType::float32, &nan, &nan, {1}, {.worker = 1, .elements = 1});
  std::array<std::int32_t, 1> packet{};
  gradients.read(0, packet);
  CHECK(gradients.unfit_value() == "worker 1, element 0: nan times the scale 1 does not fit into 32 bits");
  std::uint16_t infinity = 0x7f80;  // bfloat16
  GradientValues narrow(DType::bfloat16, &infinity, &infinity, {1}, {.worker = 0, .elements = 1});
  narrow.read(0, packet);
  CHECK(narrow.unfit_value() == "worker 0, element 0: inf times the scale 1 does not fit into 32 bits");
  CHECK_THROWS_AS(GradientValues(DType::int64, &nan, &nan, {1}, {}), std::logic_error);
}

TEST_CASE("gradients: the first sum at the limit is named, but not what pads a packet") {
  std::vector<float> buffer(3);
  GradientValues gradients(DType::float32, buffer.data(), buffer.data(), {1},
                           {.worker = 4, .first_element = 100, .elements = 3, .each = 2});
  gradients.write(1, std::array{5, INT32_MAX});
  CHECK(gradients.limit_sum().empty());
  gradients.write(0, std::array{5, INT32_MIN});
  CHECK(gradients.limit_sum() == "worker 4, element 101: the sum of all workers is at the limit of 32 bits, -2147483648");
}

}  // namespace weft
