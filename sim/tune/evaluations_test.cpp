#include "sim/tune/evaluations.hpp"

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("evaluations: what is written is read again, awkward texts and failures included") {
  const std::vector<std::string> pointers = {"/workload/engine/streams", "/workload/algorithm"};
  const std::vector<std::string> row(row_columns().size(), "x");
  const std::vector<Evaluation> all = {
      {.values = {"2", R"({"name":"ring","channels":2})"}, .technique = "grid", .objective = 1.0 / 3, .rows = {row, row}},
      {.values = {"4", "ring"}, .technique = "hyperband", .failure = "it says \"no\", twice"},
      {.values = {"4", "ring"}, .share = 1.0 / 3, .technique = "hyperband", .objective = 2, .rows = {row}}};
  const std::string csv = to_csv(all, pointers, true);
  CHECK(is_evaluations_csv(csv));
  const auto again = evaluations_from_csv(csv, "e.csv", pointers);
  REQUIRE(again.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(again[i].values == all[i].values);
    CHECK(again[i].share == all[i].share);
    CHECK(again[i].technique == all[i].technique);
    CHECK(again[i].failure == all[i].failure);
    CHECK(again[i].rows == all[i].rows);
    if (all[i].failure.empty()) CHECK(again[i].objective == all[i].objective);
  }
  CHECK(to_csv(again, pointers, true) == csv);
}

TEST_CASE("evaluations: a table of other choices or a damaged one is refused with its line") {
  const std::string csv =
      to_csv({{.values = {"2"}, .technique = "grid", .objective = 7, .rows = {{row_columns().size(), "x"}}}}, {"/a"}, false);
  CHECK_THROWS_AS(evaluations_from_csv(csv, "e.csv", {"/b"}), InputError);
  CHECK_THROWS_WITH_AS(evaluations_from_csv(csv + "2,grid\n", "e.csv", {"/a"}),
                       fmt::format("e.csv: line 3: must have {} cells, got 2", 7 + row_columns().size()).c_str(), InputError);
}

}  // namespace weft
