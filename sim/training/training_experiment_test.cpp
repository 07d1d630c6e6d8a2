#include "sim/experiment.hpp"
#include "sim/scenario/testing.hpp"

using namespace weft;

namespace {

Json training(const char* engine, int batch, const char* bandwidth = "30Gbps") {
  Json out = Json::parse(R"({
    "schema": 1, "name": "train",
    "fabric": {"type": "star", "nodes": 4, "link": {"latency": "500ns"}},
    "workload": {"model": "resnet50", "device": "v100", "algorithm": "ring", "iterations": 2}})");
  out["fabric"]["link"]["bandwidth"] = bandwidth;
  out["workload"]["engine"] = engine;
  out["workload"]["batch_per_gpu"] = batch;
  return out;
}

Row outcome(const Json& json) {
  const Scenario s = cases_of(json).front().scenario;
  return Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front());
}

Row all_reduce() {
  Json json = training("none", 1);
  json["workload"] = {{"algorithm", "ring"}, {"size", fmt::format("{}B", 4 * 25'557'032)}};
  return outcome(json);
}

}  // namespace

TEST_CASE("training: a row says what its step is made of") {
  const Row out = outcome(training("none", 64));
  REQUIRE(out.training);
  CHECK(out.training->model == "resnet50");
  CHECK(out.training->engine == "none");
  CHECK(out.time == out.training->compute + out.training->exposed);
  CHECK(out.training->exposed == all_reduce().time);  // nothing is hidden
  CHECK(out.training->samples_per_s == doctest::Approx(4 * 64 / out.time.seconds()));
  CHECK(out.training->scaling_efficiency == doctest::Approx(out.training->compute.seconds() / out.time.seconds()));
  CHECK(out.jobs.empty());
  CHECK(!all_reduce().training);
}

TEST_CASE("training: larger batches scale better, and DDP better than nothing") {
  for (const char* engine : {"none", "ddp", "horovod", "aiacc"}) {
    CAPTURE(engine);
    double before = 0;
    for (const int batch : {8, 16, 32, 64}) {
      const double efficiency = outcome(training(engine, batch)).training->scaling_efficiency;
      CHECK((efficiency > before || efficiency > 0.99));  // where all is hidden, the shares of streams are left
      CHECK(efficiency <= 1);
      CHECK(efficiency >= outcome(training("none", batch)).training->scaling_efficiency - 1e-3);
      before = efficiency;
    }
  }
  CHECK(outcome(training("ddp", 32)).time < outcome(training("none", 32)).time);
  CHECK(outcome(training("ddp", 32, "100Gbps")).time < outcome(training("ddp", 32)).time);
}

TEST_CASE("training: another job on the fabric slows a step down, and has a row of its own") {
  Json json = training("ddp", 32);
  json["fabric"]["nodes"] = 8;
  json["workload"]["ranks"] = 4;
  json["jobs"] = Json::array({{{"name", "neighbour"}, {"size", "64MiB"}, {"ranks", 4}, {"iterations", 3}}});
  const Row out = outcome(json);
  REQUIRE(out.jobs.size() == 2);
  CHECK(out.jobs.front().time == out.time);
  CHECK(out.jobs.front().slowdown() >= 1);
}
