#include "validation/fit/algorithm_measured.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("measured names: synonyms, libraries behind the name, renames") {
  const auto ours = [](const std::string& name, const Renames& renames = {}) {
    const auto choice = algorithm_measured({.collective = "allreduce", .algorithm = name}, renames, {{"ring"}});
    return choice ? choice->name : "";
  };
  CHECK(ours("ring_ompi") == "ring");
  CHECK(ours("Ring") == "ring");
  CHECK(ours("rabenseifner_ompi") == "halving_doubling");
  CHECK(ours("recursive_doubling_over") == "recursive_doubling");
  CHECK(ours("") == "ring");
  CHECK(ours("bine_lat_over") == "");
  CHECK(ours("ring (tuned)") == "");
  CHECK(ours("bine_lat_over", renames_in({"bine_lat_over=recursive_doubling"})) == "recursive_doubling");
  CHECK(ours("ring", renames_in({"ring=dissemination"})) == "");  // which is of barriers
}

TEST_CASE("measured names: settings are those of the renaming, or else the scenario's") {
  AlgorithmChoice of_scenario{"ring"};
  of_scenario.settings.channels = 4;
  const auto channels = [&](const std::string& name, const std::vector<std::string>& renames) {
    return algorithm_measured({.collective = "allreduce", .algorithm = name}, renames_in(renames), {of_scenario})->settings.channels;
  };
  CHECK(channels("ring", {}) == 4);
  CHECK(channels("ring", {"ring=ring(channels=8)"}) == 8);
  CHECK(channels("mine", {"mine=ring"}) == 4);
  CHECK(channels("mine", {"mine=halving_doubling"}) == 1);
  AlgorithmChoice forced = parse_algorithm("nccl(algorithm=ring)");  // a plain "nccl" has its channels from the server
  for (const char* measured : {"nccl", "NCCL 2.0"})
    CHECK(*algorithm_measured({.collective = "allreduce", .algorithm = measured}, renames_in({"NCCL 2.0=nccl"}), {forced}) == forced);
}

TEST_CASE("measured names: settings may stand with the name itself") {
  const auto tree = algorithm_measured({.collective = "allreduce", .algorithm = "nccl(algorithm=tree)"}, {}, {{"nccl"}});
  REQUIRE(tree);
  CHECK(tree->settings.nccl == NcclAlgorithm::tree);
  CHECK_FALSE(algorithm_measured({.collective = "barrier", .algorithm = "nccl(algorithm=tree)"}, {}, {}));
}
