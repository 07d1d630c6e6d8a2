#include "models/program.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("back to back: every call and operation is there again, and waits for those of its own time only") {
  const Schedule schedule{.name = "nothing", .ranks = 2, .chunks = 1};
  Program once = program_of(schedule, 4, 4);
  once.operations = {{{.id = "before", .duration = 3_ms}, {.id = "call", .call = 0, .stream = 1, .after = {0}}}};
  const Program three = back_to_back(once, 3);
  CHECK(problems(three).empty());
  REQUIRE(three.calls.size() == 3);
  CHECK(three.calls[2].elements == 4);
  const std::vector<Operation>& operations = three.operations.front();
  REQUIRE(operations.size() == 6);
  for (int time = 0; time < 3; ++time) {
    CHECK(operations[static_cast<std::size_t>(2 * time)] == once.operations.front()[0]);
    CHECK(operations[static_cast<std::size_t>(2 * time + 1)] == Operation{.id = "call", .call = time, .stream = 1, .after = {2 * time}});
  }
}
