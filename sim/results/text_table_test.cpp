#include "sim/results/text_table.hpp"

#include <algorithm>
#include <sstream>

#include <doctest/doctest.h>

using namespace weft;

namespace {

TextTable some_table() {
  return {.columns = {{.title = "size"},
                      {.title = "algorithm", .left = true},
                      {.title = "time", .unit = "us", .constant_moves = false},
                      {.title = "busiest link", .left = true, .optional = true}},
          .rows = {{.cells = {"1KiB", "ring", "10.00", "leaf0->spine0"}, .notes = {"a note"}},
                   {.cells = {"1KiB", "hdrm", "9.00", "leaf1->spine0"}, .marked = true}},
          .mark_behind = 2};
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

}  // namespace

TEST_CASE("text table: what is the same in all rows stands above them, and the marked row has a star") {
  CHECK(to_text(some_table(), {}) ==
        "#   in all rows: size 1KiB\n"
        "#\n"
        "# algorithm   time    busiest link\n"
        "#             (us)\n"
        "  ring       10.00    leaf0->spine0\n"
        "#   a note\n"
        "  hdrm        9.00 *  leaf1->spine0\n");
}

TEST_CASE("text table: a column that finds no room stands below its row, and no line is wider than asked for") {
  const std::string narrow = to_text(some_table(), {.width = 30});
  CHECK(narrow ==
        "#   in all rows: size 1KiB\n"
        "#\n"
        "# algorithm   time\n"
        "#             (us)\n"
        "  ring       10.00\n"
        "#   busiest link leaf0->spine0\n"
        "#   a note\n"
        "  hdrm        9.00 *\n"
        "#   busiest link leaf1->spine0\n");
  TextTable wide = some_table();
  wide.rows[0].cells[1] = "aiacc(streams=8, granularity=8MiB), hierarchical_ring(group=4, channels=2)";
  wide.rows[0].notes = {"critical path: 97.8 % bandwidth (lower7/node3->lower7 97.8 %), 1.7 % overheads, 0.4 % latency"};
  CHECK(widest(to_text(wide, {.width = 60})) <= 60);
  CHECK(to_text(wide, {.width = 60})
            .find("#   algorithm aiacc(streams=8, granularity=8MiB),\n#     hierarchical_ring(group=4, channels=2)\n") !=
        std::string::npos);
}

TEST_CASE("text table: lines break between words; colours only where they are asked for") {
  CHECK(wrapped("# one two three\n  ab\n", 9) == "# one two\n#   three\n  ab\n");
  CHECK(wrapped("#   aaaaaaaaaaaaaaaaaaaa b\n", 10) == "#   aaaaaaaaaaaaaaaaaaaa\n#     b\n");
  CHECK(wrapped("# one two\n", 0) == "# one two\n");
  CHECK(to_text(some_table(), {.colour = true}).find("\x1b[1;32m  hdrm") != std::string::npos);
  CHECK(to_text(some_table(), {}).find('\x1b') == std::string::npos);
}

TEST_CASE("text table: markdown has every column, the marked value bold, and bars escaped") {
  TextTable table = some_table();
  table.rows[0].notes = {"a|b"};
  CHECK(to_markdown(table) ==
        "| size | algorithm | time (us) | busiest link | notes |\n"
        "|---:|---|---:|---|---|\n"
        "| 1KiB | ring | 10.00 | leaf0->spine0 | a\\|b |\n"
        "| 1KiB | hdrm | **9.00** | leaf1->spine0 |  |\n");
}
