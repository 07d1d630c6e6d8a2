#include "sim/cases/testing.hpp"
#include "sim/scenario/scenario_fields.hpp"

using namespace weft;

namespace {

Json good_training() {
  return Json::parse(R"({
    "schema": 1, "name": "train",
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "500ns"}},
    "workload": {"model": "resnet50", "batch_per_gpu": 64, "device": "v100",
                 "engine": ["ddp", "none", "horovod", {"name": "aiacc", "streams": 4, "granularity": "8MiB"}],
                 "algorithm": "ring", "iterations": 5}})");
}

Json trained_with(const std::string& pointer, Json value) {
  Json out = good_training();
  out[Json::json_pointer(pointer)] = std::move(value);
  return out;
}

Lines problem(const std::string& pointer, Json value) { return lines_for(trained_with(pointer, std::move(value))); }

}  // namespace

TEST_CASE("training: the contract's example is read, and its size is that of the model's gradients") {
  const Scenario s = cases_of(good_training()).front().scenario;
  REQUIRE(s.workload.training.given());
  CHECK(s.workload.training.model.table->name == "resnet50");
  CHECK(s.workload.training.device.profile->name == "v100");
  CHECK(s.workload.sizes == std::vector{Bytes{4 * 25'557'032}});
  std::string labels;
  for (const EngineChoice& choice : s.workload.training.engines) labels += label(choice) + " ";
  CHECK(labels == "ddp none horovod aiacc(streams=4) ");
  Json half = trained_with("/workload/dtype", "float16");
  CHECK(cases_of(half).front().scenario.workload.sizes == std::vector{Bytes{2 * 25'557'032}});
}

TEST_CASE("training: what is written is read again, all defaults filled in") {
  const Json written = to_json(cases_of(good_training()).front().scenario);
  CHECK(!written.at("workload").contains("size"));
  CHECK(written.at("/workload/engine/3/granularity"_json_pointer) == "8MiB");
  CHECK(written.at("/workload/engine/2/cycle_time"_json_pointer) == "1ms");
  CHECK(to_json(cases_of(written).front().scenario) == written);
  CHECK(!to_json(cases_of(good_scenario()).front().scenario).at("workload").contains("batch_per_gpu"));
}

TEST_CASE("training: a sweep reaches the settings of an engine") {
  Json json = trained_with("/workload/engine", Json{{"name", "aiacc"}});
  json["sweep"] = {{"/workload/engine/streams", {1, 2}}};
  const auto cases = cases_of(json);
  CHECK(label(cases.at(0).scenario.workload.training.engines.front()) == "aiacc(streams=1)");
  CHECK(label(cases.at(1).scenario.workload.training.engines.front()) == "aiacc(streams=2)");
}

TEST_CASE("training: unknown names are refused with the nearest one") {
  CHECK(
      problem("/workload/model", "resnet5") ==
      Lines{
          R"(f.json: /workload/model: unknown model "resnet5" (did you mean "resnet50"?); allowed: "alexnet", "vgg13", "vgg16", "vgg16_bn", "vgg16_cifar", "resnet20", "resnet50", "resnet101", "resnext101_32x4d", "densenet121", "inception_v3", "transformer_base", "bert_large", "gpt2", "gpt2_xl")"});
  CHECK(problem("/workload/device", "v10") ==
        Lines{R"(f.json: /workload/device: unknown device "v10" (did you mean "v100"?); allowed: "a100", "h100", "h200", "v100")"});
  CHECK(
      problem("/workload/engine/1", "horovd") ==
      Lines{
          R"(f.json: /workload/engine/1/name: unknown name "horovd" (did you mean "horovod"?); allowed: "none", "ddp", "horovod", "byteps", "aiacc")"});
  CHECK(problem("/workload/device", "../devices/v100").size() == 1);
}

TEST_CASE("training: settings that make no sense are refused where they stand") {
  CHECK(problem("/workload/engine/3/streams", 0) == Lines{"f.json: /workload/engine/3/streams: must be between 1 and 1024, got 0"});
  CHECK(problem("/workload/engine/3/granularity", "0B") == Lines{"f.json: /workload/engine/3/granularity: must be at least 1B, got 0B"});
  CHECK(problem("/workload/engine/3/granularity", "6B") ==
        Lines{"f.json: /workload/engine/3/granularity: must be a multiple of 4 bytes, the size of an element of a gradient, got \"6B\""});
  CHECK(problem("/workload/engine/3/streams", 80) ==
        Lines{"f.json: /workload/engine/3/streams: must be at most 79, or nothing is left to compute with: each takes 0.0125 of the rate "
              "(\"compute_share\"); got 80"});
  CHECK(problem("/workload/batch_per_gpu", 0) == Lines{"f.json: /workload/batch_per_gpu: must be between 1 and 1000000, got 0"});
  CHECK(problem("/workload/dtype", "int32") ==
        Lines{R"(f.json: /workload/dtype: device "v100" computes in "float16", "float32", got "int32")"});
}

TEST_CASE("training: keys that contradict one another are refused") {
  CHECK(problem("/workload/size", "1MiB") == Lines{R"(f.json: /workload/size: the model gives it: leave out "size" or "model")"});
  CHECK(problem("/workload/compute", "1ms") == Lines{"f.json: /workload/compute: the model and the device give it: leave it out"});
  Json switches = good_training();
  switches["workload"]["algorithm"] = {"ring", "switchml"};
  switches["workload"]["engine"] = {"ddp", "byteps"};
  REQUIRE(lines_for(switches).size() == 1);
  CHECK(lines_for(switches).front().starts_with("f.json: /workload/engine/1: byteps pushes gradients to parameter servers of its own"));
  CHECK(problem("/network", "simgrid") == Lines{R"(f.json: /network: training steps run on "flow" and "packet" only, got "simgrid")"});
  Json no_device = good_training();
  no_device["workload"].erase("device");
  no_device["workload"].erase("engine");
  CHECK(lines_for(no_device) ==
        Lines{"f.json: /workload/device: missing: write the GPU that computes, such as \"v100\"",
              "f.json: /workload/engine: missing: write one of \"none\", \"ddp\", \"horovod\", \"byteps\", \"aiacc\", or a list of such"});
  CHECK(lines_for(with("/workload/engine", "ddp")) == Lines{"f.json: /workload/engine: goes with a \"model\" to train, and there is none"});
}

TEST_CASE("training: without a model the size is missing, unless a key nearly says it") {
  Json json = good_scenario();
  json["workload"].erase("size");
  CHECK(lines_for(json).size() == 1);
  CHECK(lines_for(json).front().starts_with("f.json: /workload/size: missing: write "));
  json["workload"]["sise"] = "1MiB";
  CHECK(lines_for(json) == Lines{"f.json: /workload/sise: unknown key (did you mean \"size\"?)"});
}

TEST_CASE("training: parameter servers on hosts of their own need endpoints that the ranks leave") {
  const Json extra = {{"name", "byteps"}, {"server_hosts", "extra"}};
  CHECK(
      problem("/workload/engine/1", extra) ==
      Lines{
          "f.json: /workload/engine/1/server_hosts: 4 parameter servers on hosts of their own need as many endpoints; the fabric has 4, of "
          "which 4 are taken by ranks: write fewer \"ranks\" or \"servers\""});
  Json fits = trained_with("/workload/engine", extra);
  fits["workload"]["ranks"] = 2;
  CHECK(lines_for(fits).empty());
  CHECK(problem("/workload/engine/1", Json{{"name", "byteps"}, {"partition", "6B"}}) ==
        Lines{"f.json: /workload/engine/1/partition: must be a multiple of 4 bytes, the size of an element of a gradient, got \"6B\""});
  CHECK(problem("/workload/engine/1", Json{{"name", "byteps"}, {"credit", 0}}) ==
        Lines{"f.json: /workload/engine/1/credit: must be at least 1, got 0"});
}

TEST_CASE("training: what a step has besides is read, written again, and refused where it makes no sense") {
  Json json = good_training();
  Json& w = json["workload"];
  w["gradient_dtype"] = "float16";
  w["nan_check"] = true;
  w["forward_by_layer"] = true;
  w["model_parallel"] = 2;
  w["stragglers"] = {{"spread", 0.1}, {"ranks", {3}}};
  w["checkpoints"] = {{"every", 2}, {"rate", "2GBps"}};
  w["events"] = Json::array({{{"type", "failure"}, {"after_step", 3}, {"pause", "20s"}}});
  const Scenario s = cases_of(json).front().scenario;
  CHECK(s.workload.sizes == std::vector{Bytes{2 * 25'557'032}});
  CHECK(s.workload.training.stragglers.ranks == std::vector<Rank>{3});
  CHECK(to_json(cases_of(to_json(s)).front().scenario) == to_json(s));

  CHECK(problem("/workload/gradient_dtype", "int32") ==
        Lines{"f.json: /workload/gradient_dtype: must be \"float32\", \"float16\" or \"bfloat16\", got \"int32\""});
  CHECK(problem("/workload/tf32", true) == Lines{"f.json: /workload/tf32: device \"v100\" has no rates for TF32"});
  CHECK(problem("/workload/model_parallel", 3) == Lines{"f.json: /workload/model_parallel: must divide the 4 ranks, got 3"});
  CHECK(problem("/workload/stragglers", Json{{"spread", 0.1}, {"ranks", {4}}}) ==
        Lines{"f.json: /workload/stragglers/ranks/0: must be between 0 and 3, got 4"});
  CHECK(problem("/workload/events", Json::array({{{"type", "growth"}, {"after_step", 6}, {"ranks", 2}}})) ==
        Lines{"f.json: /workload/events/0/after_step: must be at most 5, the \"iterations\", got 6",
              "f.json: /workload/events/0/ranks: makes 6 ranks of the 4 endpoints of the fabric"});
  Json beside = trained_with("/workload/events", Json::array({{{"type", "growth"}, {"after_step", 1}, {"ranks", 1}}}));
  beside["workload"]["ranks"] = 1;
  beside["jobs"] = Json::array({{{"name", "b"}, {"ranks", 2}, {"size", "1MiB"}}});
  CHECK(lines_for(beside) == Lines{"f.json: /workload/events: are not simulated beside other jobs: leave out them or the jobs"});
  beside = trained_with("/workload/checkpoints", Json{{"every", 2}, {"rate", "2GBps"}});
  beside["faults"] = Json::parse(R"({"failures": [{"link": "node0->switch", "remaining": 0.5},
                                                  {"link": "node0->switch", "at": "1ms", "until": "2ms"}]})");
  beside["traffic"] = Json::array({{{"pattern", "incast"}, {"to", 0}, {"size", "1MB"}, {"start", "1ms"}}});
  const std::string dates = "f.json: /workload/checkpoints: go with failures and traffic from the start of the run to its end only, and ";
  CHECK(lines_for(beside) == Lines{dates + "/faults/failures/1 is from 1ms until 2ms", dates + "/traffic/0 is from 1ms on"});
  Json grouped = trained_with("/workload/events", Json::array({{{"type", "growth"}, {"after_step", 1}, {"ranks", 1}}}));
  grouped["workload"]["ranks"] = 2;
  grouped["workload"]["algorithm"] = {{"name", "hierarchical_ring"}, {"group", 2}};
  CHECK(lines_for(grouped) ==
        Lines{"f.json: /workload/events: make 3 ranks, with which hierarchical_ring: must divide the 3 ranks (1, 3), got 2"});
  Json narrow = trained_with("/workload/gradient_dtype", "float16");
  narrow["workload"]["compression"] = "gtopk";
  CHECK(lines_for(narrow) ==
        Lines{"f.json: /workload/gradient_dtype: must be \"float32\" where gradients are compressed, got \"float16\""});
  CHECK(problem("/workload/ranks", 9) == Lines{"f.json: /workload/ranks: must be at most 4, the endpoints of the fabric, got 9"});
  CHECK(lines_for(with("/workload/nan_check", true)) ==
        Lines{"f.json: /workload/nan_check: goes with a \"model\" to train, and there is none"});
}

TEST_CASE("training: networks of others know no rate of a connection") {
  Json json = good_scenario();
  json["hardware"] = {{"stream_rate", "10Gbps"}};
  CHECK(lines_for(json).empty());
  json["network"] = "simgrid";
  CHECK(
      lines_for(json) ==
      Lines{
          "f.json: /hardware/stream_rate: \"stream_rate\" is 10Gbps: the networks \"flow\" and \"packet\" know it, \"simgrid\" does not"});
}

TEST_CASE("networks of others know no queue in which the sends of several channels wait for each other") {
  Json json = good_scenario();
  json["hardware"] = {{"send_overhead", "5us"}, {"send_queue", "nic"}};
  CHECK(lines_for(json).empty());
  json["network"] = "simgrid";
  CHECK(
      lines_for(json) ==
      Lines{"f.json: /hardware/send_queue: \"send_queue\" is \"nic\": the networks \"flow\" and \"packet\" know it, \"simgrid\" does not"});
  json["hardware"]["send_queue"] = "channel";
  CHECK(lines_for(json).empty());
}
