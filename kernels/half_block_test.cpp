#include "kernels/half_block.hpp"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_CASE("every float16 converts to the same float32 by every instruction set") {
  std::vector<float16> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
  for (InstructionSet set : instruction_sets()) {
    CAPTURE(std::string(name_of(set)));
    std::vector<float> converted(all.size());
    to_floats(set, all.data(), converted.data(), all.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < all.size(); ++i) different += !same(converted[i], to_float(all[i]));
    CHECK(different == 0);
  }
}

TEST_CASE("float32 rounds to the same float16 by every instruction set, awkward lengths included") {
  // Random bits are mostly out of float16's range; the second half is in it, subnormals included.
  std::mt19937 random(3);
  std::vector<float> values(100'003);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    values[i] = std::bit_cast<float>(i % 2 == 0 ? bits : (bits & 0x8fffffffu) | (bits & 0x08000000u ? 0x30000000u : 0x40000000u));
  }
  for (InstructionSet set : instruction_sets())
    for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{31}, values.size()}) {
      CAPTURE(std::string(name_of(set)));
      CAPTURE(count);
      std::vector<float16> converted(values.size() + 1);
      to_float16s(set, values.data(), converted.data(), count);
      std::size_t different = 0;
      for (std::size_t i = 0; i < count; ++i) different += converted[i] != to_float16(values[i]);
      CHECK(different == 0);  // NaNs keep the same payload, too
      CHECK(converted[count] == float16{});
    }
}
