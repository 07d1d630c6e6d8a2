#include "kernels/compression/sparse.hpp"

#include "kernels/testing/backend.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using Entries = std::vector<Entry>;
using Floats = std::vector<float>;

namespace {

Entries random_entries(std::size_t k, std::uint32_t size, std::mt19937& random) {
  std::map<std::uint32_t, float> chosen;
  while (chosen.size() < k) chosen[static_cast<std::uint32_t>(random() % size)] = static_cast<float>(static_cast<int>(random() % 41) - 20);
  Entries entries;
  for (const auto& [index, value] : chosen) entries.push_back({index, value});
  return entries;
}

// By definition: add the dense vectors, sort what either list names.
Entries merged_by_definition(const Entries& a, const Entries& b, Entries& dropped) {
  std::map<std::uint32_t, float> sums;
  for (const Entry& e : a) sums[e.index] += e.value;
  for (const Entry& e : b) sums[e.index] += e.value;
  Entries all;
  for (const auto& [index, value] : sums) all.push_back({index, value});
  std::stable_sort(all.begin(), all.end(), [](const Entry& x, const Entry& y) { return std::abs(x.value) > std::abs(y.value); });
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(a.size());
  dropped.assign(end, all.end());
  sort_by_index(dropped);
  Entries kept(all.begin(), end);
  sort_by_index(kept);
  return kept;
}

}  // namespace

TEST_CASE("what is gathered and scattered again is where it was") {
  for (const test::Backend& on : test::backends()) {
    CAPTURE(on.name);
    const Floats values = {10, 11, 12, 13, 14};
    const std::vector<std::uint32_t> indices = {3, 0, 4};
    Floats some(3), again(5, 0);
    on.gather(values, indices, some);
    CHECK(some == Floats{13, 10, 14});
    on.scatter(indices, some, again);
    CHECK(again == Floats{10, 0, 0, 13, 14});
    on.scatter_add(Entries{{1, 5}, {3, -3}}, again);
    CHECK(again == Floats{10, 5, 0, 10, 14});
  }
}

TEST_CASE("entries of one index are added one after the other") {
  Floats values(2, 0);
  scatter_add(Entries{{1, 5}, {0, -3}, {1, 1}}, values);
  CHECK(values == Floats{-3, 6});
}

TEST_CASE("entries are sorted by index, the largest index there is among them") {
  std::mt19937 random(5);
  for (const test::Backend& on : test::backends()) {
    CAPTURE(on.name);
    Entries entries = random_entries(777, 100'000, random);
    entries.push_back({0xffffffffu, -0.5f});
    const Entries sorted = entries;
    std::shuffle(entries.begin(), entries.end(), random);
    on.sort_by_index(entries);
    CHECK(entries == sorted);
  }
}

TEST_CASE("two lists are merged by adding, and the largest magnitudes stay, ties by index") {
  for (const test::Backend& on : test::backends()) {
    CAPTURE(on.name);
    Entries into = {{1, 5}, {4, -3}, {9, 2}}, dropped;
    on.merge_top_k(into, Entries{{2, 3}, {4, -4}, {9, -2}}, dropped);
    CHECK(into == Entries{{1, 5}, {2, 3}, {4, -7}});
    CHECK(dropped == Entries{{9, 0}});
    Entries equal = {{5, 1}, {6, 1}};
    dropped.clear();
    on.merge_top_k(equal, Entries{{2, -1}, {7, 1}}, dropped);
    CHECK(equal == Entries{{2, -1}, {5, 1}});
    CHECK(dropped == Entries{{6, 1}, {7, 1}});
    Entries none;
    on.merge_top_k(none, {}, dropped);
    CHECK(none.empty());
  }
}

TEST_CASE("any two lists are merged as by definition") {
  for (const test::Backend& on : test::backends()) {
    CAPTURE(on.name);
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
      const std::size_t k = 1 + random() % 40;
      const auto size = static_cast<std::uint32_t>(k + random() % 80);
      const Entries a = random_entries(k, size, random), b = random_entries(k, size, random);
      Entries merged = a, dropped, expected_dropped;
      on.merge_top_k(merged, b, dropped);
      CHECK(merged == merged_by_definition(a, b, expected_dropped));
      CHECK(dropped == expected_dropped);
    }
  }
}

TEST_CASE("an index beyond the vector, or lists of different lengths, are our own bug") {
  Floats values(3);
  Entries two(2), dropped;
  CHECK_THROWS_WITH_AS(gather(values, std::vector<std::uint32_t>{3}, std::span(values).first(1)), "internal error: index 3 of 3 elements",
                       std::logic_error);
  CHECK_THROWS_WITH_AS(scatter(std::vector<std::uint32_t>{7}, Floats{1}, values), "internal error: index 7 of 3 elements",
                       std::logic_error);
  CHECK_THROWS_WITH_AS(scatter_add(Entries{{3, 1}}, values), "internal error: index 3 of 3 elements", std::logic_error);
  CHECK_THROWS_WITH_AS(merge_top_k(two, Entries(1), dropped), "internal error: a list of 1 entries merged into one of 2", std::logic_error);
}
