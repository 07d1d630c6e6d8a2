#include "sim/results/row_journal.hpp"

#include "kernels/testing/scratch_folder.hpp"
#include "sim/cases/testing.hpp"
#include "sim/results/result_folder.hpp"
#include "sim/results/row_key.hpp"
#include "sim/results/writers.hpp"

#include <algorithm>
#include <fstream>
#include <memory>

using namespace weft;

namespace {

std::vector<Result> rows_of_case(const std::vector<Case>& cases) {
  std::vector<Result> out;
  for (const RowRequest& request : rows_of(cases))
    out.push_back(
        {.request = request, .row = Row{.scenario = request.scenario->name, .algorithm = label(*request.algorithm), .size = request.size}});
  return out;
}

std::ptrdiff_t found(const ScratchFolder& folder, const std::vector<Case>& cases, bool trace = false) {
  const RowJournal journal(folder.path(), names_of(cases), true);
  return std::ranges::count_if(journal.known(rows_of(cases), {.trace = trace}), [](const Result& r) { return r.row.has_value(); });
}

}  // namespace

TEST_CASE("rows that were written are known when the run goes on, and no others") {
  const ScratchFolder folder;
  const auto cases = cases_of(good_scenario());
  const auto rows = rows_of_case(cases);
  {
    RowJournal journal(folder.path(), names_of(cases), false);
    journal.add(0, rows[0]);
    journal.add(2, rows[2]);
  }
  {
    RowJournal journal(folder.path(), names_of(cases), true);
    const auto known = journal.known(rows_of(cases), {});
    REQUIRE(known.size() == 4);
    CHECK(known[0].row == rows[0].row);
    CHECK(!known[1].row);
    CHECK(known[2].row == rows[2].row);
    journal.add(1, rows[1]);
  }
  CHECK(found(folder, cases) == 3);
  CHECK(found(folder, cases, true) == 0);  // none with a timeline
  // A longer list of sizes keeps what is there; another fabric makes other rows.
  CHECK(found(folder, cases_of(with("/workload/size", Json{"1KiB", "256KiB", "256MiB"}))) == 3);
  CHECK(found(folder, cases_of(with("/fabric/nodes_per_switch", 2))) == 0);
  CHECK(found(folder, cases_of(with("/seed", 2))) == 0);
}

TEST_CASE("a row that says what would be gained is another than one that does not, or of another number of resources") {
  const ScratchFolder folder;
  const auto cases = cases_of(good_scenario());
  RowJournal(folder.path(), names_of(cases), false, 2).add(0, rows_of_case(cases)[0]);
  for (const int what_if : {0, 1, 2}) {
    const RowJournal journal(folder.path(), names_of(cases), true, what_if);
    CAPTURE(what_if);
    CHECK(journal.known(rows_of(cases), {})[0].row.has_value() == (what_if == 2));
  }
}

TEST_CASE("a line that a killed run has begun is dropped, and what follows is whole") {
  const ScratchFolder folder;
  const auto cases = cases_of(good_scenario());
  const auto rows = rows_of_case(cases);
  RowJournal(folder.path(), names_of(cases), false).add(0, rows[0]);
  const std::string whole = read_file(folder / "rows.jsonl");
  for (const std::size_t cut : {1U, 5U, 40U}) {
    CAPTURE(cut);
    std::ofstream(folder / "rows.jsonl") << whole << whole.substr(whole.find('\n') + 1, cut);
    RowJournal(folder.path(), names_of(cases), true).add(1, rows[1]);
    CHECK(found(folder, cases) == 2);
  }
}

TEST_CASE("a row that was damaged is not known, nor one whose scenario names a file that holds something else now") {
  const ScratchFolder folder;
  auto cases = cases_of(good_scenario());
  const auto rows = rows_of_case(cases);
  {
    RowJournal journal(folder.path(), names_of(cases), false);
    for (std::size_t i = 0; i < 2; ++i) journal.add(i, rows[i]);
  }
  CHECK(found(folder, cases) == 2);
  for (Case& one : cases) one.scenario.read_from = "changed";
  CHECK(found(folder, cases) == 0);
  for (Case& one : cases) one.scenario.read_from.clear();
  std::string text = read_file(folder / "rows.jsonl");
  text.replace(text.find("\"row\":\"[") + 8, 1, "(");
  std::ofstream(folder / "rows.jsonl") << text;
  CHECK(found(folder, cases) == 1);
  for (const char* key : {"what_if", "place", "trace", "details"}) {
    CAPTURE(key);
    std::string other = text;
    other.insert(other.rfind("\"row\""), fmt::format("\"{}\":[],", key));
    std::ofstream(folder / "rows.jsonl") << other;
    CHECK(found(folder, cases) == 0);
  }
}

TEST_CASE("a run that starts again keeps the earlier rows until it has as many") {
  const ScratchFolder folder;
  const auto cases = cases_of(good_scenario());
  const auto rows = rows_of_case(cases);
  {
    RowJournal journal(folder.path(), names_of(cases), false);
    for (std::size_t i = 0; i < 3; ++i) journal.add(i, rows[i]);
  }
  RowJournal(folder.path(), names_of(cases), false).add(3, rows[3]);
  CHECK(std::filesystem::exists(folder / "rows.new.jsonl"));
  CHECK(found(folder, cases) == 4);  // of both
  CHECK(!std::filesystem::exists(folder / "rows.new.jsonl"));
  {
    RowJournal journal(folder.path(), names_of(cases), false);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(std::filesystem::exists(folder / "rows.new.jsonl"));
      journal.add(i, rows[i]);
    }
    CHECK(!std::filesystem::exists(folder / "rows.new.jsonl"));
  }
  RowJournal(folder.path(), names_of(cases), false).finish(rows_of(cases));
  CHECK(found(folder, cases) == 0);
}

TEST_CASE("when all rows are there, their file has the same bytes whichever was done first and however often the run was killed") {
  const ScratchFolder folder;
  const auto cases = cases_of(good_scenario());
  const auto rows = rows_of_case(cases);
  const auto written = [&](std::initializer_list<std::size_t> order, std::size_t killed_after) {
    std::filesystem::remove(folder / "rows.jsonl");
    auto journal = std::make_unique<RowJournal>(folder.path(), names_of(cases), false);
    std::size_t done = 0;
    for (const std::size_t i : order) {
      journal->add(i, rows[i]);
      if (++done == killed_after) journal = std::make_unique<RowJournal>(folder.path(), names_of(cases), true);
    }
    journal->finish(rows_of(cases));
    return read_file(folder / "rows.jsonl");
  };
  const std::string in_order = written({0, 1, 2, 3}, 0);
  CHECK(std::ranges::count(in_order, '\n') == 5);
  CHECK(written({2, 3, 0, 1}, 0) == in_order);
  CHECK(written({3, 1, 0, 2}, 2) == in_order);
  CHECK(found(folder, cases) == 4);
}

TEST_CASE("timelines are kept with the place of their row") {
  const ScratchFolder folder;
  const auto cases = cases_of(good_scenario());
  auto rows = rows_of_case(cases);
  rows[1].trace = "events,\nof row 1";
  RowJournal(folder.path(), names_of(cases), false).add(1, rows[1]);
  const RowJournal journal(folder.path(), names_of(cases), true);
  CHECK(journal.known(rows_of(cases), {.trace = true})[1].trace == rows[1].trace);
  CHECK(journal.known(rows_of(cases), {})[1].trace.empty());
}

TEST_CASE("fewer rows do not take the place of more, unless they are all there are") {
  const ScratchFolder folder;
  const auto cases = cases_of(good_scenario());
  const auto rows = rows_of_case(cases);
  auto fewer = rows;
  fewer[3].row.reset();
  REQUIRE(ResultFolder(folder.path(), cases, {}).write(rows));
  const std::string before = read_file(folder / "results.json");
  ResultFolder again(folder.path(), cases, {});
  CHECK(!again.write(fewer, false));
  CHECK(read_file(folder / "results.json") == before);
  CHECK(again.write(fewer, true));
  CHECK(read_file(folder / "results.json") != before);
  CHECK(again.write(rows, false));
  CHECK(read_file(folder / "results.json") == before);
}
