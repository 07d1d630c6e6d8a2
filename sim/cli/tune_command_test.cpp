#include "sim/cli/tune_command.hpp"

#include "kernels/testing/problems_of.hpp"
#include "kernels/testing/scratch_folder.hpp"
#include "sim/cases/testing.hpp"
#include "sim/cli/runner.hpp"
#include "sim/cli/tune_run.hpp"

#include <set>
#include <sstream>

namespace weft {
namespace {

// 5 x 3 x 2 points of an all-reduce on eight nodes.
Json allreduce() {
  return Json::parse(R"({"schema": 1, "name": "chosen",
    "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "10Gbps", "latency": "5us"}},
    "workload": {"collective": "allreduce", "algorithm": ["ring", "halving_doubling"], "size": "256KiB"},
    "sweep": {"/workload/algorithm/0/pieces": {"from": 1, "to": 16}, "/workload/algorithm/0/channels": [1, 2, 4]}})");
}

struct Tuned {
  int status = 0;
  std::string out, err;
};
Tuned tuned(TuneArguments arguments, const std::string& file) {
  arguments.scenario.files = {file};
  arguments.quiet = true;
  std::ostringstream out, err;
  const int status = tune_command(arguments, out, err);
  return {status, out.str(), err.str()};
}

std::vector<std::string> refused(TuneArguments arguments, const std::string& file) {
  return problems_of([&] { tuned(std::move(arguments), file); });
}

}  // namespace

TEST_CASE("tune: the best of a small space is found by every method, and the scenario written runs in that time") {
  const ScratchFolder folder;
  const std::string file = folder / "s.json";
  write_file(file, allreduce().dump());
  const TunableScenario open = TunableScenario::load(file, {});
  Evaluator evaluator(open, [](const std::string&) {});
  std::vector<Wanted> all;
  for (std::int64_t i = 0; i < open.space().size(); ++i) all.push_back({open.space().at(i)});
  REQUIRE(all.size() == 30);
  double least = INFINITY;
  for (const Evaluation& e : evaluator.evaluate(all)) least = std::min(least, evaluator.cost(e));
  for (const std::string& method : tuning_methods()) {
    CAPTURE(method);
    const Tuned run = tuned({.method = method, .evaluations = 30, .output = folder / "out", .force = true}, file);
    CHECK(run.status == exit_ok);
    const auto evaluations = evaluations_from_csv(read_file(folder / "out/evaluations.csv"), "csv", open.pointers());
    CHECK(evaluations.size() == 30);
    std::set<std::vector<std::string>> points;
    double best = INFINITY;
    for (const Evaluation& e : evaluations) {
      points.insert(e.values);
      best = std::min(best, e.objective);
    }
    CHECK(points.size() == 30);
    CHECK(best == least);
  }
  const auto cases = load_cases(folder / "out/best.json");
  REQUIRE(cases.size() == 1);
  const auto requests = rows_of(cases);
  REQUIRE(requests.size() == 1);
  CHECK(cases.front().scenario.name == "chosen");
  CHECK(static_cast<double>(run_rows(requests, cases, simulated_row, {}).front().row->time.ps) / 1e6 == least);
}

TEST_CASE("tune: the same seed writes the same table, another seed another") {
  const ScratchFolder folder;
  const std::string file = folder / "s.json";
  write_file(file, allreduce().dump());
  const auto table = [&](std::uint64_t seed) {
    tuned({.evaluations = 12, .seed = seed, .output = folder / "out"}, file);
    return read_file(folder / "out/evaluations.csv");
  };
  const std::string first = table(1);
  CHECK(table(1) == first);
  CHECK(table(2) != first);
}

TEST_CASE("tune: a run that goes on ends as one that was never interrupted, and simulates only what is new") {
  const ScratchFolder folder;
  const std::string file = folder / "s.json";
  write_file(file, allreduce().dump());
  tuned({.evaluations = 20, .output = folder / "whole"}, file);
  tuned({.evaluations = 8, .output = folder / "parts"}, file);
  tuned({.evaluations = 20, .output = folder / "parts", .resume = true}, file);
  CHECK(read_file(folder / "parts/evaluations.csv") == read_file(folder / "whole/evaluations.csv"));

  const TunableScenario open = TunableScenario::load(file, {});
  Evaluator evaluator(open, [](const std::string&) {});
  for (const Evaluation& e : evaluations_from_csv(read_file(folder / "parts/evaluations.csv"), "csv", open.pointers()))
    evaluator.remember(e);
  tune(open, {.settings = {}, .budget = {.evaluations = 22, .batch = 4}}, evaluator, [](const TuneRun&) {});
  CHECK(evaluator.simulated() == 2);

  CHECK(refused({.evaluations = 4, .output = folder / "parts", .resume = true}, file) ==
        Lines{fmt::format("--evaluations: must be at least 20, as many as {} has, to go on from these, got 4",
                          (folder / "parts/evaluations.csv").string())});
  CHECK(read_file(folder / "parts/evaluations.csv") == read_file(folder / "whole/evaluations.csv"));

  Json other = allreduce();
  other["name"] = "another";
  write_file(file, other.dump());
  const Lines not_of_it = refused({.evaluations = 4, .output = folder / "parts"}, file);
  REQUIRE(not_of_it.size() == 3);
  CHECK(not_of_it.back() == fmt::format("-o {}: {} exists and is not a result of weft tune on \"another\"; write to another place, or give "
                                        "--force to replace it",
                                        (folder / "parts").string(), (folder / "parts/tune.json").string()));
  other = allreduce();
  other["workload"]["size"] = "1MiB";
  write_file(file, other.dump());
  CHECK(refused({.output = folder / "parts", .resume = true}, file) ==
        Lines{fmt::format("--resume: {} is of another scenario or other choices; tune into another folder, or without --resume",
                          (folder / "parts/tune.json").string())});
}

TEST_CASE("tune: training is tuned for samples/s, and a cache begins with what was best for the most similar fabric") {
  const ScratchFolder folder;
  Json json = Json::parse(R"({"schema": 1,
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "10Gbps", "latency": "5us"}},
    "workload": {"model": "resnet50", "batch_per_gpu": 8, "device": "v100", "engine": "aiacc", "algorithm": "ring"},
    "sweep": {"/workload/engine/streams": [1, 2, 4], "/workload/engine/granularity": ["1MiB", "8MiB", "64MiB"]}})");
  const std::string file = folder / "s.json";
  write_file(file, json.dump());
  const Tuned first = tuned({.evaluations = 9, .output = folder / "first", .cache = folder / "cache.json"}, file);
  CHECK(first.status == exit_ok);
  CHECK(first.out.find("# best: evaluation ") != std::string::npos);
  CHECK(first.out.find("samples/s") != std::string::npos);
  const auto all = evaluations_from_csv(read_file(folder / "first/evaluations.csv"), "csv",
                                        {"/workload/engine/streams", "/workload/engine/granularity"});
  REQUIRE(all.size() == 9);
  const auto best = std::ranges::max_element(all, {}, &Evaluation::objective);

  json["fabric"]["nodes"] = 5;
  write_file(file, json.dump());
  const Tuned second = tuned({.evaluations = 1, .output = folder / "second", .cache = folder / "cache.json"}, file);
  CHECK(second.out.find("begins with the best settings of resnet50 on s") != std::string::npos);
  const auto again = evaluations_from_csv(read_file(folder / "second/evaluations.csv"), "csv",
                                          {"/workload/engine/streams", "/workload/engine/granularity"});
  REQUIRE(again.size() == 1);
  CHECK(again.front().technique == "cache");
  CHECK(again.front().values == best->values);
}

TEST_CASE("tune: options that do not go together fail by themselves, and the rest is searched") {
  const ScratchFolder folder;
  Json json = allreduce();  // hierarchical_ring with groups of 4 needs a multiple of 4 ranks
  json["workload"]["algorithm"] = Json::parse(R"(["ring", {"name": "hierarchical_ring", "group": 4}])");
  json["sweep"] = Json::parse(R"({"/workload/ranks": [8, 7]})");
  const std::string file = folder / "s.json";
  write_file(file, json.dump());
  const Tuned run = tuned({.evaluations = 10}, file);
  CHECK(run.status == exit_ok);
  CHECK(run.out.find("# 1 of 4 evaluations failed") != std::string::npos);
}

TEST_CASE("tune: bad arguments and a bad scenario are refused at once") {
  const ScratchFolder folder;
  Json json = allreduce();
  json["sweep"] = Json::parse(R"({"/workload/algorithn": ["ring"]})");
  const std::string file = folder / "s.json";
  write_file(file, json.dump());
  CHECK(refused({.method = "baysian", .evaluations = 0, .batch = 0, .resume = true}, file) ==
        Lines{"--evaluations: must be between 1 and 1000000, got 0", "--batch: must be between 1 and 1000000, got 0",
              "--method: must be one of ensemble, grid, population, bayesian, hyperband, got \"baysian\" (did you mean \"bayesian\"?)",
              "--resume: needs -o DIR, where the evaluations are that it goes on from",
              file + ": /sweep: \"/workload/algorithn\" points to nothing (did you mean \"/workload/algorithm\"?)"});
  write_file(file, allreduce().dump());
  CHECK(refused({.seeds = 3}, file) == Lines{"--seeds: is of --compare; --seed is that of the search"});
  CHECK(refused({.evaluations = 7, .compare = true}, file) ==
        Lines{"--compare: tries all methods, one evaluation at a time; leave out --method, --evaluations and --batch"});
  const std::string nowhere = (folder / "nowhere").string();
  CHECK(refused({.cache = nowhere + "/c.json"}, file) == Lines{fmt::format("--cache {0}/c.json: there is no folder {0}", nowhere)});
  write_file(folder / "evaluations.csv", "mine\n");
  write_file(file, allreduce().dump());
  std::filesystem::create_directories(folder / "d");
  write_file(folder / "d/best.json", "mine\n");
  CHECK(refused({.output = folder / "d"}, file) ==
        Lines{fmt::format(
            "-o {}: {} exists and is not a result of weft tune on \"chosen\"; write to another place, or give --force to replace it",
            (folder / "d").string(), (folder / "d/best.json").string())});
}

}  // namespace weft
