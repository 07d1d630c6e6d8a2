#include "models/training/read.hpp"
#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"
#include "sim/testing.hpp"
#include "sim/training/round_sequence.hpp"

using namespace weft;

namespace {

// Two layers of 1 MiB: 1 ms forward and 2 ms backward each.
std::shared_ptr<const Model> two_layers() {
  return std::make_shared<const Model>(read_model(R"({"schema": 1, "name": "two", "batch": 32, "layers": [
      {"name": "a", "parameters": 262144, "forward": "1ms", "backward": "2ms"},
      {"name": "b", "parameters": 262144, "forward": "1ms", "backward": "2ms"}]})",
                                                  "two.json"));
}

Json training(std::string_view network, const Json& algorithm, const Json& engine) {
  Json out = Json::parse(R"({
    "schema": 1, "name": "train",
    "fabric": {"type": "star", "nodes": 9, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
    "hardware": {"profile": "ideal", "send_overhead": "2us", "receive_overhead": "1us"},
    "workload": {"model": "resnet50", "device": "v100", "batch_per_gpu": 32, "ranks": 4}})");
  out["network"] = network;
  out["workload"]["algorithm"] = algorithm;
  out["workload"]["engine"] = engine;
  return out;
}

Scenario scenario_of(const Json& json) {
  Scenario out = cases_of(json).front().scenario;
  if (out.workload.training.given()) out.workload.training.model.table = two_layers();
  return out;
}

Row outcome_of_two_layers(const Json& json) { return first_row(scenario_of(json)); }

// What the collective by itself takes.
SimTime all_reduce(Json json, Bytes size) {
  json["workload"] = {{"algorithm", json["workload"]["algorithm"]}, {"ranks", 4}, {"size", fmt::format("{}B", size.count)}};
  return outcome_of_two_layers(json).time;
}

constexpr std::string_view networks[] = {"flow", "packet"};

}  // namespace

TEST_CASE("training in the network: without overlap a step is compute and one all-reduce, to the picosecond") {
  for (const std::string_view network : networks)
    for (const Json& algorithm : {Json("atp"), Json("switchml"), Json{{"name", "atp"}, {"servers", 3}}}) {
      CAPTURE(network);
      CAPTURE(algorithm.dump());
      const Json none = training(network, algorithm, "none");
      const Row out = outcome_of_two_layers(none);
      CHECK(out.time == out.training->compute + out.training->exposed);
      CHECK(out.training->exposed == all_reduce(none, 2_MiB));
      const Json one_bucket = training(network, algorithm, {{"name", "ddp"}, {"bucket", "1GiB"}, {"first_bucket", "1GiB"}});
      CHECK(outcome_of_two_layers(one_bucket).time == out.time);
    }
}

TEST_CASE("training in the network: a bucket hides behind the backward pass of the next layer") {
  // 1 MiB takes about 0.1 ms, and the layer 2 ms.
  for (const std::string_view network : networks) {
    CAPTURE(network);
    const Json ddp = training(network, "atp", {{"name", "ddp"}, {"bucket", "1MiB"}, {"first_bucket", "1MiB"}});
    const SimTime last = all_reduce(ddp, 1_MiB);
    if (network == "flow") CHECK(outcome_of_two_layers(ddp).training->exposed == last);
    CHECK(outcome_of_two_layers(ddp).training->exposed <= last);  // on packet the window has grown
    CHECK(2 * outcome_of_two_layers(ddp).training->exposed > last);
  }
}

TEST_CASE("training in the network: every engine comes to its end with right sums, with loss, stragglers and racks too") {
  for (const char* algorithm : {"atp", "switchml"})
    for (const char* engine : {"none", "ddp", "horovod", "aiacc"}) {
      CAPTURE(algorithm);
      CAPTURE(engine);
      std::vector<double> times;
      for (const std::string_view network : networks) {
        Json json = training(network, algorithm, engine);
        json["workload"]["iterations"] = 2;
        const Row out = outcome_of_two_layers(json);
        times.push_back(out.training->exposed.seconds());
        REQUIRE(out.in_network);
        const std::int64_t each = std::string_view(algorithm) == "atp" ? 62 : 32;
        // Of 2 steps, and at most one padded packet more for each order and step.
        CHECK(out.in_network->jobs.front().packets >= 2 * (2 * 262144 / each));
        CHECK(out.in_network->jobs.front().packets <= 2 * (2 * 262144 / each + 4));
        CHECK(out.in_network->jobs.front().aggregated == doctest::Approx(1));
      }
      CHECK(times[0] == doctest::Approx(times[1]).epsilon(0.1));
      Json rough = training("packet", algorithm, engine);
      rough["fabric"] = Json::parse(R"({"type": "fat_tree", "leaves": 3, "nodes_per_leaf": 2, "spines": 2,
                                        "link": {"bandwidth": "100Gbps", "latency": "500ns"}})");
      rough["packet"] = {{"faults", {{"loss", 0.001}}}};
      rough["workload"]["ranks"] = 6;
      rough["workload"]["stragglers"] = {{"spread", 0.3}};
      rough["workload"]["iterations"] = 2;
      const Row a = outcome_of_two_layers(rough);
      CHECK(a.time > 6_ms);
      CHECK(a.time == outcome_of_two_layers(rough).time);
    }
}

TEST_CASE("training in the network: streams share the one job, whose packets go on without waiting for those of the order before") {
  // Four orders of 256 KiB are left after the backward pass, each of which takes 26 us of a link: on streams of their own one way there and
  // back is not hidden, one by one that of each, 4 x 50 us.
  Json together = training("flow", "atp", {{"name", "aiacc"}, {"streams", 8}, {"granularity", "256KiB"}, {"compute_share", 0}});
  Json in_turn = together;
  in_turn["workload"]["engine"]["streams"] = 1;
  for (Json* json : {&together, &in_turn}) (*json)["fabric"]["link"]["latency"] = "50us";
  const SimTime fast = outcome_of_two_layers(together).time, slow = outcome_of_two_layers(in_turn).time;
  CHECK(slow > fast + 2 * 200_us);
  CHECK(slow < fast + 5 * 200_us);
}

TEST_CASE("training in the network: beside another job of ATP, on one switch, both have rows and are slower than alone") {
  for (const std::string_view network : networks) {
    CAPTURE(network);
    Json json = training(network, "atp", "ddp");
    json["fabric"]["nodes"] = 10;
    json["fabric"]["programmable"] = {{"aggregators", 256}};
    json["jobs"] = Json::array({{{"name", "neighbour"}, {"size", "4MiB"}, {"ranks", 4}, {"iterations", 20}}});
    const Row out = outcome_of_two_layers(json);
    REQUIRE(out.jobs.size() == 2);
    CHECK(out.jobs[0].time == out.time);
    CHECK(out.jobs[0].slowdown() >= 1);
    CHECK(out.jobs[1].slowdown() >= 1);
    REQUIRE(out.in_network->jobs.size() == 2);
    CHECK(out.in_network->jobs[0].name == "workload");
    CHECK(out.in_network->jobs[1].name == "neighbour");
    CHECK(out.in_network->jobs[1].packets == 20 * ((4_MiB).count / 248 + 1));
  }
}

TEST_CASE("training in the network: where a rank's link fails for good, the run says who waits and what the neighbour has done") {
  Json json = training("packet", "atp", "ddp");
  json["fabric"]["nodes"] = 10;
  json["packet"] = {{"faults", {{"failures", Json::array({{{"link", "node1->switch"}, {"at", "5ms"}}})}}}};
  json["jobs"] = Json::array({{{"name", "neighbour"}, {"size", "1MiB"}, {"ranks", 4}, {"iterations", 60}}});
  try {
    outcome_of_two_layers(json);
    FAIL("it ends");
  } catch (const RunError& error) {
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(text.find("rank 0 in training step 0 waits for 1 all-reduce(s) to end") != text.npos);
    CHECK(text.find("of flow 0 from its workers 1") != text.npos);
    CHECK(text.find("job neighbour has ended 60 of 60 iterations, of ") != text.npos);
  }
}

TEST_CASE("training in the network: models in parts are jobs of their own") {
  Json json = training("flow", "atp", "none");
  json["workload"]["model_parallel"] = 2;
  const Row out = outcome_of_two_layers(json);
  CHECK(out.in_network->jobs.size() == 2);
  CHECK(out.training->exposed > SimTime{});
}

TEST_CASE("training in the network: what cannot be is refused with its place") {
  CHECK(
      lines_for(training("flow", "atp", Json::array({"ddp", "byteps"}))) ==
      Lines{"f.json: /workload/engine/1: byteps pushes gradients to parameter servers of its own; with algorithm \"atp\", an all-reduce by "
            "switches, it must be one of \"none\", \"ddp\", \"horovod\", \"aiacc\""});
  Json half = training("flow", "switchml", "ddp");
  half["workload"]["gradient_dtype"] = "float16";
  CHECK(lines_for(half) ==
        Lines{"f.json: /workload/gradient_dtype: switchml adds 32-bit values: float32 (as fixed point) or int32, got float16"});
}

TEST_CASE("rounds in sequence: all ranks go through orders as the first to begin each does") {
  RoundSequence rounds(2);
  CHECK(rounds.join(0, 7) == std::vector{7});
  CHECK(rounds.join(1, 5).empty());  // it waits for order 7
  CHECK(rounds.join(0, 5) == std::vector{5});
  CHECK(rounds.join(1, 7) == std::vector{7, 5});
  CHECK(rounds.end_next(1) == 7);
  CHECK(rounds.end_next(1) == 5);
  CHECK(rounds.end_next(0) == 7);
}
