#include "kernels/base/large_table.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::uintptr_t address_of(const void* table) { return reinterpret_cast<std::uintptr_t>(table); }

}  // namespace

TEST_CASE("large table: small ones begin at a cache line, large ones at a huge page") {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, huge_page - 1, huge_page, 3 * huge_page + 1}) {
    CAPTURE(bytes);
    void* table = new_table(bytes);
    CHECK(address_of(table) % (bytes < huge_page ? 64 : huge_page) == 0);
    free_table(table, bytes);
  }
}

TEST_CASE("large table: what it holds stays as it grows from small to large and moves") {
  LargeTable<std::uint32_t> table;
  while (table.size() * sizeof(std::uint32_t) <= 2 * huge_page) table.push_back(static_cast<std::uint32_t>(table.size()));
  std::vector<std::uint32_t> expected(table.size());
  std::iota(expected.begin(), expected.end(), 0u);
  const LargeTable<std::uint32_t> moved = std::move(table);
  CHECK(std::equal(moved.begin(), moved.end(), expected.begin(), expected.end()));
}
