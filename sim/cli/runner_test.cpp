#include "sim/cli/runner.hpp"

#include "sim/cases/testing.hpp"
#include "sim/engine/in_child.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <sys/resource.h>
#include <unistd.h>

using namespace weft;

namespace {

Row row_named(const RowRequest& request, Timeline*) { return {.scenario = label(*request.algorithm), .size = request.size}; }

std::vector<Result> run(const std::vector<Case>& cases, const RunRow& row, const RunOptions& options = {.workers = 3}) {
  return run_rows(rows_of(cases), cases, row, options);
}

}  // namespace

TEST_CASE("results come back in the order of the rows, whichever ends first") {
  const auto cases = cases_of(good_scenario());
  std::vector<std::string> done;
  const auto slow_first = [](const RowRequest& request, Timeline* timeline) {
    if (request.algorithm->name == "ring") ::usleep(500'000);
    return row_named(request, timeline);
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
  const auto results = run(cases, [](const RowRequest& request, Timeline* timeline) {
    if (request.algorithm->name == "ring" && request.size == 256_KiB) throw RunError("rank 1 waits for rank 2");
    if (request.algorithm->name == "hdrm" && request.size == 256_KiB) std::abort();
    if (request.algorithm->name == "ring") ::_exit(3);
    if (request.algorithm->name == "hdrm") throw InputError("too many ranks");
    return row_named(request, timeline);
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
                           [](const RowRequest& request, Timeline* timeline) {
                             if (request.algorithm->name == "hdrm") ::sleep(60);
                             return row_named(request, timeline);
                           },
                           {.workers = 1, .on_done = [](const Result&, const std::vector<Result>&) { std::raise(SIGINT); }});
  CHECK(results[0].row.has_value());
  for (std::size_t i = 1; i < 4; ++i) CHECK(results[i].failure == "interrupted");
}

TEST_CASE("a hangup is an interrupt, unless it is ignored") {
  const auto cases = cases_of(good_scenario());
  const auto hang_up = [](const Result&, const std::vector<Result>&) { std::raise(SIGHUP); };
  const auto count_done = [&] {
    const auto results = run(cases, row_named, {.workers = 1, .on_done = hang_up});
    return std::count_if(results.begin(), results.end(), [](const Result& r) { return r.row.has_value(); });
  };
  CHECK(count_done() == 1);
  std::signal(SIGHUP, SIG_IGN);
  CHECK(count_done() == 4);
  std::signal(SIGHUP, SIG_DFL);
}

TEST_CASE("where another process cannot be started, those under way are waited for; where none can, rows say why") {
  const auto cases = cases_of(good_scenario());
  // What becomes of the rows where only so many more files may be open; a worker needs two to start, and keeps one.
  const auto outcome = [&](int files) {
    return in_child([&] {
      const int first = ::dup(0), second = ::dup(0);  // the lowest that are free
      ::close(first), ::close(second);
      const auto above = static_cast<rlim_t>(files == 1 ? first : second) + 1;
      const rlimit limit{.rlim_cur = above, .rlim_max = above};
      ::setrlimit(RLIMIT_NOFILE, &limit);
      std::string out;
      for (const Result& result : run(cases, row_named)) out += (result.row ? "done" : result.failure) + "; ";
      return out;
    });
  };
  CHECK(outcome(2) == "done; done; done; done; ");
// The sanitizer of undefined behaviour needs a pipe itself where an exception is caught.
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define WEFT_NEEDS_PIPES 1
#endif
#endif
#ifndef WEFT_NEEDS_PIPES
  const std::string why = "cannot make a pipe: Too many open files; ";
  CHECK(outcome(1) == why + why + why + why);
#endif
}

TEST_CASE("while rows are under way the oldest of them is told of, and how far it has come") {
  const auto cases = cases_of(good_scenario());
  const auto slow = [](const RowRequest& request, Timeline* timeline) {
    if (request.algorithm->name == "ring") {
      run_progress().reached(7_us, 65536);
      ::usleep(1'200'000);
    }
    return row_named(request, timeline);
  };
  std::vector<std::string> told;
  run(cases, slow, {.workers = 2, .on_wait = [&](const RowUnderWay& row) {
                      told.push_back(fmt::format("{} {} {} {}", label(row.request, cases), row.wall.count(), to_string(row.reached.now),
                                                 row.reached.events));
                    }});
  CHECK(told.front().starts_with("first: ring, 256KiB 0 "));
  CHECK(std::ranges::find(told, "first: ring, 256KiB 1 7us 65536") != told.end());
}

TEST_CASE("timelines are recorded only when asked for") {
  const auto cases = cases_of(good_scenario());
  const RunRow traced = [](const RowRequest& request, Timeline* timeline) {
    if (timeline)
      timeline->messages.push_back({.channel = 0, .step = 1, .from = 0, .to = 1, .bytes = 4, .posted = {}, .active = {}, .ended = {}});
    return row_named(request, timeline);
  };
  CHECK(run(cases, traced)[0].trace.empty());
  const auto results = run(cases, traced, {.workers = 1, .trace = true});
  CHECK(results[3].trace.find("\"name\":\"step 1 to 1\"") != std::string::npos);
  CHECK(results[3].trace.find("first: hdrm, 256MiB") != std::string::npos);
}
