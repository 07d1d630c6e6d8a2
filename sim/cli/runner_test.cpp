#include "sim/cli/runner.hpp"

#include "sim/scenario/testing.hpp"

#include <csignal>
#include <cstdlib>

#include <unistd.h>

using namespace weft;

namespace {

Row row_named(const RowRequest& request, std::vector<MessageRecord>*) {
  return {.scenario = label(*request.algorithm), .size = request.size};
}

std::vector<Result> run(const std::vector<Case>& cases, const RunRow& row, const RunOptions& options = {.workers = 3}) {
  return run_rows(rows_of(cases), cases, row, options);
}

}  // namespace

TEST_CASE("results come back in the order of the rows, whichever ends first") {
  const auto cases = cases_of(good_scenario());
  std::vector<std::string> done;
  const auto slow_first = [](const RowRequest& request, std::vector<MessageRecord>* messages) {
    if (request.algorithm->name == "ring") ::usleep(50'000);
    return row_named(request, messages);
  };
  const auto results = run(
      cases, slow_first, {.workers = 2, .on_done = [&](const Result& r, const std::vector<Result>&) { done.push_back(r.row->scenario); }});
  REQUIRE(results.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(results[i].row->scenario == (i % 2 == 0 ? "ring" : "hdrm"));
    CHECK(results[i].row->size == (i < 2 ? 256_KiB : 256_MiB));
  }
  CHECK(done.front() == "hdrm");
}

TEST_CASE("a worker that throws or dies costs its row, with the reason") {
  const auto cases = cases_of(good_scenario());
  const auto results = run(cases, [](const RowRequest& request, std::vector<MessageRecord>* messages) {
    if (request.algorithm->name == "ring" && request.size == 256_KiB) throw RunError("rank 1 waits for rank 2");
    if (request.algorithm->name == "hdrm" && request.size == 256_KiB) std::abort();
    if (request.algorithm->name == "ring") ::_exit(3);
    if (request.algorithm->name == "hdrm") throw InputError("too many ranks");
    return row_named(request, messages);
  });
  REQUIRE(results.size() == 4);
  CHECK(results[0].failure == "rank 1 waits for rank 2");
  CHECK(results[1].failure == "the simulating process died: Aborted");
  CHECK(results[2].failure == "the simulating process ended with status 3 and no result");
  CHECK(results[3].failure == "too many ranks");
  CHECK(results[3].bad_input);
  CHECK(!results[0].bad_input);
  CHECK(!results[0].row.has_value());
}

TEST_CASE("an interrupt ends what runs, starts nothing more and keeps what is done") {
  const auto cases = cases_of(good_scenario());
  const auto results = run(cases,
                           [](const RowRequest& request, std::vector<MessageRecord>* messages) {
                             if (request.algorithm->name == "hdrm") ::sleep(60);
                             return row_named(request, messages);
                           },
                           {.workers = 1, .on_done = [](const Result&, const std::vector<Result>&) { std::raise(SIGINT); }});
  CHECK(results[0].row.has_value());
  for (std::size_t i = 1; i < 4; ++i) CHECK(results[i].failure == "interrupted");
}

TEST_CASE("while a row is simulated it is seen how far it has come") {
  const auto cases = cases_of(good_scenario());
  std::string seen;
  const auto results = run(cases,
                           [](const RowRequest& request, std::vector<MessageRecord>* messages) {
                             if (request.algorithm->name == "ring") {
                               run_progress().reached(7_us, 65536);
                               ::usleep(600'000);
                             }
                             return row_named(request, messages);
                           },
                           {.workers = 1, .on_wait = [&](const RowRequest& request, RunProgress::Reached reached) {
                              seen = fmt::format("{} {} {}", label(*request.algorithm), to_string(reached.now), reached.events);
                            }});
  CHECK(results.size() == 4);
  CHECK(seen == "ring 7us 65536");
}

TEST_CASE("timelines are recorded only when asked for") {
  const auto cases = cases_of(good_scenario());
  const RunRow traced = [](const RowRequest& request, std::vector<MessageRecord>* messages) {
    if (messages) messages->push_back({.channel = 0, .step = 1, .from = 0, .to = 1, .bytes = 4, .posted = {}, .active = {}, .ended = {}});
    return row_named(request, messages);
  };
  CHECK(run(cases, traced)[0].trace.empty());
  const auto results = run(cases, traced, {.workers = 1, .trace = true});
  CHECK(results[3].trace.find("\"name\":\"step 1 to 1\"") != std::string::npos);
  CHECK(results[3].trace.find("first: hdrm, 256MiB") != std::string::npos);
}
