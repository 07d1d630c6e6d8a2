#include "sim/cli/calibrated.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::literals;
using Lines = std::vector<std::string>;

namespace {

const Json calibration = Json::parse(R"({
  "valid_for": {"collectives": ["allreduce"], "algorithms": ["ring"], "ranks": [2, 8], "paths": ["network"], "size": ["8B", "1MiB"]},
  "held_out_error": {"points": 7, "median": 0.021, "p95": 0.108}})");

Row row_of(int ranks, Bytes size) { return {.algorithm = "ring(channels=2)", .ranks = ranks, .size = size}; }

}  // namespace

TEST_CASE("calibrated: sizes and ranks between those fitted are covered, others are named") {
  const auto c = calibration_in(calibration);
  REQUIRE(c);
  const Scenario scenario;
  CHECK(beyond(*c, row_of(4, 64_KiB), scenario).empty());
  CHECK(beyond(*c, row_of(16, 64_KiB), scenario) == Lines{"16 ranks (fitted: 2, 8)"});
  CHECK(beyond(*c, row_of(8, 2_MiB), scenario) == Lines{"2MiB (fitted: 8B to 1MiB)"});
  Row other = row_of(8, 1_MiB);
  other.collective = Collective::broadcast, other.algorithm = "binomial_tree";
  CHECK(beyond(*c, other, scenario) == Lines{"broadcast (fitted: allreduce)", "binomial_tree (fitted: ring)"});
}

TEST_CASE("calibrated: ranks are covered by those that their own collective was measured on") {
  Json of_two = calibration;
  of_two["valid_for"].update({{"collectives", {"allreduce", "allgather"}}, {"ranks_of", {{"allreduce", {2, 4}}, {"allgather", {8}}}}});
  const auto c = calibration_in(of_two);
  Row row = row_of(8, 64_KiB);
  CHECK(beyond(*c, row, Scenario{}) == Lines{"8 ranks (fitted: 2, 4)"});
  row.collective = Collective::allgather;
  CHECK(beyond(*c, row, Scenario{}).empty());
  row.ranks = 4;
  CHECK(beyond(*c, row, Scenario{}) == Lines{"4 ranks (fitted: 8)"});
  row.collective.reset();  // a program of several calls
  CHECK(beyond(*c, row, Scenario{}).empty());
}

TEST_CASE("calibrated: another server, another network model and links of other rates are named") {
  Json of_dgx = calibration;
  of_dgx["valid_for"].update(
      {{"servers", {"dgx_h100"}}, {"networks", {"flow"}}, {"links", {"200Gbps", "400Gbps"}}, {"paths", {"server", "network"}}});
  const auto c = calibration_in(of_dgx);
  Scenario scenario;
  scenario.server = server_preset("dgx_h100");
  scenario.fabric.spec = Star{.nodes = 8, .host_link = {400_Gbps, 1_us}};
  scenario.placement.policy = PlacementPolicy::round_robin;
  CHECK(beyond_scale(*c, scenario, "allreduce", 8).empty());
  scenario.fabric.spec = Star{.nodes = 8, .host_link = {100_Gbps, 1_us}};
  scenario.server = server_preset("two_nic");
  scenario.network = NetworkKind::packet;
  CHECK(beyond_scale(*c, scenario, "allreduce", 8) ==
        Lines{"server two_nic (fitted: dgx_h100)", "network packet (fitted: flow)", "links of 100Gbps (fitted: 200Gbps to 400Gbps)"});
  scenario.placement.policy = PlacementPolicy::linear;
  CHECK(beyond_scale(*c, scenario, "allreduce", 4).size() == 2);  // within one server no cable is used
}

TEST_CASE("calibrated: so are sizes, and of as many ranks the servers that they are placed on") {
  Json of_two = calibration;
  of_two["valid_for"].update({{"collectives", {"allreduce", "alltoall"}},
                              {"nodes", {2, 4}},
                              {"sizes_of", {{"allreduce", {"64KiB", "1MiB"}}, {"alltoall", {"8B", "1KiB"}}}}});
  const auto c = calibration_in(of_two);
  Row row = row_of(4, 1_KiB);
  row.collective = Collective::allreduce;
  CHECK(beyond(*c, row, Scenario{}) == Lines{"1KiB (fitted: 64KiB to 1MiB)"});
  row.collective = Collective::alltoall;
  CHECK(beyond(*c, row, Scenario{}).empty());
  Scenario scenario;
  scenario.fabric.spec = Star{.nodes = 8};
  scenario.server = server_preset("v100_nvlink");  // of eight GPUs
  CHECK(beyond_scale(*c, scenario, "alltoall", 2) == Lines{"1 server (fitted: 2, 4)", "paths of the server (fitted: network)"});
  scenario.placement.policy = PlacementPolicy::round_robin;
  CHECK(beyond_scale(*c, scenario, "alltoall", 2).empty());  // one on each of two
  CHECK(beyond_scale(*c, scenario, "alltoall", 8) == Lines{"8 servers (fitted: 2, 4)"});
}

TEST_CASE("calibrated: sizes are covered by those that were fitted on as many ranks, and between two numbers of ranks by those on both") {
  Json of_two = calibration;
  of_two["residuals"] = Json::array();
  const auto add = [&](int ranks, std::int64_t size, bool fitted) {
    of_two["residuals"].push_back(
        {{"collective", "allreduce"}, {"algorithm", ""}, {"ranks", ranks}, {"size_bytes", size}, {"fitted", fitted}});
  };
  for (const int size : {8, 1024, 1 << 20}) add(2, size, true);
  add(8, 1024, true), add(8, 4096, false);
  add(4, 1 << 20, false);  // a scale that was held out
  const auto c = calibration_in(of_two);
  Row row = row_of(8, 1_MiB);
  row.collective = Collective::allreduce;
  CHECK(beyond(*c, row, Scenario{}) == Lines{"1MiB (fitted: 1KiB to 4KiB on 8 ranks)"});
  row.ranks = 4;
  CHECK(beyond(*c, row, Scenario{}) == Lines{"1MiB (fitted: 1KiB to 4KiB on 8 ranks)"});
  row.ranks = 2;
  CHECK(beyond(*c, row, Scenario{}).empty());
  row.size = 2_MiB;
  CHECK(beyond(*c, row, Scenario{}) == Lines{"2MiB (fitted: 8B to 1MiB)"});
  row.ranks = 4, row.size = 4_KiB;
  CHECK(beyond(*c, row, Scenario{}).empty());
  of_two["residuals"] = {"much"};  // written by hand
  CHECK(!calibration_in(of_two));
}

TEST_CASE("calibrated: paths over more switches than were fitted are named, and links of other rates between those") {
  Json of_star = calibration;
  of_star["valid_for"]["switches"] = {1, 1};
  Scenario scenario;
  scenario.fabric.spec = Star{.nodes = 8};
  CHECK(beyond_scale(*calibration_in(of_star), scenario, "allreduce", 8).empty());
  scenario.fabric.spec = FatTree{.k = 4, .host_link = {100_Gbps, 1_us}, .fabric_link = {50_Gbps, 1_us}};  // two nodes on a switch
  CHECK(beyond_scale(*calibration_in(of_star), scenario, "allreduce", 2).empty());
  CHECK(beyond_scale(*calibration_in(of_star), scenario, "allreduce", 4) == Lines{"paths over 3 switches (fitted: 1)"});
  CHECK(beyond_scale(*calibration_in(of_star), scenario, "allreduce", 8) == Lines{"paths over 5 switches (fitted: 1)"});
  CHECK(beyond_scale(*calibration_in(calibration), scenario, "allreduce", 8).empty());  // nothing is known
  of_star["valid_for"]["switches"] = {1, 5}, of_star["valid_for"]["switch_links"] = {"100Gbps", "200Gbps"};
  CHECK(beyond_scale(*calibration_in(of_star), scenario, "allreduce", 8) ==
        Lines{"links between switches of 50Gbps (fitted: 100Gbps to 200Gbps)"});
}

TEST_CASE("calibrated: a server of other links than its preset has is another one") {
  Json of_dgx = calibration;
  of_dgx["valid_for"].update({{"servers", {"dgx_h100"}}, {"paths", {"server"}}});
  Scenario scenario;
  scenario.server = server_preset("dgx_h100");
  scenario.fabric.spec = Star{.nodes = 1};
  scenario.server.processor = HostProcessor::amd, scenario.server.wiring = Wiring::rails;
  CHECK(beyond_scale(*calibration_in(of_dgx), scenario, "allreduce", 8).empty());
  const auto link = std::ranges::find(scenario.server.links, "gpu0", &ServerLink::from);
  REQUIRE(link != scenario.server.links.end());
  link->pcie.reset();
  link->bandwidth = 800_Gbps, link->latency = 300_ns;
  const std::string name = fmt::format("dgx_h100 with other links: gpu0-{} 800Gbps 300ns", link->to);
  CHECK(beyond_scale(*calibration_in(of_dgx), scenario, "allreduce", 8) == Lines{fmt::format("server {} (fitted: dgx_h100)", name)});
  of_dgx["valid_for"]["servers"] = {name};
  CHECK(beyond_scale(*calibration_in(of_dgx), scenario, "allreduce", 8).empty());
  for (const std::string& preset : server_presets()) CHECK(name_of_links(server_preset(preset)) == preset);
  CHECK(name_of_links(cpu_host({.cores = 8, .nics = 2, .cores_per_l3 = 2})) == "cpu_host");
}

TEST_CASE("calibrated: a protocol that NCCL does not have by the fit is named") {
  Json of_nccl = calibration;
  of_nccl["valid_for"]["algorithms"] = {"nccl"};
  const auto c = calibration_in(of_nccl);
  Scenario scenario;
  Row row = row_of(4, 64_KiB);
  row.algorithm = "nccl(algorithm=tree,protocol=ll128,pieces=2)";
  CHECK(beyond(*c, row, scenario).empty());
  scenario.hardware.ll128_bias = 0.2;
  CHECK(beyond(*c, row, scenario) == Lines{"protocol ll128 (fitted: NCCL does not have it here)"});
  scenario.hardware.biases_of = BiasesOf::calls_in_a_server;
  CHECK(beyond(*c, row, scenario).empty());
  scenario.hardware.biases_of = BiasesOf::all_calls;
  row.algorithm = "nccl(algorithm=tree,protocol=ll)";
  CHECK(beyond(*c, row, scenario).empty());
  scenario.hardware.ll_bias = 0.1;
  CHECK(beyond(*c, row, scenario) == Lines{"protocol ll (fitted: NCCL does not have it here)"});
}

TEST_CASE("calibrated: of an algorithm that chooses, what it chose may be what was fitted") {
  const auto c = calibration_in(calibration);
  Row row = row_of(4, 64_KiB);
  row.algorithm = "mpi", row.chosen = "ring";
  CHECK(beyond(*c, row, Scenario{}).empty());
  row.chosen = "halving_doubling";
  CHECK(beyond(*c, row, Scenario{}) == Lines{"mpi (fitted: ring)"});
}

TEST_CASE("calibrated: a library that nobody measured is named, where the scenario asks for it") {
  Json of_mpi = calibration;
  of_mpi["valid_for"]["algorithms"] = {"mpi"};
  Row row = row_of(4, 64_KiB);
  row.algorithm = "mpi(library=mpich)";
  CHECK(beyond(*calibration_in(of_mpi), row, Scenario{}).empty());  // nothing is known
  of_mpi["valid_for"]["libraries"] = {"open_mpi"};
  const auto c = calibration_in(of_mpi);
  CHECK(beyond(*c, row, Scenario{}) == Lines{"library mpich (fitted: open_mpi)"});
  row.algorithm = "mpi(library=open_mpi)";
  CHECK(beyond(*c, row, Scenario{}).empty());
  row.algorithm = "mpi";
  CHECK(beyond(*c, row, Scenario{}).empty());
}

TEST_CASE("calibrated: what NCCL chose for no call that was measured is named, whether it chose now or was told") {
  Json of_nccl = calibration;
  of_nccl["valid_for"]["algorithms"] = {"nccl"};
  Row row = row_of(4, 64_KiB);
  row.algorithm = "nccl", row.chosen = "nccl(algorithm=tree,protocol=ll)";
  CHECK(beyond(*calibration_in(of_nccl), row, Scenario{}).empty());  // nothing is known
  of_nccl["valid_for"]["nccl_algorithms"] = {"ring", "nvls"};
  const auto c = calibration_in(of_nccl);
  CHECK(beyond(*c, row, Scenario{}) == Lines{"NCCL's tree (fitted: ring, nvls)"});
  row.chosen = "nccl(algorithm=ring,protocol=ll)";
  CHECK(beyond(*c, row, Scenario{}).empty());
  row.algorithm = "nccl(algorithm=tree,protocol=ll)", row.chosen = "";
  CHECK(beyond(*c, row, Scenario{}) == Lines{"NCCL's tree (fitted: ring, nvls)"});
  row.algorithm = "nccl", row.chosen = "nccl(protocol=ll)";  // a collective that has no choice
  CHECK(beyond(*c, row, Scenario{}).empty());
}

TEST_CASE("calibrated: a path that nobody measured is named") {
  const auto c = calibration_in(calibration);
  Scenario scenario;
  scenario.server.gpus = {"gpu0", "gpu1"};
  CHECK(beyond(*c, row_of(4, 64_KiB), scenario) == Lines{"paths of the server (fitted: network)"});
}

TEST_CASE("calibrated: the notes say the held-out error and which rows are beyond") {
  Case one;
  one.scenario.hardware.name = "mine";
  std::vector<Result> results(2);
  results[0].row = row_of(2, 1_KiB), results[1].row = row_of(2, 1_GiB);
  const auto of = [](const std::string& name) { return name == "mine" ? calibration : Json(); };
  CHECK(calibration_notes(results, {one}, of) ==
        "#\n# hardware mine was fitted to allreduce by ring of 8B to 1MiB on 2 to 8 ranks; error on 7 points held out: median 2.1 %, 95th "
        "percentile 10.8 %\n#   its range covers 1 row; outside it:\n#   1GiB (fitted: 8B to 1MiB): ring(channels=2) 1GiB\n");
  const auto ending = [&] {
    const std::string notes = calibration_notes(results, {one}, of);
    return notes.substr(notes.find("\n#   ") + 1);
  };
  results[0].row = row_of(2, 2_GiB);
  CHECK(ending() ==
        "#   no row lies within the range it was fitted to; outside it:\n#   1GiB (fitted: 8B to 1MiB): ring(channels=2) 1GiB\n"
        "#   2GiB (fitted: 8B to 1MiB): ring(channels=2) 2GiB\n");
  results[0].row = results[1].row = row_of(2, 1_KiB);
  CHECK(ending() == "#   its range covers all 2 rows\n");
  results[0].row.reset();
  CHECK(ending() == "#   its range covers the row\n");
  one.scenario.hardware.name = "ideal";
  CHECK(calibration_notes(results, {one}, of).empty());
}

TEST_CASE("calibrated: what was written by hand is no calibration") {
  CHECK(!calibration_in(Json()));
  CHECK(!calibration_in(Json::parse(R"({"valid_for": {"ranks": [2]}})")));
  CHECK(!calibration_in(Json::parse(R"({"valid_for": {"collectives": ["allreduce"], "ranks": [2], "size": ["much", "more"]}})")));
}
