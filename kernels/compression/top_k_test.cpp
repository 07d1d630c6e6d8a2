#include "kernels/compression/top_k.hpp"

#include "kernels/testing/backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::backends;
using Floats = std::vector<float>;

namespace {

std::vector<Entry> largest(const test::Backend& on, const Floats& values, std::size_t k) {
  std::vector<Entry> entries(k);
  on.top_k(values, entries);
  return entries;
}

// By definition: sort all, stably.
std::vector<Entry> by_sorting(const Floats& values, std::size_t k) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return std::abs(values[a]) > std::abs(values[b]); });
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < k; ++i) entries.push_back({order[i], values[order[i]]});
  return entries;
}

Floats normal(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  Floats values(count);
  for (float& v : values) v = distribution(random);
  return values;
}

}  // namespace

TEST_CASE("the largest magnitudes come first, with their sign and place") {
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    CHECK(largest(on, {1, -5, 3, 0, 4}, 3) == std::vector<Entry>{{1, -5}, {4, 4}, {2, 3}});
    CHECK(largest(on, {1, -5, 3}, 0).empty());
    CHECK(largest(on, {}, 0).empty());
    CHECK(largest(on, {-0.0f}, 1) == std::vector<Entry>{{0, -0.0f}});
  }
}

TEST_CASE("of equal magnitudes the lower index comes first, whatever the sign") {
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    CHECK(largest(on, {2, -2, 2, -2}, 3) == std::vector<Entry>{{0, 2}, {1, -2}, {2, 2}});
    const std::vector<Entry> first = largest(on, Floats(5000, 1.0f), 700);  // more ties than a block of threads
    bool in_order = true;
    for (std::size_t i = 0; i < first.size(); ++i) in_order &= first[i] == Entry{static_cast<std::uint32_t>(i), 1.0f};
    CHECK(in_order);
  }
}

TEST_CASE("a NaN is larger than infinity, and infinity than all numbers") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    const auto entries = largest(on, {1, -inf, 5, nan}, 3);
    CHECK(entries[0].index == 3);
    CHECK(std::isnan(entries[0].value));
    CHECK(entries[1] == Entry{1, -inf});
    CHECK(entries[2] == Entry{2, 5});
  }
}

TEST_CASE("any k of any length equals the definition") {
  for (std::size_t count : {1, 63, 64, 65, 1000, 70001}) {
    const Floats values = normal(count, static_cast<unsigned>(count));
    for (std::size_t k : {std::size_t{1}, count / 1000, count / 100, count / 10, count - 1, count}) {
      const auto expected = by_sorting(values, k);
      for (const auto& on : backends()) {
        CAPTURE(on.name);
        CAPTURE(count);
        CAPTURE(k);
        CHECK(largest(on, values, k) == expected);
      }
    }
  }
}

TEST_CASE("values made to mislead a sample are still sorted right") {
  constexpr std::size_t count = 100'000, k = 500;
  Floats rising(count), rare(count, 0.0f), few_levels = normal(count, 3);
  std::iota(rising.begin(), rising.end(), 0.0f);
  for (std::size_t i = 0; i < k / 2; ++i) rare[i] = static_cast<float>(i);  // fewer than k are not zero
  for (float& v : few_levels) v = std::round(v);
  Floats crowded = normal(count, 4);
  std::sort(crowded.begin(), crowded.end());
  // The 100 largest lie exactly where the CPU version takes its sample, which then believes that there are thousands.
  Floats sampled(count, 1.0f);
  for (std::size_t i = 0; i < 100; ++i) sampled[i * 12 + (i * 0x9e3779b1u) % 12] = 2.0f;
  for (const Floats& values : {rising, rare, few_levels, crowded, sampled}) {
    const auto expected = by_sorting(values, k);
    for (const auto& on : backends()) {
      CAPTURE(on.name);
      CHECK(largest(on, values, k) == expected);
    }
  }
}

TEST_CASE("asking for more than there is is our own bug") {
  std::vector<Entry> two(2);
  CHECK_THROWS_WITH_AS(top_k(Floats{1}, two), "internal error: the largest 2 of 1 elements", std::logic_error);
}
