#include "kernels/compression/count_sketch.hpp"

#include "kernels/testing/backend.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::backends;
using Floats = std::vector<float>;

namespace {

// Whole numbers, so that sums are exact in any order of addition.
Floats whole_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Floats values(count);
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 201) - 100);
  return values;
}

Floats sketched(const test::Backend& on, const SketchShape& shape, const Floats& values, std::uint64_t first = 0) {
  Floats table(shape.counters(), 0);
  on.sketch_insert(shape, first, values, table);
  return table;
}

}  // namespace

TEST_CASE("a sketch is linear: S(a) + S(b) = S(a + b)") {
  const SketchShape shape{.rows = 5, .columns = 1000, .seed = 7};
  constexpr std::size_t count = 12345;
  const Floats a = whole_numbers(count, 1), b = whole_numbers(count, 2);
  Floats sum = a;
  for (std::size_t i = 0; i < count; ++i) sum[i] += b[i];
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    Floats merged = sketched(on, shape, a);
    sketch_merge(merged, sketched(on, shape, b));
    CHECK(merged == sketched(on, shape, sum));
  }
}

TEST_CASE("parts of a vector sketched one by one add up to the whole, where each says where it begins") {
  const SketchShape shape{.rows = 3, .columns = 777, .seed = 3};
  const Floats values = whole_numbers(3000, 4);
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    Floats table = sketched(on, shape, Floats(values.begin(), values.begin() + 1001));
    on.sketch_insert(shape, 1001, std::span(values).subspan(1001), table);
    CHECK(table == sketched(on, shape, values));
    CHECK(table != sketched(on, shape, values, 1));
  }
}

TEST_CASE("every element goes to one column of every row, with either sign") {
  const SketchShape shape{.rows = 7, .columns = 50, .seed = 1};
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    int positive = 0;
    for (std::uint64_t index = 0; index < 100; ++index) {
      const Floats table = sketched(on, shape, {1.0f}, index);
      for (int row = 0; row < shape.rows; ++row) {
        int touched = 0;
        for (int column = 0; column < shape.columns; ++column) {
          const float counter = table[static_cast<std::size_t>(row * shape.columns + column)];
          touched += counter != 0;
          positive += counter > 0;
          CHECK(std::abs(counter) == (counter != 0 ? 1.0f : 0.0f));
        }
        CHECK(touched == 1);
      }
    }
    CHECK(positive == doctest::Approx(350).epsilon(0.15));  // of 700; the standard deviation is 13
  }
}

TEST_CASE("columns are used evenly") {
  // 64000 ones on 64 columns: a counter is the sum of 1000 random signs, whose square is 1000 on average.
  const SketchShape shape{.rows = 31, .columns = 64, .seed = 11};
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    const Floats table = sketched(on, shape, Floats(64000, 1.0f));
    double squares = 0;
    for (float counter : table) squares += double{counter} * double{counter};
    CHECK(squares / static_cast<double>(table.size()) == doctest::Approx(1000).epsilon(0.1));  // 1984 counters: sd 3 %
  }
}

TEST_CASE("large elements are read back through the noise of the small ones") {
  constexpr std::size_t count = 20000;
  std::mt19937 random(13);
  std::normal_distribution<float> noise(0, 0.01f);
  Floats values(count);
  for (float& v : values) v = noise(random);
  for (std::size_t i = 0; i < 20; ++i) values[i * 977] = i % 2 == 0 ? 10.0f : -10.0f;
  // Noise of a row: sqrt((20 * 100 + 20000 * 1e-4) / 4000) = 0.7, but mostly none or a whole 10; the median drops those.
  const SketchShape shape{.rows = 7, .columns = 4000, .seed = 17};
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    Floats estimates(count);
    on.sketch_estimate(shape, sketched(on, shape, values), 0, estimates);
    double worst = 0;
    for (std::size_t i = 0; i < count; ++i) worst = std::max(worst, double{std::abs(estimates[i] - values[i])});
    CHECK(worst < 0.3);
  }
}

TEST_CASE("the estimate is the median of the rows, of an even number the mean of the two in the middle") {
  for (int rows : {1, 2, 4, 5, 8, 31}) {  // no multiples of 3
    CAPTURE(rows);
    const SketchShape shape{.rows = rows, .columns = 1, .seed = 5};
    for (const auto& on : backends()) {
      CAPTURE(on.name);
      // With one column a row's counter is the signed value. Row r estimates (3r + 1) mod rows: a permutation of 0, 1, ...
      Floats table = sketched(on, shape, {1.0f});
      for (int r = 0; r < rows; ++r) table[static_cast<std::size_t>(r)] *= static_cast<float>((r * 3 + 1) % rows);
      Floats estimate(1);
      on.sketch_estimate(shape, table, 0, estimate);
      CHECK(estimate[0] == static_cast<float>(rows - 1) / 2);
    }
  }
}

// Of magnitudes far apart, so that sums of floats would depend on their order.
Floats wide(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(count);
  for (float& v : values) v = std::ldexp(normal(random), static_cast<int>(random() % 40) - 20);
  return values;
}

TEST_CASE("any values leave the same bits on every backend, and are summed exactly but for units of the largest") {
  // 5000 columns are more than a block of a GPU keeps for itself.
  for (const int columns : {1, 37, 4096, 5000}) {
    const SketchShape shape{.rows = 3, .columns = columns, .seed = 9};
    const Floats values = wide(30'001, static_cast<unsigned>(columns));
    const Floats expected = sketched(backends()[0], shape, values);
    std::vector<double> exact(shape.counters(), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Floats one = columns <= 37 ? sketched(backends()[0], shape, {values[i]}, i) : Floats{};
      for (std::size_t c = 0; c < one.size(); ++c) exact[c] += double{one[c]};
    }
    // 30,001 values of at most 2^-47 of the largest, below 2^23, and one rounding to float32.
    if (columns <= 37)
      for (std::size_t c = 0; c < exact.size(); ++c)
        CHECK(std::abs(double{expected[c]} - exact[c]) <= 30'001 * 0x1p-24 + std::abs(exact[c]) * 0x1p-24);
    for (const auto& on : backends()) {
      CAPTURE(on.name);
      CAPTURE(columns);
      CHECK(sketched(on, shape, values) == expected);
    }
  }
}

TEST_CASE("one value is inserted as it is, the smallest and the largest too, and nothing for nothing") {
  const SketchShape shape{.rows = 1, .columns = 2, .seed = 5};
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    for (const float value : {1.0f, 0x1.fffffep127f, 0x1p-149f, 0x1.abcdeep-130f}) {
      const Floats table = sketched(on, shape, {value});
      CHECK(std::abs(table[0]) + std::abs(table[1]) == value);
      const Floats beside = sketched(on, shape, {value, 0.0f});
      CHECK(std::abs(beside[0]) + std::abs(beside[1]) == value);
    }
    CHECK(sketched(on, shape, Floats(100, 0.0f)) == Floats{0, 0});
  }
}

TEST_CASE("what is not finite makes its counters infinite or NaN, and no others") {
  const SketchShape shape{.rows = 2, .columns = 50, .seed = 3};
  Floats values(2000, 1.0f);
  values[700] = std::numeric_limits<float>::infinity();
  values[701] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    int infinite = 0, nan = 0;
    for (const float counter : sketched(on, shape, values)) infinite += std::isinf(counter), nan += std::isnan(counter);
    CHECK(infinite == 2);
    CHECK(nan == 2);
  }
}

TEST_CASE("another seed is another sketch, and the same seed the same on every backend") {
  const Floats values = whole_numbers(1000, 21);
  const Floats expected = sketched(backends()[0], {.rows = 4, .columns = 100, .seed = 1}, values);
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    CHECK(sketched(on, {.rows = 4, .columns = 100, .seed = 1}, values) == expected);
    CHECK(sketched(on, {.rows = 4, .columns = 100, .seed = 2}, values) != expected);
  }
}

TEST_CASE("an impossible shape is our own bug") {
  Floats table(4);
  CHECK_THROWS_WITH_AS(sketch_insert({.rows = 0, .columns = 4}, 0, {}, table), "internal error: a sketch of 0 rows", std::logic_error);
  CHECK_THROWS_WITH_AS(sketch_insert({.rows = 32, .columns = 4}, 0, {}, table), "internal error: a sketch of 32 rows", std::logic_error);
  CHECK_THROWS_WITH_AS(sketch_insert({.rows = 1, .columns = 0}, 0, {}, table), "internal error: a sketch of 0 columns", std::logic_error);
  CHECK_THROWS_WITH_AS(sketch_estimate({.rows = 3, .columns = 2}, table, 0, {}), "internal error: 4 counters for a sketch of 3 x 2",
                       std::logic_error);
  CHECK_THROWS_WITH_AS(sketch_merge(table, Floats(3)), "internal error: a sketch of 3 counters merged into one of 4", std::logic_error);
}
