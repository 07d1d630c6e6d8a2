#include "validation/train/report.hpp"

#include <sstream>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::train;

namespace {

Run run_of(std::string_view name, std::uint64_t seed, double last, bool simulated) {
  Run run;
  run.settings.compression = {.name = std::string(name)};
  run.settings.seed = run.settings.compression.seed = seed;
  for (const double accuracy : {0.5, last})
    run.curve.push_back({.number = static_cast<int>(run.curve.size()) + 1,
                         .learning_rate = 0.1,
                         .k = 10,
                         .loss = 1,
                         .accuracy = accuracy,
                         .steps = 100,
                         .bytes_per_step = 80,
                         .kernel_s = {}});
  if (simulated) run.steps = {{.gradient = 1_ms}, {.gradient = 2_ms}};
  return run;
}

std::string summary(const std::vector<Run>& runs) {
  std::ostringstream out;
  print_summary(runs, 0.9, out);
  return out.str();
}

}  // namespace

TEST_CASE("simulated time adds up over the steps of epochs") {
  const Run run = run_of("dense", 1, 0.95, true);
  CHECK(run.seconds_until(0) == doctest::Approx(0.1));
  CHECK(run.seconds_until(1) == doctest::Approx(0.3));
}

TEST_CASE("the summary has a line for each compression, with its spread and when the target was reached") {
  const std::string text = summary({run_of("dense", 1, 0.92, true), run_of("dense", 2, 0.98, true), run_of("gtopk", 1, 0.8, true)});
  CHECK(text.find("95.00%    92.00% -  98.00%") != std::string::npos);
  CHECK(text.find("sim. s to 90%") != std::string::npos);
  CHECK(text.find("0.3000") != std::string::npos);
  CHECK(text.find("never") != std::string::npos);
  CHECK(summary({run_of("dense", 1, 0.92, false)}).find("sim.") == std::string::npos);
}

TEST_CASE("the CSV has a row for each epoch, simulated columns empty where nothing was simulated") {
  CHECK(to_csv({run_of("gtopk", 3, 0.92, false)}).find("\ngtopk(k=1%),threads,4,3,2,0.1,10,1.000000,0.920000,100,80,,,,,0.0,0.0,0.0\n") !=
        std::string::npos);
  CHECK(
      to_csv({run_of("gs_sgd", 3, 0.92, true)})
          .find(
              "\n\"gs_sgd(rows=5, columns=10%, k=1%)\",threads,4,3,1,0.1,10,1.000000,0.500000,100,80,1000.000,0.000,0.000,0.100000000,") !=
      std::string::npos);
}

TEST_CASE("a plot has a line for each compression over simulated time or epochs") {
  const auto lines = lines_of({run_of("dense", 1, 0.9, true), run_of("dense", 2, 1.0, true), run_of("gtopk", 1, 0.8, true)});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].points[1].x == doctest::Approx(0.3));
  CHECK(lines[0].points[1].y == doctest::Approx(0.95));
  CHECK(lines[0].points[1].least == doctest::Approx(0.9));
  CHECK(lines_of({run_of("dense", 1, 0.9, false)})[0].points[1].x == 2);
  const std::string svg = to_svg("Accuracy", "epochs", lines);
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("gtopk(k=1%)") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  // Epochs are whole, a single one is a point, and an axis of powers says so.
  const auto over = [](std::vector<double> xs) {
    CurveLine line{.name = "dense", .points = {}};
    for (const double x : xs) line.points.push_back({x, 0.9, 0.9, 0.9});
    return to_svg("Accuracy", "epochs", {line});
  };
  const auto has = [](const std::string& drawn, const char* text) { return drawn.find(text) != std::string::npos; };
  CHECK(has(over({1, 2, 3}), ">2</text>"));
  CHECK_FALSE(has(over({1, 2, 3}), ">1.5</text>"));
  CHECK(has(over({1}), "<circle cx=\"385.0\""));
  CHECK(has(over({1}), ">1</text>"));
  CHECK_FALSE(has(over({1, 3}), "logarithmic"));
  CHECK(has(over({0.01, 3}), "epochs (logarithmic)"));
  CHECK(has(over({0.01, 3}), ">0.2</text>"));
}

TEST_CASE("the page has accuracy with its spread, and the time to the target on every cluster, the fastest bold") {
  std::vector<Run> runs = {run_of("dense", 1, 0.92, true), run_of("dense", 2, 0.98, true), run_of("gtopk", 1, 0.8, true)};
  std::string page = to_page(runs, 0.9, "weft train");
  CHECK(page.find("| 2 | 95.0 (92.0 to 98.0) | 80.0 (80.0 to 80.0) |") != std::string::npos);
  CHECK(page.find("| dense | 80 | **0.3** (0.3 to 0.3) |") != std::string::npos);
  CHECK(page.find("| gtopk(k=1%) | 80 | never |") != std::string::npos);
  for (Run& run : runs)
    run.others = {{"slow", {{.gradient = 1_ms}, {.gradient = 1_ms}}}, {"fast", {{.gradient = 1_us}, {.gradient = 1_us}}}};
  page = to_page(runs, 0.9, "weft train");
  CHECK(page.find("| slow, s | fast, s |") != std::string::npos);
  CHECK(page.find("| dense | 80 | **0.2** (0.2 to 0.2) | **0.0002** (0.0002 to 0.0002) |") != std::string::npos);
}
