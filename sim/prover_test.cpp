// What a schedule that cannot be proved means for a run, and what a wrong one does.
#include "collectives/algorithms/ring.hpp"
#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

using namespace weft;

namespace {

// Halving-doubling among 16 ranks holds more ranges than these.
constexpr ProofLimits too_little{.ranges = 16, .ranges_in_one_walk = 16, .walks = 1};
constexpr const char* why =
    "halving_doubling_allreduce on 16 ranks cannot be proved: what they hold of 16 chunks falls into more than 16 ranges that differ; "
    "fewer "
    "ranks, pieces or channels have fewer";

Scenario halving_doubling() {
  Json json = good_scenario();
  json["workload"] = {{"algorithm", "halving_doubling"}, {"size", "1MiB"}, {"ranks", 16}};
  return cases_of(json).front().scenario;
}

Experiment proved_by(const Prover& prover, const Scenario& s) { return Experiment(s, s.workload.algorithms.front(), {}, prover); }

}  // namespace

TEST_CASE("a schedule that cannot be proved is refused without being called wrong") {
  const Scenario s = halving_doubling();
  CHECK_THROWS_WITH_AS(proved_by(Prover(Unprovable::is_refused, too_little), s), why, CannotBeProved);
  CHECK(std::string(why).find("wrong") == std::string::npos);
}

TEST_CASE("simulated without a proof a row has the same times, and says so") {
  const Scenario s = halving_doubling();
  Row row = proved_by(Prover(Unprovable::is_noted, too_little), s).run(1_MiB);
  CHECK(row.unproved == why);
  Row proved = proved_by(Prover(), s).run(1_MiB);
  CHECK(proved.unproved.empty());
  row.unproved.clear();
  row.wall_s = proved.wall_s;
  CHECK(row == proved);
}

TEST_CASE("operations of a program that cannot be proved are noted once for each schedule") {
  Json json = good_scenario();
  json["workload"] = Json::parse(R"({"ranks": 16, "algorithm": "ring", "program": [
    {"id": "a", "collective": "allreduce", "algorithm": "halving_doubling", "size": "1MiB"},
    {"id": "b", "collective": "allreduce", "algorithm": "halving_doubling", "size": "2MiB", "after": ["a"]}]})");
  const Scenario s = cases_of(json).front().scenario;
  CHECK(proved_by(Prover(Unprovable::is_noted, too_little), s).run(1_MiB).unproved == why);
}

TEST_CASE("a wrong schedule is refused whether or not others may go unproved") {
  Schedule s = ring_allreduce(4);
  s.channels[0] = Steps(5, [all = s.channels[0]](int k, Step& out) { all.produce(k, out); });  // the last step is missing
  const Request request{.algorithm = "ring", .ranks = 4};
  for (const Unprovable unprovable : {Unprovable::is_refused, Unprovable::is_noted}) {
    Prover prover(unprovable);
    CHECK_THROWS_WITH_AS(prover.require_correct(s, request),
                         doctest::Contains("ring_allreduce on 4 ranks is wrong:\nafter the last step rank "), RunError);
  }
  // Its cost is compared where its contents cannot be.
  Prover prover(Unprovable::is_noted, {.ranges = 1, .ranges_in_one_walk = 1, .walks = 1});
  CHECK_THROWS_WITH_AS(
      prover.require_correct(s, request),
      "ring_allreduce on 4 ranks is wrong:\nit takes 5 steps, 20 messages, at most 5 of 4 chunks sent by a rank; its formula "
      "says 6 steps, 24 messages, at most 6 of 4 chunks sent by a rank",
      RunError);
  CHECK_FALSE(prover.unproved().empty());
}
