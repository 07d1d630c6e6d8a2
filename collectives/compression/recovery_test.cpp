// What sums of sketches are, and how well they are read back, against the bounds of Charikar, Chen & Farach-Colton 2002.
#include "collectives/compression/exchange_run.hpp"
#include "collectives/compression/testing.hpp"
#include "kernels/base/hash.hpp"
#include "kernels/compression/count_sketch.hpp"

#include <cmath>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::test;

namespace {

Floats sketch_of(const SketchShape& shape, const Floats& values) {
  Floats table(shape.counters(), 0);
  sketch_insert(shape, 0, values, table);
  return table;
}

// The sum of the sketches of all vectors, as the root of the tree gets it.
Floats reduced(const SketchShape& shape, const std::vector<Floats>& vectors, const std::string& algorithm) {
  const int ranks = static_cast<int>(vectors.size());
  const Exchange exchange{.request = {.collective = Collective::reduce, .algorithm = algorithm, .ranks = ranks},
                          .operand = Operand::table,
                          .elements = static_cast<std::int64_t>(shape.counters())};
  std::vector<Floats> tables;
  for (const Floats& v : vectors) tables.push_back(sketch_of(shape, v));
  on_threads(ranks, [&](Rank r, Transport& transport) {
    std::vector<Entry> none;
    ExchangeRun(exchange, r).run(reinterpret_cast<std::byte*>(tables[static_cast<std::size_t>(r)].data()), none, transport);
  });
  return tables.front();
}

// Of `rows` independent rows, each wrong with at most this probability, that the median is.
double wrong_median(int rows, double of_a_row) {
  double sum = 0;
  for (int j = (rows + 1) / 2; j <= rows; ++j)
    sum += std::exp(std::lgamma(rows + 1) - std::lgamma(j + 1) - std::lgamma(rows - j + 1)) * std::pow(of_a_row, j) *
           std::pow(1 - of_a_row, rows - j);
  return sum;
}

double norm(const Floats& values) {
  double squares = 0;
  for (const float v : values) squares += double{v} * double{v};
  return std::sqrt(squares);
}

// Vectors with light and heavy tails, and one that is nothing but a heavy element.
std::vector<Floats> shapes_of_vectors(std::size_t d) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  Floats gaussian(d), power(d), single(d, 0);
  for (std::size_t i = 0; i < d; ++i) {
    gaussian[i] = normal(random);
    power[i] = normal(random) / static_cast<float>(i + 1);
  }
  single[d / 2] = 5;
  return {gaussian, power, single};
}

}  // namespace

TEST_CASE("the sum of sketches is the sketch of the sum: whole numbers to the bit, for 1 to 17 ranks") {
  const SketchShape shape{.rows = 5, .columns = 61, .seed = 3};
  for (int ranks = 1; ranks <= 17; ++ranks)
    for (const char* algorithm : {"neighbour_tree", "direct"}) {
      CAPTURE(ranks);
      const std::vector<Floats> vectors = gradients(ranks, 1000, 4);
      CHECK(reduced(shape, vectors, algorithm) == sketch_of(shape, sum_of(vectors)));
    }
}

TEST_CASE("the sum of sketches is the sketch of the sum: floats to the bound of their additions") {
  constexpr std::size_t d = 600;
  const SketchShape shape{.rows = 3, .columns = 37, .seed = 5};
  for (const int ranks : {2, 5, 16}) {
    std::mt19937_64 random(7);
    std::normal_distribution<float> normal;
    std::vector<Floats> vectors(static_cast<std::size_t>(ranks), Floats(d));
    std::vector<double> magnitudes(shape.counters(), 0);  // summed in each counter
    for (std::size_t i = 0; i < d; ++i) {
      Floats touched(shape.counters(), 0);
      sketch_insert(shape, i, std::array{1.0f}, touched);
      double magnitude = 0;
      for (Floats& v : vectors) magnitude += std::abs(v[i] = normal(random));
      for (std::size_t c = 0; c < touched.size(); ++c)
        if (touched[c] != 0) magnitudes[c] += magnitude;
    }
    const Floats one = reduced(shape, vectors, "neighbour_tree"), other = sketch_of(shape, sum_of(vectors));
    // Any order of m additions is off by at most m 2^-24 times the sum of magnitudes (to first order); both are sums of at most
    // d x ranks values.
    const double unit = std::ldexp(1.0, -24) * 1.01;
    for (std::size_t c = 0; c < one.size(); ++c)
      CHECK(std::abs(double{one[c]} - double{other[c]}) <= 2 * static_cast<double>(d) * ranks * unit * magnitudes[c]);
  }
}

// A row is off by a random sum whose variance is at most |v|^2 / columns, so by more than t |v| / sqrt(columns) with probability at
// most 1/t^2 (Chebyshev), and the median of r rows with at most the probability that (r + 1) / 2 rows are.
TEST_CASE("estimates are off by more than t |v| / sqrt(columns) no oftener than the bound says, over thousands of seeds") {
  constexpr std::size_t d = 200;
  constexpr int seeds = 4000;
  for (const Floats& values : shapes_of_vectors(d))
    for (const int rows : {1, 3, 5})
      for (const double t : {1.5, 2.0, 3.0}) {
        CAPTURE(rows);
        CAPTURE(t);
        SketchShape shape{.rows = rows, .columns = 40};
        const double allowed = t * norm(values) / std::sqrt(shape.columns);
        std::int64_t wrong = 0;
        Floats estimates(d);
        for (int seed = 0; seed < seeds; ++seed) {
          shape.seed = mixed(static_cast<std::uint64_t>(seed));
          sketch_estimate(shape, sketch_of(shape, values), 0, estimates);
          for (std::size_t i = 0; i < d; ++i) wrong += std::abs(double{estimates[i]} - double{values[i]}) > allowed;
        }
        CHECK(static_cast<double>(wrong) / (seeds * double{d}) <= wrong_median(rows, 1 / (t * t)));
      }
}

TEST_CASE("estimates are right on average, over thousands of seeds") {
  constexpr std::size_t d = 100;
  constexpr int seeds = 4000;
  SketchShape shape{.rows = 1, .columns = 20};
  const Floats values = shapes_of_vectors(d).front();
  std::vector<double> sums(d, 0);
  Floats estimates(d);
  for (int seed = 0; seed < seeds; ++seed) {
    shape.seed = mixed(static_cast<std::uint64_t>(seed) + 99);
    sketch_estimate(shape, sketch_of(shape, values), 0, estimates);
    for (std::size_t i = 0; i < d; ++i) sums[i] += estimates[i];
  }
  const double deviation = norm(values) / std::sqrt(shape.columns * double{seeds});
  for (std::size_t i = 0; i < d; ++i) CHECK(std::abs(sums[i] / seeds - double{values[i]}) < 5 * deviation);
}

// k elements stand out from the others by more than twice what an estimate may be off: they are the k largest estimates unless one of
// the d estimates is worse, which a union bound makes rarer than d times the bound of one.
TEST_CASE("elements that stand out are recovered as often as the bound says, over thousands of seeds") {
  constexpr std::size_t d = 200, k = 8;
  constexpr int seeds = 2000;
  constexpr double t = 3;
  SketchShape shape{.rows = 15, .columns = 400};
  Floats values = shapes_of_vectors(d).front();
  for (std::size_t i = 0; i < k; ++i) values[i * 20] = i % 2 == 0 ? 30.0f : -30.0f;
  REQUIRE(30 - 4 > 2 * t * norm(values) / std::sqrt(shape.columns));
  int missed = 0;
  Floats estimates(d);
  std::vector<Entry> found(k);
  for (int seed = 0; seed < seeds; ++seed) {
    shape.seed = mixed(static_cast<std::uint64_t>(seed) + 7);
    sketch_estimate(shape, sketch_of(shape, values), 0, estimates);
    top_k(estimates, found);
    bool all = true;
    for (const Entry& e : found) all &= e.index % 20 == 0 && e.index < 20 * k;
    missed += !all;
  }
  CHECK(missed <= seeds * double{d} * wrong_median(shape.rows, 1 / (t * t)));
}
