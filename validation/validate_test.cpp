#include "validation/testing.hpp"
#include "validation/validate_text.hpp"

#include <sstream>

#include <doctest/doctest.h>

using namespace weft;
using Lines = std::vector<std::string>;

namespace {

const std::string reference_text = R"({
  "name": "made", "about": "Made up.", "scenario": "pair.json", "measurements": ["data.csv"],
  "claims": [{"what": "twice the rate is faster", "published": "up to 2x", "of": {"algorithm": "ring", "set": {"/fabric/link/bandwidth": "200Gbps"}},
              "against": {"algorithm": {"name": "ring", "pieces": 1}}, "sizes": ["1KiB", "1MB"], "largest_only": true, "at_least": 1.5, "at_most": 2}]})";

struct Made {
  ScratchFolder folder;
  std::filesystem::path file;
  Made() {
    folder.file("pair.json", pair_scenario);
    // 2 us and 80 ps a byte are right; the second is 10 % wrong and held out.
    folder.file("data.csv", "ranks,collective,size_bytes,time_us\n2,allreduce,1000000,82\n2,allreduce,2000000,180.0\n");
    file = folder.file("made.json", reference_text);
  }
};

}  // namespace

TEST_CASE("validate: a reference's points and claims are judged") {
  const Made made;
  const Judgement judged = judge(read_reference(made.file));
  CHECK(judged.fitted.points == 1);
  CHECK(judged.fitted.median == doctest::Approx(0).epsilon(0.001));
  CHECK(judged.held_out.points == 1);
  CHECK(judged.held_out.median == doctest::Approx(0.1));
  REQUIRE(judged.claims.size() == 1);
  CHECK(judged.claims[0].highest == doctest::Approx(82.0 / 42));
  CHECK(judged.claims[0].holds);
}

TEST_CASE("validate: a held-out error that grows fails, and one that is not committed") {
  const Made made;
  std::vector<Judgement> judged = {judge(read_reference(made.file))};
  const std::string baseline = baseline_text(judged);
  CHECK(grown_errors(judged, baseline).empty());
  judged[0].held_out.median = 0.11;
  CHECK(grown_errors(judged, baseline) == Lines{"made: the held-out error grew, median: 11.0 % was 10.0 %"});
  CHECK(grown_errors(judged, "{}") == Lines{"made: is not in baseline.json"});
  judged[0].held_out.median = 0.1;
  judged[0].claims[0].holds = false;
  CHECK(grown_errors(judged, baseline) == Lines{"made: no longer so: " + judged[0].claims[0].claim.what});
}

TEST_CASE("validate: the summary goes between its markers") {
  const Made made;
  const std::vector<Judgement> judged = {judge(read_reference(made.file))};
  const std::string page = "before\n<!-- validate:begin -->\nstale text\n<!-- validate:end -->\nafter\n";
  const std::string renewed = with_summary(page, judged);
  CHECK(renewed.starts_with("before\n<!-- validate:begin -->\n| reference"));
  CHECK(renewed.find("stale text") == renewed.npos);
  CHECK(renewed.find("| made | twice the rate is faster | up to 2x | up to 1.95x | yes |") != renewed.npos);
  CHECK(renewed.ends_with("<!-- validate:end -->\nafter\n"));
  CHECK(with_summary(renewed, judged) == renewed);
  CHECK_THROWS_AS(with_summary("no markers", judged), InputError);
}

TEST_CASE("validate: a bad reference is refused with every place") {
  const ScratchFolder folder;
  const auto file =
      folder.file("bad.json", R"({"name": "x", "about": "y", "scenario": "z", "measurments": [], "claims": [{"what": "w"}]})");
  const auto problems = problems_of([&] { read_reference(file); });
  REQUIRE(problems.size() >= 2);
  CHECK(problems[0].find("/measurments: unknown key (did you mean \"measurements\"?)") != std::string::npos);
}

TEST_CASE("validate: the references that ship are read") {
  const auto files = shipped_references();
  CHECK(files.size() >= 10);
  for (const auto& file : files) {
    CAPTURE(file.string());
    CHECK(!read_reference(file).name.empty());
  }
}
