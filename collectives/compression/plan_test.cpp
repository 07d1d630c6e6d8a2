#include "collectives/compression/plan.hpp"

#include <cmath>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// "check_finite 1000, table 5000 by neighbour_tree reduce, ..."
std::string text(const CompressionPlan& plan) {
  std::vector<std::string> out;
  for (const Phase& phase : plan.phases) {
    if (const auto* work = std::get_if<LocalWork>(&phase)) {
      out.push_back(fmt::format("{} {}{}", name_of(work->kernel), work->work, work->root_only ? " at the root" : ""));
    } else {
      const auto& e = std::get<Exchange>(phase);
      out.push_back(fmt::format("{} {} B by {} {}{}", name_of(e.operand), e.bytes(), e.request.algorithm, name_of(e.request.collective),
                                e.merges ? ", merging" : ""));
    }
  }
  return fmt::format("{}", fmt::join(out, "\n"));
}

CompressionPlan plan_of(std::string_view name, int ranks, ErrorMemory memory = ErrorMemory::dense) {
  return plan({.name = std::string(name), .memory = memory}, 10'000, ranks);
}

}  // namespace

TEST_CASE("the plan of each compression is its publication's, in order") {
  CHECK(text(plan_of("gs_sgd", 4)) ==
        "check_finite 10000\naccumulate 10000\nsketch_insert 50000\ntable 20000 B by neighbour_tree reduce\n"
        "sketch_estimate 50000 at the root\ntop_k 10000 at the root\nindices 400 B by neighbour_tree broadcast\ngather 100\n"
        "values 400 B by halving_doubling allreduce\napply 10000");
  CHECK(text(plan_of("sketched_sgd", 4)) ==
        "check_finite 10000\naccumulate 10000\nsketch_insert 50000\ntable 20000 B by direct reduce\n"
        "sketch_estimate 50000 at the root\ntop_k 10000 at the root\nindices 400 B by direct broadcast\ngather 100\n"
        "values 400 B by parameter_server allreduce\napply 10000");
  CHECK(text(plan_of("gs_sgd", 4, ErrorMemory::sketch)) ==
        "check_finite 10000\nsketch_insert 50000\ntable 20000 B by neighbour_tree reduce\nsketch_merge 5000 at the root\n"
        "sketch_estimate 50000 at the root\ntop_k 10000 at the root\nsketch_remove 500 at the root\n"
        "entries 800 B by neighbour_tree broadcast\napply 10000");
  CHECK(text(plan_of("gtopk", 4)) ==
        "check_finite 10000\naccumulate 10000\ntop_k 10000\nentries 800 B by neighbour_tree reduce, merging\n"
        "entries 800 B by neighbour_tree broadcast\napply 10000");
  CHECK(text(plan_of("topk_allgather", 4)) ==
        "check_finite 10000\naccumulate 10000\ntop_k 10000\nentries 3200 B by bruck allgather\napply 10000");
  CHECK(text(plan_of("dense", 4)) == "check_finite 10000\ngradient 40000 B by halving_doubling allreduce");
}

TEST_CASE("bytes on the wire are those of the formulas, for 2 to 64 ranks") {
  constexpr std::int64_t d = 10'000, k = 100, table = 20'000;
  for (int p = 2; p <= 64; ++p) {
    CAPTURE(p);
    const auto log_p = static_cast<std::int64_t>(std::ceil(std::log2(p)));
    // Up and down a tree; every rank sends up once, the root down log P times.
    CHECK(plan_of("gtopk", p).total_bytes_sent() == 2 * (p - 1) * 8 * k);
    CHECK(plan_of("gtopk", p).bytes_sent().front() == log_p * 8 * k);
    // The server's links carry P - 1 tables in, and out P - 1 lists of indices and of values.
    CHECK(plan_of("sketched_sgd", p).total_bytes_sent() == (p - 1) * (table + 3 * 4 * k));
    CHECK(plan_of("sketched_sgd", p).bytes_sent().front() == (p - 1) * 2 * 4 * k);
    CHECK(plan_of("topk_allgather", p).total_bytes_sent() == std::int64_t{p} * (p - 1) * 8 * k);
    CHECK(plan_of("gs_sgd", p, ErrorMemory::sketch).total_bytes_sent() == (p - 1) * (table + 8 * k));
    const CompressionPlan values = plan({.name = "dense"}, k, p);
    CHECK(plan_of("gs_sgd", p).total_bytes_sent() == (p - 1) * (table + 4 * k) + values.total_bytes_sent());
    if ((p & (p - 1)) == 0) CHECK(plan_of("dense", p).total_bytes_sent() == 2 * (p - 1) * 4 * d);
  }
  for (const std::string_view name : compression_names()) CHECK(plan_of(name, 1).total_bytes_sent() == 0);
}

TEST_CASE("a plan updates all elements where there are fewer than k") {
  for (const std::string_view name : {"gtopk", "gs_sgd", "topk_allgather"}) {
    CAPTURE(name);
    const CompressionSettings larger{.name = std::string(name), .k = Amount::exactly(1'000'000)},
        all{.name = std::string(name), .k = Amount::exactly(1000)};
    CHECK(plan(larger, 1000, 4).k == 1000);
    CHECK(plan(larger, 1000, 4).total_bytes_sent() == plan(all, 1000, 4).total_bytes_sent());
  }
}

TEST_CASE("a plan with settings or an all-reduce that cannot be is refused, all at once") {
  CHECK_THROWS_WITH_AS(plan({.k = Amount::exactly(0)}, 10, {.algorithm = "rin", .ranks = 2}),
                       doctest::Contains("compression: /k: must be at least 1, got 0\n/algorithm: unknown allreduce algorithm \"rin\""),
                       InputError);
  CHECK_THROWS_WITH_AS(plan({.name = "sketched_sgd"}, 10, 5000), "/ranks: must be 1 to 4096 for direct reduce, got 5000", InputError);
}
