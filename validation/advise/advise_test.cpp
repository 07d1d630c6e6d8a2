#include "validation/advise/advise.hpp"

#include "collectives/bench/settings/selection.hpp"
#include "kernels/testing/scratch_folder.hpp"
#include "models/server/server.hpp"
#include "sim/cases/cases.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/profiles.hpp"
#include "validation/advise/advise_files.hpp"
#include "validation/testing.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

namespace weft {
namespace {

Scenario star_of(int nodes) {
  const ProfileLibrary profiles = ProfileLibrary::beside("f.json");
  Input in{.profiles = &profiles};
  Json json = Json::parse(R"({"schema": 1, "name": "s", "hardware": "ideal",
    "fabric": {"type": "star", "link": {"bandwidth": "100Gbps", "latency": "500ns"}},
    "workload": {"algorithm": "ring", "size": "1MiB"}})");
  json["fabric"]["nodes"] = nodes;
  auto cases = expand(std::move(json), {}, "f", in);
  REQUIRE(in.problems.empty());
  return cases.front().scenario;
}

constexpr auto all = [](std::size_t) { return true; };

TEST_CASE("advice: candidates are algorithms of the collective, each with its settings once") {
  const auto candidates = advise_candidates(star_of(6));
  std::vector<std::string> labels;
  for (const AlgorithmChoice& c : candidates) labels.push_back(label(c));
  std::ranges::sort(labels);
  CHECK(std::ranges::adjacent_find(labels) == labels.end());
  CHECK(std::ranges::find(labels, "ring") != labels.end());
  CHECK(std::ranges::find(labels, "hdrm") == labels.end());  // of a BiGraph
  CHECK(std::ranges::any_of(candidates, is_nccl));
}

TEST_CASE("advice: a protocol of NCCL that the profile's fit found not to be there is no candidate") {
  Scenario s = star_of(4);
  s.server = server_preset("dgx_h100");
  s.workload.ranks = 32;
  const auto has_ll128 = [&] {
    return std::ranges::any_of(advise_candidates(s), [](const AlgorithmChoice& c) { return c.settings.protocol == NcclProtocol::ll128; });
  };
  CHECK(has_ll128());
  s.hardware.ll128_bias = 0.2;
  CHECK_FALSE(has_ll128());
  s.workload.ranks = 8;  // the bias is of calls between servers
  CHECK(has_ll128());
}

TEST_CASE("advice: that a protocol of NCCL was left out is said above the advice, with what says so, and only where NCCL is a candidate") {
  const ScratchFolder folder;
  Json json = Json::parse(R"({"schema": 1, "name": "s", "hardware": {"profile": "ideal", "ll128_bias": 0.125}, "server": "dgx_h100",
    "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "400Gbps", "latency": "1us"}},
    "workload": {"algorithm": ["nccl", "ring"], "size": ["1MiB", "2MiB"]}})");
  const auto text = [&] {
    std::ostringstream out, err;
    CHECK(advise_command({.scenario = folder.file("s.json", json.dump()).string(), .set = {}}, out, err) == 0);
    return out.str();
  };
  const std::string said = text(), line = "# NCCL's LL128 is left out: by its \"ll128_bias\" of 0.125, hardware ideal ";
  CAPTURE(said);
  CHECK(said.find(line) != said.npos);
  CHECK(said.find(line) < said.find("from"));
  json["workload"]["ranks"] = 8;  // of one server
  CHECK(text().find("left out") == said.npos);
  json["workload"]["ranks"] = 16, json["workload"]["algorithm"] = Json::parse(R"(["ring", "halving_doubling"])");
  CHECK(text().find("left out") == said.npos);
}

TEST_CASE("advice: candidates are those of the scenario's list where it has several, each in all its settings") {
  Scenario s = star_of(6);
  s.server = server_preset("two_nic");
  s.workload.algorithms = {{.name = "ring", .settings = {.channels = 5}}, {.name = "nccl"}, {.name = "mpi"}};
  std::set<std::string> names, labels;
  for (const AlgorithmChoice& c : advise_candidates(s)) names.insert(c.name), labels.insert(label(c));
  CHECK(names == std::set<std::string>{"nccl", "ring"});
  CHECK(labels.contains("ring"));
  CHECK(labels.contains("ring(channels=2)"));
  CHECK(labels.contains("ring(channels=5)"));
}

TEST_CASE("advice: what is listed and cannot be compared is said") {
  const ScratchFolder folder;
  const auto file = folder.file("s.json", R"({"schema": 1, "name": "s", "hardware": "ideal",
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "200Gbps", "latency": "1us"}},
    "workload": {"algorithm": ["mpi", "ring", "halving_doubling"], "size": ["1KiB", "1MiB"]}})");
  std::ostringstream out, err;
  CHECK(advise_command({.scenario = file.string(), .set = {}}, out, err) == 0);
  CHECK(err.str().starts_with("weft: mpi is left out: weft advise compares none that chooses among others itself"));
  CHECK(err.str().find("ring") == std::string::npos);
}

TEST_CASE("advice: what else there is on the fabric is said above the advice, and nothing where there is nothing") {
  const ScratchFolder folder;
  Json json = Json::parse(R"({"schema": 1, "name": "s", "hardware": "ideal", "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth":
    "100Gbps", "latency": "500ns"}}, "workload": {"algorithm": ["ring", "direct"], "size": "1MiB"}})");
  const auto header = [&] {
    std::ostringstream out, err;
    CHECK(advise_command({.scenario = folder.file("s.json", json.dump()).string(), .set = {}}, out, err) == 0);
    const std::string text = out.str();
    return text.substr(0, text.find(" algorithms with"));
  };
  CHECK(header() == "# weft advise: allreduce of 4 ranks on star, 4 nodes, hardware ideal, network flow\n#   2");
  json["faults"] = Json::parse(R"({"failures": [{"cable": "node0->switch", "remaining": 0.5}]})");
  json["jobs"] = Json::parse(R"([{"name": "other", "share_endpoints": true}])");
  json["placement"] = "random";
  const std::string said = header();
  CHECK(said.find("\n#   placement random (seed 1)\n#   beside job other\n#   failures: ") != std::string::npos);
}

TEST_CASE("advice: files for NCCL of older advice do not stay beside advice without it, and no figure costs nothing but the figure") {
  const ScratchFolder folder;
  const auto file = folder.file("s.json", R"({"schema": 1, "name": "s", "hardware": "ideal",
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "200Gbps", "latency": "1us"}},
    "workload": {"algorithm": ["ring", "halving_doubling"], "size": ["1KiB", "1MiB"]}})");
  const auto tuner = folder.file("nccl_tuner.conf", "of another cluster\n");
  folder.file("advice.svg", "of another cluster\n");
  std::ostringstream out, err;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (folder / "no").c_str(), 1);
  const AdviseArguments arguments{.scenario = file.string(), .set = {}, .output = (folder / ".").string(), .force = true};
  CHECK_THROWS_WITH_AS(advise_command(arguments, out, err), doctest::Contains("there is no gnuplot"), RunError);
  ::setenv("PATH", path.c_str(), 1);
  CHECK(std::filesystem::exists(folder / "advice.csv"));
  CHECK(std::filesystem::exists(folder / "selection.csv"));
  CHECK(!std::filesystem::exists(folder / "advice.svg"));
  CHECK(!std::filesystem::exists(tuner));
  CHECK(err.str().find("nccl_tuner.conf of older advice is removed: NCCL is no candidate here\n") != std::string::npos);
}

TEST_CASE("advice: a barrier, which has no bytes, is refused") {
  const ScratchFolder folder;
  const auto file = folder.file("s.json", R"({"schema": 1, "name": "s", "hardware": "ideal", "fabric": {"type": "star", "nodes": 4,
    "link": {"bandwidth": "100Gbps", "latency": "500ns"}}, "workload": {"collective": "barrier", "algorithm": "dissemination"}})");
  std::ostringstream out, err;
  CHECK_THROWS_WITH_AS(advise_command({.scenario = file.string(), .set = {}}, out, err), doctest::Contains("a barrier has no bytes"),
                       InputError);
  CHECK(out.str().empty());
}

TEST_CASE("advice: hosts without GPUs do not run NCCL") {
  Scenario s = star_of(6);
  s.server = cpu_host({.cores = 2});
  CHECK(std::ranges::none_of(advise_candidates(s), is_nccl));
}

TEST_CASE("advice: where switches between servers add, NCCL's algorithms on them are candidates, and named as NCCL does") {
  Scenario s = star_of(6);
  s.fabric.sharp = true;
  std::vector<NcclAlgorithm> patterns;
  for (const AlgorithmChoice& c : advise_candidates(s))
    if (is_nccl(c) && c.settings.nccl != NcclAlgorithm::ring && c.settings.nccl != NcclAlgorithm::tree) patterns.push_back(c.settings.nccl);
  CHECK(patterns == std::vector{NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain});  // and no NVSwitch
  const Advice advice{s,
                      {{.name = "nccl", .settings = {.nccl = patterns.front(), .protocol = NcclProtocol::simple}}, {.name = "ring"}},
                      {{8_B, {{0, 10_us}, {1, 20_us}}}}};
  CHECK(nccl_tuner_conf(advice).find(",collnet_direct,simple,") != std::string::npos);
  CHECK(nccl_settings(advice).find("NCCL_ALGO=\"allreduce:collnetdirect\"") != std::string::npos);
  CHECK(nccl_settings(advice).find("NCCL_COLLNET_ENABLE=1") != std::string::npos);
  CHECK(selection_table(advice).find("collnet") == std::string::npos);  // in-network aggregation is none of `weft bench`
}

TEST_CASE(
    "advice: where an NVSwitch adds, NVLS is a candidate in one server and NVLSTree between several, as NCCL chooses them by itself") {
  const auto patterns_of = [](int servers, bool sharp) {
    Scenario s = star_of(servers);
    s.server = server_preset("dgx_h100");
    s.workload.ranks = 8 * servers;
    s.fabric.sharp = sharp;
    const int channels = with_server_defaults(s, {.name = "nccl", .settings = {.channels = 0}}).settings.channels;
    std::set<NcclAlgorithm> out;
    for (const AlgorithmChoice& c : advise_candidates(s)) {
      if (!is_nccl(c)) continue;
      CHECK(c.settings.channels == channels);
      out.insert(c.settings.nccl);
    }
    return out;
  };
  using enum NcclAlgorithm;
  CHECK(patterns_of(1, false) == std::set{ring, tree, nvls});
  CHECK(patterns_of(2, false) == std::set{ring, tree, nvls_tree});
  CHECK(patterns_of(2, true) == std::set{ring, tree, nvls, nvls_tree, collnet_direct, collnet_chain});
}

TEST_CASE("advice: NVLSTree goes by that name into NCCL's files, with the channels that NCCL gives it, and to no real run") {
  Scenario s = star_of(2);
  s.server = server_preset("dgx_h100");
  s.workload.ranks = 16;
  const std::vector<AlgorithmChoice> candidates = {
      {.name = "nccl", .settings = {.channels = 8, .nccl = NcclAlgorithm::nvls_tree, .protocol = NcclProtocol::simple}}, {.name = "ring"}};
  const Advice advice{s, candidates, {{8_B, {{0, 10_us}, {1, 20_us}}}}};
  CHECK(nccl_tuner_conf(advice).ends_with("\nallreduce,0,9223372036854775807,nvls_tree,simple,-1,2,16,-1,-1\n"));
  CHECK(nccl_settings(advice).find("NCCL_ALGO=\"allreduce:nvlstree\"") != std::string::npos);
  CHECK(nccl_settings(advice).find("COLLNET") == std::string::npos);
  CHECK(selection_table(advice).find("nccl,") == std::string::npos);
}

TEST_CASE("advice: nothing is written for NCCL's tuner of an all-to-all, which it does not tune, but why") {
  Scenario s = star_of(8);
  s.workload.collective = Collective::alltoall;
  const Advice advice{
      s, {{.name = "nccl", .settings = {.nccl = NcclAlgorithm::ring, .protocol = NcclProtocol::simple}}}, {{8_B, {{0, 10_us}}}}};
  for (const std::string& text : {nccl_tuner_conf(advice), nccl_settings(advice)}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(line.starts_with("#"));
    CHECK(text.find("# NCCL sends alltoall from rank to rank") != std::string::npos);
  }
}

TEST_CASE("advice: ranges go from crossing to crossing, the runner-up is who is closest, and small leads change nothing") {
  // 0 is first to 8 B, then 1; at 32 B 0 is ahead by less than half a percent.
  const AdviseTimes times = {{8_B, {{0, 10_us}, {1, 12_us}, {2, 40_us}}},
                             {16_B, {{0, 20_us}, {1, 10_us}, {2, 15_us}}},
                             {32_B, {{0, 9999_ns}, {1, 10_us}}},
                             {64_B, {{1, 10_us}, {0, 11_us}}}};
  const auto ranges = advised_ranges(times, all);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].candidate == 0);
  CHECK(ranges[0].from == 8_B);
  CHECK(ranges[0].to == 11_B);  // the root of 8 x 16
  CHECK(ranges[0].runner_up == 1);
  CHECK(ranges[0].ahead == doctest::Approx(0.2));
  CHECK(ranges[1].candidate == 1);
  CHECK(ranges[1].from == 12_B);
  CHECK(ranges[1].to == 64_B);
  CHECK(ranges[1].runner_up == 0);
  CHECK(ranges[1].min_ahead == 0);
  CHECK(advised_ranges({{8_B, {{0, 10'000_ns}, {1, 9'960_ns}}}}, all).front().candidate == 0);  // by 0.4 %: the simpler one
  // Sizes that were looked at for a crossing say nothing of how far ahead the first is, where others were asked for.
  const AdviseTimes near_crossing = {{8_B, {{0, 10_us}, {1, 20_us}}}, {90_B, {{0, 10_us}, {1, 11_us}}}, {95_B, {{0, 10_us}, {1, 10_us}}}};
  CHECK(advised_ranges(near_crossing, all).front().ahead == doctest::Approx(0.1));
  CHECK(advised_ranges(near_crossing, all, {8_B, 200_B}).front().ahead == doctest::Approx(1));
  CHECK(advised_ranges(near_crossing, all, {200_B}).front().ahead == doctest::Approx(0.1));
  CHECK(advised_ranges(near_crossing, all, {8_B}).front().min_ahead == 0);
  // The second of the size in the middle, not who comes closest where nobody asked.
  const AdviseTimes twins = {{8_B, {{0, 10_us}, {1, 12_us}, {2, 20_us}}}, {60_B, {{0, 10_us}, {1, 12_us}, {2, 10_us}}}};
  CHECK(advised_ranges(twins, all, {8_B}).front().runner_up == 1);
  CHECK(advised_ranges(twins, all, {8_B}).front().ahead == doctest::Approx(0.2));
  CHECK(advised_ranges(twins, all, {8_B}).front().min_ahead == 0);
  const auto without = advised_ranges(times, [](std::size_t c) { return c == 2; });
  REQUIRE(without.size() == 1);
  CHECK(without[0].alone);
}

TEST_CASE("advice: what is written for NCCL covers all sizes, and what is written for weft bench is read by it") {
  Scenario s = star_of(8);
  const std::vector<AlgorithmChoice> candidates = {
      {.name = "ring", .settings = {.channels = 2}},
      {.name = "nccl", .settings = {.channels = 4, .nccl = NcclAlgorithm::tree, .protocol = NcclProtocol::ll}},
      {.name = "nccl", .settings = {.channels = 8, .nccl = NcclAlgorithm::ring, .protocol = NcclProtocol::simple}}};
  const AdviseTimes times = {{8_B, {{0, 30_us}, {1, 10_us}, {2, 20_us}}}, {Bytes{1 << 20}, {{0, 30_us}, {1, 80_us}, {2, 40_us}}}};
  const Advice advice{s, candidates, times};
  CHECK(nccl_tuner_conf(advice) ==
        "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n"
        "allreduce,0,2896,tree,ll,4,8,8,-1,-1\nallreduce,2897,9223372036854775807,ring,simple,8,8,8,-1,-1\n");
  CHECK(nccl_settings(advice).find("NCCL_ALGO=\"allreduce:ring,tree\"") != std::string::npos);
  CHECK(nccl_settings(advice).find("NCCL_PROTO=\"allreduce:ll,simple\"") != std::string::npos);
  const auto table = bench::parse_selection(selection_table(advice), "s.csv");
  REQUIRE(table.size() == 2);
  CHECK(bench::selected_for(table, Collective::allreduce, 8, 100)->settings.nccl == NcclAlgorithm::tree);
  CHECK(bench::selected_for(table, Collective::allreduce, 8, 1 << 30)->algorithm == "ring");
  CHECK(bench::selected_for(table, Collective::allreduce, 8, 1 << 30)->settings.channels == 2);
}

TEST_CASE("advice: the errors of a profile make nothing sure of algorithms that it was not fitted to") {
  const ScratchFolder folder;
  const auto file = folder.file("s.json", R"({"schema": 1, "name": "s", "hardware": "vtrain_a100", "server": "dgx_a100",
    "fabric": {"type": "star", "nodes": 1, "link": {"bandwidth": "200Gbps", "latency": "1us"}},
    "workload": {"algorithm": "ring", "size": ["16MiB", "64MiB"]}})");
  std::ostringstream out, err;
  CHECK(advise_command({.scenario = file.string(), .set = {}}, out, err) == 0);
  const std::string text = out.str();
  CAPTURE(text);
  std::istringstream lines(text);
  bool of_nccl = false;  // who alone was measured
  for (std::string line; std::getline(lines, line);) {
    of_nccl = of_nccl || line == "# among NCCL's own";
    if (!line.starts_with('#') && of_nccl) CHECK(!line.ends_with("  by the model"));
    if (!line.starts_with('#') && !of_nccl) CHECK(line.ends_with("  by the model"));
  }
  CHECK(of_nccl);
  CHECK(text.find("# hardware vtrain_a100 has latencies for NCCL only: ") < text.find("from"));
  CHECK(text.find("# by the model: hardware vtrain_a100 was fitted to measurements of allreduce by nccl on ") != text.npos);
}

TEST_CASE("advice: the errors of a profile make nothing sure of collectives and numbers of ranks that it was not fitted to") {
  const auto is_judged_by_errors = [](const char* collective, int nodes) {
    const ScratchFolder folder;
    const auto file = folder.file("s.json", fmt::format(R"({{"schema": 1, "name": "s", "hardware": "vtrain_a100", "server": "dgx_a100",
      "fabric": {{"type": "star", "nodes": {}, "link": {{"bandwidth": "200Gbps", "latency": "1us"}}}},
      "workload": {{"collective": "{}", "algorithm": "nccl", "size": ["16MiB", "64MiB"]}}}})",
                                                        nodes, collective));
    std::ostringstream out, err;
    CHECK(advise_command({.scenario = file.string(), .set = {}}, out, err) == 0);
    std::istringstream lines(out.str());
    bool judged = false;
    for (std::string line; std::getline(lines, line);) judged |= !line.ends_with("  by the model") && !line.starts_with('#');
    return judged;
  };
  CHECK(is_judged_by_errors("allreduce", 1));
  CHECK_FALSE(is_judged_by_errors("allgather", 1));
  CHECK_FALSE(is_judged_by_errors("allreduce", 4));
}

}  // namespace
}  // namespace weft
