#include "sim/tune/tunable_scenario.hpp"

#include "kernels/testing/scratch_folder.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

Json star() {
  return Json::parse(R"({"schema": 1, "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
    "workload": {"collective": "allreduce", "algorithm": "ring", "size": "1MiB"}})");
}

Json training() {
  Json json = star();
  json["workload"] = Json::parse(R"({"model": "resnet50", "batch_per_gpu": 8, "device": "v100", "engine": "aiacc", "algorithm": "ring"})");
  return json;
}

std::vector<std::string> refused(const Json& json, const std::vector<Setting>& settings = {}) {
  try {
    TunableScenario::load(ScratchFolder().file("s.json", json.dump()), settings);
  } catch (const InputError& error) {
    std::vector<std::string> out;
    for (const std::string& line : error.problems()) out.push_back(line.substr(line.find("s.json")));
    return out;
  }
  return {};
}

}  // namespace

TEST_CASE("tunable scenario: swept keys and lists of engines and algorithms are the space") {
  Json json = training();
  json["workload"]["engine"] = Json::parse(R"(["ddp", {"name": "aiacc", "granularity": "1MiB"}])");
  json["workload"]["algorithm"] = {"ring", "halving_doubling"};
  json["sweep"] = Json::parse(R"({"/workload/engine/1/streams": {"from": 4, "to": 16}, "/workload/batch_per_gpu": [8, 16]})");
  const ScratchFolder folder;
  const std::filesystem::path file = folder.file("s.json", json.dump());
  const TunableScenario open = TunableScenario::load(file, {});
  CHECK(open.trains());
  CHECK_FALSE(open.chose_for_itself());
  CHECK(open.space().size() == 3 * 2 * 2 * 2);
  CHECK(open.space().axes()[0].ordered);
  CHECK_FALSE(open.space().axes()[2].ordered);
  CHECK(open.pointers() ==
        std::vector<std::string>{"/workload/engine/1/streams", "/workload/batch_per_gpu", "/workload/engine", "/workload/algorithm"});
  // What a choice sets inside an element of a list goes with the element.
  const Scenario here = open.at({2, 1, 1, 1}).scenario;
  REQUIRE(here.workload.training.engines.size() == 1);
  CHECK(label(here.workload.training.engines.front()) == "aiacc(granularity=1MiB,streams=16)");
  CHECK(here.workload.training.batch_per_gpu == 16);
  REQUIRE(here.workload.algorithms.size() == 1);
  CHECK(here.workload.algorithms.front().name == "halving_doubling");
  CHECK(open.written({2, 1, 1, 1}).at("workload").at("engine").at("streams") == 16);
  CHECK_FALSE(open.written({0, 0, 0, 0}).contains("sweep"));
}

TEST_CASE("tunable scenario: a list of settings is one choice, whose options set several keys") {
  Json json = star();
  json["sweep"] = Json::parse(R"([{"/fabric/nodes": 4}, {"/fabric/nodes": 8, "/workload/algorithm": "halving_doubling"}])");
  const ScratchFolder folder;
  const std::filesystem::path file = folder.file("s.json", json.dump());
  const TunableScenario open = TunableScenario::load(file, {});
  CHECK(open.space().size() == 2);
  CHECK(open.values({0}) == std::vector<Json>{4, nullptr});
  CHECK(open.values({1}) == std::vector<Json>{8, "halving_doubling"});
  CHECK(open.at({1}).scenario.workload.algorithms.front().name == "halving_doubling");
}

TEST_CASE("tunable scenario: a list that a swept key replaces is no choice of its own") {
  Json json = star();
  json["workload"]["algorithm"] = {"ring", "halving_doubling"};
  Json other = json["workload"];
  other["algorithm"] = "halving_doubling";
  json["sweep"]["/workload"] = Json::array();
  json["sweep"]["/workload"].push_back(other);
  const ScratchFolder folder;
  const std::filesystem::path file = folder.file("s.json", json.dump());
  const TunableScenario open = TunableScenario::load(file, {});
  CHECK(open.pointers() == std::vector<std::string>{"/workload"});
  CHECK(open.at({0}).scenario.workload.algorithms.front().name == "halving_doubling");
}

TEST_CASE("tunable scenario: of a list of compressions one is chosen, as of engines and algorithms") {
  Json json = training();
  json["workload"]["compression"] = {"gtopk", {{"name", "gs_sgd"}, {"k", 100}}};
  const ScratchFolder folder;
  const std::filesystem::path file = folder.file("s.json", json.dump());
  const TunableScenario open = TunableScenario::load(file, {});
  CHECK(open.pointers() == std::vector<std::string>{"/workload/compression"});
  CHECK(open.space().size() == 2);
  const std::vector<CompressionChoice> chosen = open.at({1}).scenario.workload.compressions;
  REQUIRE(chosen.size() == 1);
  CHECK(chosen.front().settings.name == "gs_sgd");
}

TEST_CASE("tunable scenario: one that trains and sweeps nothing gets the settings of its engine to choose") {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.file("s.json", training().dump());
  const TunableScenario open = TunableScenario::load(file, {});
  CHECK(open.chose_for_itself());
  CHECK(open.pointers() == std::vector<std::string>{"/workload/engine/granularity", "/workload/engine/streams", "/workload/algorithm"});
}

TEST_CASE("tunable scenario: the nearest point has equal options, or those of the nearest value") {
  Json json = training();
  json["sweep"] = Json::parse(
      R"({"/workload/engine/granularity": ["1MiB", "8MiB", "64MiB"], "/workload/engine/streams": [2, 8], "/workload/algorithm": ["ring", "halving_doubling"]})");
  const ScratchFolder folder;
  const std::filesystem::path file = folder.file("s.json", json.dump());
  const TunableScenario open = TunableScenario::load(file, {});
  CHECK(open.nearest(
            {{"/workload/engine/granularity", "16MiB"}, {"/workload/engine/streams", 8}, {"/workload/algorithm", "halving_doubling"}}) ==
        Point{1, 1, 1});
  CHECK(open.nearest({}) == Point{0, 0, 0});
}

TEST_CASE("tunable scenario: everything that is wrong with the choices is said at once") {
  CHECK(refused(star()) ==
        std::vector<std::string>{
            "s.json: /sweep: there is nothing to choose: sweep at least one key, such as {\"/workload/algorithm\": [\"ring\", "
            "\"halving_doubling\"]}, or give a list of algorithms, engines or compressions"});
  Json json = star();
  json["sweep"] = Json::parse(R"({"/workload/algoritm": ["ring"], "/fabric/nodes": [4, 0], "/seed": []})");
  CHECK(refused(json) ==
        std::vector<std::string>{
            "s.json: /sweep/~1seed: must be a list of at least one value, or a range such as {\"from\": 2, \"to\": 24, \"step\": 2}, "
            "got []",
            "s.json: /sweep: \"/workload/algoritm\" points to nothing (did you mean \"/workload/algorithm\"?)",
            "s.json: /fabric/nodes: must be between 1 and 1000000, got 0"});
  json["sweep"] = Json::parse(R"({"/seed": [1, 2]})");
  json["workload"]["algorithm"] = Json::parse(R"(["ring", {"name": "ring", "chanels": 2}, "rings"])");
  const std::vector<std::string> wrong = refused(json);
  REQUIRE(wrong.size() == 2);
  CHECK(wrong[0].starts_with("s.json: /workload/algorithm/1/chanels: unknown key (did you mean \"channels\"?)"));
  CHECK(wrong[1].starts_with("s.json: /workload/algorithm/2/name: unknown name \"rings\""));
  json = star();
  json["sweep"] = Json::parse(R"({"/workload/size": ["1MiB", "2MiB"]})");
  CHECK(refused(json) ==
        std::vector<std::string>{"s.json: /sweep: \"/workload/size\" is what is run, not a setting to choose; give the size or sizes "
                                 "in the workload"});
  json["sweep"] = Json::parse(R"({"/seed": [1, 2]})");
  CHECK(refused(json, {{"/seed", 3}}) ==
        std::vector<std::string>{"s.json: /seed: is set, and swept by \"/seed\", which would undo it; --set /sweep={} drops the sweep"});
}

}  // namespace weft
