#include "kernels/reduce.hpp"

#include "kernels/half.hpp"
#include "kernels/reduce_ops.hpp"
#include "kernels/testing/backend.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::backends;

namespace {

// Of the elements in their buffers: aligned, awkward but alike, and each another.
struct Offsets {
  std::size_t into, a, b;
};

// Any bits at all, so NaNs, infinities, subnormals and overflows are among them.
std::vector<std::uint64_t> random_words(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(count);
  for (auto& word : words) word = random();
  return words;
}

// Equal bits, any NaN being equal to any other.
bool same(DType type, const void* x, const void* y, std::size_t i) {
  const std::size_t size = size_of(type);
  const char* a = static_cast<const char*>(x) + i * size;
  const char* b = static_cast<const char*>(y) + i * size;
  if (std::memcmp(a, b, size) == 0) return true;
  const auto nan = [type](const char* p) {
    std::uint16_t half = 0;
    float single = 0;
    double wide = 0;
    std::memcpy(&half, p, sizeof half);
    if (type == DType::float16) return std::isnan(to_float(float16{half}));
    if (type == DType::bfloat16) return std::isnan(to_float(bfloat16{half}));
    if (type == DType::float32) return std::memcpy(&single, p, sizeof single), std::isnan(single);
    if (type == DType::float64) return std::memcpy(&wide, p, sizeof wide), std::isnan(wide);
    return false;
  };
  return nan(a) && nan(b);
}

// What the CPU makes of a and b; any other backend must make the same of them.
template <class T>
std::vector<T> reduced(DType type, ReduceOp op, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> result = a;
  reduce(type, op, result.data(), b.data(), a.size());
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    std::vector<T> other(a.size());
    on.reduce_into(type, op, other.data(), a.data(), b.data(), a.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(same(type, other.data(), result.data(), i));
  }
  return result;
}

template <class T>
std::vector<T> averaged(DType type, const std::vector<T>& sum, int ranks) {
  std::vector<T> result = sum;
  scale_average(type, result.data(), sum.size(), ranks);
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    std::vector<T> other = sum;
    on.scale_average(type, other.data(), sum.size(), ranks);
    CHECK(other == result);
  }
  return result;
}

}  // namespace

TEST_CASE("each operation on each kind of type does what its name says") {
  using F = std::vector<float>;
  CHECK(reduced<float>(DType::float32, ReduceOp::sum, {1.5f, -2}, {2, 0.25f}) == F{3.5f, -1.75f});
  CHECK(reduced<float>(DType::float32, ReduceOp::avg, {1.5f, -2}, {2, 0.25f}) == F{3.5f, -1.75f});
  CHECK(reduced<float>(DType::float32, ReduceOp::min, {1.5f, -2}, {2, 0.25f}) == F{1.5f, -2});
  CHECK(reduced<float>(DType::float32, ReduceOp::max, {1.5f, -2}, {2, 0.25f}) == F{2, 0.25f});
  CHECK(reduced<float>(DType::float32, ReduceOp::prod, {1.5f, -2}, {2, 0.25f}) == F{3, -0.5f});
  CHECK(reduced<double>(DType::float64, ReduceOp::sum, {0x1p-40}, {1}) == std::vector<double>{1 + 0x1p-40});
  using I = std::vector<std::int32_t>;
  CHECK(reduced<std::int32_t>(DType::int32, ReduceOp::min, {-5, 3}, {2, 1}) == I{-5, 1});
  CHECK(reduced<std::int32_t>(DType::int32, ReduceOp::max, {-5, 3}, {2, 1}) == I{2, 3});
  CHECK(reduced<std::int32_t>(DType::int32, ReduceOp::prod, {-5, 3}, {2, 1}) == I{-10, 3});
  CHECK(reduced<std::int32_t>(DType::int32, ReduceOp::band, {12, -1}, {10, 7}) == I{8, 7});
  CHECK(reduced<std::int32_t>(DType::int32, ReduceOp::bor, {12, 0}, {10, 7}) == I{14, 7});
  CHECK(reduced<std::uint8_t>(DType::uint8, ReduceOp::max, {200}, {100}) == std::vector<std::uint8_t>{200});
}

TEST_CASE("integers wrap around") {
  constexpr auto max32 = std::numeric_limits<std::int32_t>::max();
  constexpr auto min32 = std::numeric_limits<std::int32_t>::min();
  constexpr auto max64 = std::numeric_limits<std::int64_t>::max();
  constexpr auto min64 = std::numeric_limits<std::int64_t>::min();
  CHECK(reduced<std::int32_t>(DType::int32, ReduceOp::sum, {max32}, {1}).front() == min32);
  CHECK(reduced<std::int32_t>(DType::int32, ReduceOp::prod, {max32}, {2}).front() == -2);
  CHECK(reduced<std::int64_t>(DType::int64, ReduceOp::sum, {max64}, {1}).front() == min64);
  CHECK(reduced<std::uint8_t>(DType::uint8, ReduceOp::sum, {255}, {2}).front() == 1);
  CHECK(reduced<std::uint8_t>(DType::uint8, ReduceOp::prod, {255}, {255}).front() == 1);
}

TEST_CASE("16-bit floats are computed in float32 and rounded once") {
  // 2048 + 1 and 2048 + 3 are ties in float16 (step 2): the first goes down, the second up, both to even.
  const std::vector<float16> a{to_float16(2048), to_float16(2048), to_float16(60000)};
  const std::vector<float16> b{to_float16(1), to_float16(3), to_float16(60000)};
  const auto sum = reduced(DType::float16, ReduceOp::sum, a, b);
  CHECK(to_float(sum[0]) == 2048.0f);
  CHECK(to_float(sum[1]) == 2052.0f);
  CHECK(to_float(sum[2]) == std::numeric_limits<float>::infinity());
  const std::vector<bfloat16> c{to_bfloat16(256)}, d{to_bfloat16(3)};
  CHECK(to_float(reduced(DType::bfloat16, ReduceOp::sum, c, d).front()) == 260.0f);  // 259 lies between 258 and 260
}

TEST_CASE("min and max of a NaN and anything is NaN, from either side") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    CHECK(std::isnan(reduced<float>(DType::float32, op, {nan}, {1}).front()));
    CHECK(std::isnan(reduced<float>(DType::float32, op, {1}, {nan}).front()));
  }
}

TEST_CASE("every instruction set gives the same bits, for every type, operation and awkward length") {
  constexpr std::size_t bytes = 1024;
  const auto a = random_words(bytes / 8, 1), b = random_words(bytes / 8, 2);
  for (DType type : all_dtypes())
    for (ReduceOp op : all_ops()) {
      if (!defined(op, type)) continue;
      for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{33}, bytes / size_of(type)}) {
        std::vector<std::uint64_t> expected(bytes / 8, 42);
        reduce_into(InstructionSet::baseline, type, op, expected.data(), a.data(), b.data(), count);
        for (InstructionSet set : instruction_sets()) {
          CAPTURE(std::string(name_of(type)));
          CAPTURE(std::string(name_of(op)));
          CAPTURE(std::string(name_of(set)));
          CAPTURE(count);
          std::vector<std::uint64_t> out(bytes / 8, 42);
          reduce_into(set, type, op, out.data(), a.data(), b.data(), count);
          bool all_same = true;
          for (std::size_t i = 0; i < bytes / size_of(type); ++i) all_same &= same(type, out.data(), expected.data(), i);
          CHECK(all_same);  // also past the end, where nothing may be written
        }
      }
    }
}

TEST_CASE("every backend gives the same bits, for every type and operation, wherever in memory the elements lie") {
  constexpr std::size_t bytes = 16384;
  const auto a = random_words(bytes / 8, 3), b = random_words(bytes / 8, 4);
  for (const auto& on : backends())
    for (DType type : all_dtypes())
      for (ReduceOp op : all_ops())
        for (const Offsets& at : {Offsets{0, 0, 0}, Offsets{1, 1, 1}, Offsets{3, 3, 0}, Offsets{0, 1, 2}}) {
          if (!defined(op, type)) continue;
          CAPTURE(on.name);
          CAPTURE(std::string(name_of(type)));
          CAPTURE(std::string(name_of(op)));
          CAPTURE(at.into);
          CAPTURE(at.a);
          CAPTURE(at.b);
          const std::size_t size = size_of(type), count = bytes / size - 5;
          std::vector<std::uint64_t> out(bytes / 8, 42), expected(bytes / 8, 42);
          const auto run = [&](auto kernel, std::vector<std::uint64_t>& to) {
            kernel(type, op, reinterpret_cast<std::byte*>(to.data()) + at.into * size,
                   reinterpret_cast<const std::byte*>(a.data()) + at.a * size, reinterpret_cast<const std::byte*>(b.data()) + at.b * size,
                   count);
          };
          run([](auto... args) { reduce_into(InstructionSet::baseline, args...); }, expected);
          run(on.reduce_into, out);
          bool all_same = true;
          for (std::size_t i = 0; i < bytes / size; ++i) all_same &= same(type, out.data(), expected.data(), i);
          CHECK(all_same);
        }
}

TEST_CASE("the result may replace either operand") {
  const std::vector<float> a{5, 7, 9}, b{1, 2, 3};
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    std::vector<float> x = a, y = b;
    on.reduce_into(DType::float32, ReduceOp::sum, x.data(), x.data(), b.data(), 3);
    on.reduce_into(DType::float32, ReduceOp::sum, y.data(), a.data(), y.data(), 3);
    CHECK(x == std::vector<float>{6, 9, 12});
    CHECK(y == x);
  }
}

TEST_CASE("a reduction of many buffers is one of two after another, to the bit") {
  constexpr std::size_t bytes = 3000;
  std::vector<std::vector<std::uint64_t>> buffers;
  for (std::uint64_t b = 0; b < 20; ++b) {
    auto& words = buffers.emplace_back(bytes / 8);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = (b + 1) * 0x9E3779B97F4A7C15u * (i + 1);
  }
  for (const auto& on : backends())
    for (const DType type : all_dtypes())
      for (const std::size_t many : {2, 3, 8, 9, 20})
        for (const std::size_t shift : {0, 1}) {  // elements, by which what is summed lies differently from where the sum goes
          CAPTURE(on.name);
          CAPTURE(std::string(name_of(type)));
          CAPTURE(many);
          CAPTURE(shift);
          const std::size_t size = size_of(type), count = bytes / size - 5;
          std::vector<const void*> in;
          for (std::size_t s = 0; s < many; ++s) in.push_back(reinterpret_cast<const std::byte*>(buffers[s].data()) + shift * size);
          std::vector<std::uint64_t> expected(bytes / 8, 42), out(bytes / 8, 42);
          reduce_into(InstructionSet::baseline, type, ReduceOp::sum, expected.data(), in[0], in[1], count);
          for (std::size_t s = 2; s < many; ++s)
            reduce_into(InstructionSet::baseline, type, ReduceOp::sum, expected.data(), expected.data(), in[s], count);
          on.reduce_many(type, ReduceOp::sum, out.data(), in, count);
          bool all_same = true;
          for (std::size_t i = 0; i < bytes / size; ++i) all_same &= same(type, out.data(), expected.data(), i);
          CHECK(all_same);
        }
}

TEST_CASE("an average divides the sum once; integers round toward zero") {
  constexpr auto min64 = std::numeric_limits<std::int64_t>::min();
  CHECK(averaged<float>(DType::float32, {10, -1}, 4) == std::vector<float>{2.5f, -0.25f});
  CHECK(averaged<double>(DType::float64, {1}, 3).front() == 1.0 / 3);
  CHECK(averaged<std::int32_t>(DType::int32, {10, -10, -3}, 4) == std::vector<std::int32_t>{2, -2, 0});
  CHECK(averaged<std::int64_t>(DType::int64, {min64}, 2).front() == min64 / 2);
  CHECK(averaged<std::uint8_t>(DType::uint8, {255}, 2).front() == 127);
  CHECK(averaged<std::uint8_t>(DType::uint8, {255}, 300).front() == 0);
  CHECK(to_float(averaged<float16>(DType::float16, {to_float16(3)}, 2).front()) == 1.5f);
  CHECK(to_float(averaged<bfloat16>(DType::bfloat16, {to_bfloat16(1)}, 3).front()) == 0.333984375f);  // 171 / 512
}

namespace {

// Around every multiple that is near an end of the type or near zero, where a quotient is one too many or too few first.
template <class T>
void check_averages(DType type) {
  std::mt19937_64 random(1);
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 127, 255, 256, 257, 641, 1000, 1024, 65'537, 2'147'483'647}) {
    std::vector<T> sums = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}};
    const auto near = [&](T multiple) {
      for (const int off : {-1, 0, 1}) {
        using U = std::make_unsigned_t<T>;
        sums.push_back(static_cast<T>(static_cast<U>(static_cast<U>(multiple) + static_cast<U>(off))));
      }
    };
    near(static_cast<T>(ranks));
    near(static_cast<T>(-ranks));
    near(static_cast<T>(std::numeric_limits<T>::max() - std::numeric_limits<T>::max() % ranks));
    near(static_cast<T>(std::numeric_limits<T>::min() - std::numeric_limits<T>::min() % ranks));
    for (int i = 0; i < 500; ++i) sums.push_back(static_cast<T>(random()));
    std::vector<T> expected;
    for (const T sum : sums) expected.push_back(static_cast<T>(sum / ranks));
    CAPTURE(ranks);
    CHECK(averaged<T>(type, sums, ranks) == expected);
  }
}

}  // namespace

TEST_CASE("an average of integers is the quotient, which is computed without a division") {
  check_averages<std::int32_t>(DType::int32);
  check_averages<std::int64_t>(DType::int64);
  check_averages<std::uint8_t>(DType::uint8);
}

namespace {

template <class T>
void check_quotients(DType type, const std::vector<T>& sums) {
  std::vector<int> all = {641, 1000, 1023, 2048, 2049, 16'383, 16'385, 65'536, 65'537, (1 << 30) - 1, 1 << 30};
  for (int ranks = 1; ranks <= 40; ++ranks) all.push_back(ranks);
  for (const int ranks : all) {
    CAPTURE(ranks);
    std::vector<T> expected;
    using Quotient = typename Computed<T>::type;
    for (const T sum : sums) expected.push_back(narrow<T>(widen(sum) / static_cast<Quotient>(ranks)));
    CHECK(averaged<T>(type, sums, ranks) == expected);
  }
}

template <class T>
std::vector<T> all_numbers_of_16_bits() {
  std::vector<T> all;
  for (std::uint32_t bits = 0; bits < 65'536; ++bits)
    if (const T value{static_cast<std::uint16_t>(bits)}; !std::isnan(to_float(value))) all.push_back(value);
  return all;
}

}  // namespace

TEST_CASE("an average of floating point is the quotient, rounded once, also where it is computed by a multiplication") {
  check_quotients<float16>(DType::float16, all_numbers_of_16_bits<float16>());
  check_quotients<bfloat16>(DType::bfloat16, all_numbers_of_16_bits<bfloat16>());
  std::mt19937_64 random(1);
  std::vector<float> floats = {0.0f, -0.0f, std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()};
  std::vector<double> doubles = {0.0, std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()};
  while (floats.size() < 20'000)
    if (const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random())); !std::isnan(value)) floats.push_back(value);
  while (doubles.size() < 2'000)
    if (const auto value = std::bit_cast<double>(random()); !std::isnan(value)) doubles.push_back(value);
  check_quotients<float>(DType::float32, floats);
  check_quotients<double>(DType::float64, doubles);
}

TEST_CASE("what is not defined is our own bug") {
  float x = 1;
  CHECK_THROWS_WITH_AS(reduce(DType::float32, ReduceOp::band, &x, &x, 1), "internal error: band is not defined for float32",
                       std::logic_error);
  CHECK_THROWS_WITH_AS(scale_average(DType::float32, &x, 1, 0), "internal error: an average over 0 ranks", std::logic_error);
}
