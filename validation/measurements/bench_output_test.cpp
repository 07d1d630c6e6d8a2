#include "kernels/files/files.hpp"
#include "kernels/testing/scratch_folder.hpp"
#include "validation/measurements/measurement.hpp"

#include <cstdlib>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("measurements: what weft bench prints and writes with -J is read as what nccl-tests prints and writes") {
  const ScratchFolder folder;
  for (const char* each : {"0", "1"}) {  // one time for all iterations back to back, and one for each
    CAPTURE(each);
    const std::string text = folder / "table.txt", json = folder / "result.json";
    const std::string command = fmt::format(
        "{}_bench --collective reduce_scatter --algorithm ring -t 3 -b 1200 -i 600 -e 2400 --iters 2 -m 3 -I {} -J {} > {} 2>/dev/null",
        WEFT_BINARY, each, json, text);
    REQUIRE(std::system(command.c_str()) == 0);
    const Measurements printed = read_measurements(text), written = read_measurements(json);
    CHECK(printed.format == "an nccl-tests table");
    REQUIRE(printed.rows.size() == 6);  // three sizes, out of place and in place
    REQUIRE(written.rows.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
      CAPTURE(i);
      for (const Measurement& row : {printed.rows[i], written.rows[i]}) {
        CHECK(row.collective == "reduce_scatter");
        CHECK(row.algorithm == "ring");
        CHECK(row.ranks == 3);
        CHECK(row.size_bytes == 1200 + 600 * static_cast<std::int64_t>(i / 2));
        CHECK(row.in_place == (i % 2 == 1));
      }
      CHECK(printed.rows[i].time_us == doctest::Approx(written.rows[i].time_us).epsilon(0.01));  // printed with fewer digits
    }
    const ReadOptions out_of_place{.select = RowSelection{}};
    CHECK(read_measurements(text, out_of_place).rows.size() == 3);
    CHECK(read_measurements(json, out_of_place).rows.size() == 3);
  }
}

TEST_CASE("measurements: the settings of an algorithm stand in what weft bench prints and writes, and compressed calls are refused") {
  const ScratchFolder folder;
  const std::string text = folder / "table.txt", json = folder / "result.json", trace = folder / "run.trace";
  const auto run = [&](const char* what) {
    const std::string command =
        fmt::format("{}_bench -t 4 -b 4096 -e 4096 --iters 2 {} -J {} --trace {} > {} 2>/dev/null", WEFT_BINARY, what, json, trace, text);
    REQUIRE(std::system(command.c_str()) == 0);
  };
  const auto named = [](const std::string& file) { return read_measurements(file).rows.front().algorithm; };
  for (const auto& one :
       {std::pair{"--algorithm ring --pieces 4", "ring(pieces=4)"}, std::pair{"--algorithm ring --channels 2", "ring(channels=2)"},
        std::pair{"--algorithm double_binary_tree", "double_binary_tree(pieces=1)"},  // which would be cut as finely as is best
        std::pair{"--algorithm parameter_server --servers 2", "parameter_server(servers=2)"},
        std::pair{"--algorithm two_level --group 2 --inner ring", "two_level(group=2,inner=ring)"}}) {
    const std::string label = one.second;
    CAPTURE(label);
    run(one.first);
    CHECK(named(text) == label);
    CHECK(named(json) == label);
    CHECK(named(trace) == label);
  }
  run("--algorithm ring --compression gtopk");
  for (const std::string& file : {text, json, trace}) {
    CAPTURE(file);
    CHECK_THROWS_AS(read_measurements(file), InputError);
  }
}
