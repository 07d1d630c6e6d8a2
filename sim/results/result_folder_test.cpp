#include "sim/results/result_folder.hpp"

#include "kernels/testing/problems_of.hpp"
#include "kernels/testing/scratch_folder.hpp"
#include "sim/cases/testing.hpp"
#include "sim/results/trace_events.hpp"
#include "sim/results/writers.hpp"

#include <fstream>

using namespace weft;

namespace {

// One that is yet to be made.
class ResultsFolder {
 public:
  std::filesystem::path path() const { return above_ / "results"; }
  std::filesystem::path operator/(const char* name) const { return path() / name; }
  bool has(const char* name) const { return std::filesystem::exists(path() / name); }

 private:
  ScratchFolder above_;
};

std::vector<Case> named(const char* name) { return cases_of(with("/name", name)); }

std::vector<Result> results_of(const std::vector<Case>& cases, bool trace) {
  std::vector<Result> out;
  for (const RowRequest& request : rows_of(cases))
    out.push_back({.request = request,
                   .row = Row{.scenario = request.scenario->name, .algorithm = label(*request.algorithm), .size = request.size},
                   .trace = trace ? trace_events({}, out.size(), "row") : ""});
  return out;
}

void run_into(const ResultsFolder& folder, const std::vector<Case>& cases, const ResultFolderOptions& options = {}) {
  ResultFolder(folder.path(), cases, options).write(results_of(cases, options.trace));
}

Lines refused(const ResultsFolder& folder, const std::vector<Case>& cases, const ResultFolderOptions& options = {}) {
  return problems_of([&] { ResultFolder(folder.path(), cases, options); });
}

}  // namespace

TEST_CASE("a folder is made, files are replaced whole, and there is never an empty one") {
  const ResultsFolder folder;
  const auto cases = named("first");
  const std::filesystem::path deep = folder / "made" / "on the way";
  ResultFolder results(deep, cases, {});
  std::vector<Result> nothing = results_of(cases, false);
  for (Result& result : nothing) result.row.reset();
  results.write(nothing);
  CHECK(std::filesystem::is_empty(deep));
  results.write(results_of(cases, false));
  CHECK(read_file(deep / "results.csv") == to_csv(results_of(cases, false), cases));
  CHECK(std::distance(std::filesystem::directory_iterator(deep), std::filesystem::directory_iterator()) == 2);
}

TEST_CASE("the same run may be repeated into its folder, whatever its name") {
  for (const char* name : {"first", "a, \"b\"", "größer"}) {
    CAPTURE(name);
    const ResultsFolder folder;
    run_into(folder, named(name), {.trace = true});
    CHECK(folder.has("trace.json"));
    CHECK(refused(folder, named(name), {.trace = true}) == Lines{});
  }
}

TEST_CASE("results of another scenario are replaced only by force") {
  const ResultsFolder folder;
  run_into(folder, named("first"), {.trace = true});
  const Lines lines = refused(folder, named("second"), {.trace = true});
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == fmt::format("-o {}: {} exists and is not a result of weft run on \"second\"; write to another place, or give --force "
                                "to replace it",
                                folder.path().string(), (folder / "results.json").string()));
  run_into(folder, named("second"), {.force = true});
  CHECK(refused(folder, named("second")) == Lines{});
  CHECK(refused(folder, named("first")).size() == 2);
}

TEST_CASE("results of two scenarios are not those of one of them") {
  const ResultsFolder folder;
  auto both = named("first");
  for (Case& one : named("second")) both.push_back(std::move(one));
  run_into(folder, both);
  CHECK(refused(folder, both) == Lines{});
  CHECK(refused(folder, named("first")).size() == 1);
}

TEST_CASE("a trace of earlier results of the scenario does not stay beside new ones; another's does") {
  const ResultsFolder folder;
  run_into(folder, named("first"), {.trace = true});
  const auto cases = named("first");
  ResultFolder results(folder.path(), cases, {});
  CHECK(results.removed().empty());
  results.write(results_of(cases, false));
  CHECK(results.removed() == Lines{"trace.json"});
  CHECK(!folder.has("trace.json"));
  std::ofstream(folder / "trace.json") << R"({"displayTimeUnit":"ns","traceEvents":[]})";
  run_into(folder, named("first"));
  CHECK(folder.has("trace.json"));
  CHECK(refused(folder, named("first"), {.trace = true}).size() == 1);
}

TEST_CASE("files that weft did not write, and inputs, are refused") {
  const ResultsFolder folder;
  std::filesystem::create_directories(folder.path());
  std::ofstream(folder / "results.csv") << "mine\n1\n";
  std::ofstream(folder / "results.json") << good_scenario().dump();
  CHECK(refused(folder, named("first")).size() == 2);
  const Lines lines = refused(folder, named("first"), {.inputs = {folder / "results.json"}, .force = true});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].ends_with("results.json is read by this command; write to another file"));
}

TEST_CASE("a folder that cannot be one is refused") {
  const auto cases = named("first");
  CHECK_THROWS_WITH_AS(ResultFolder("/dev/null", cases, {}), doctest::Contains("-o /dev/null: cannot be written to: "), InputError);
  CHECK_THROWS_WITH_AS(ResultFolder("/proc/weft", cases, {}), doctest::Contains("-o /proc/weft: cannot be written to: "), InputError);
  CHECK_THROWS_WITH_AS(ResultFolder("", cases, {}), "-o: must name a folder, got \"\"", InputError);
}
