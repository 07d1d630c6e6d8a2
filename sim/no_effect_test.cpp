// What a scenario asks for and nothing comes of is said below its rows.
#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

using namespace weft;

namespace {

std::string notes_with(const std::vector<std::string>& said) {
  std::vector<Setting> settings = {
      parse_setting(R"(/fabric={"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "1us"}})"),
      parse_setting("/workload/algorithm=ring"), parse_setting("/workload/size=64KiB")};
  for (const std::string& text : said) settings.push_back(parse_setting(text));
  const Scenario s = cases_of(good_scenario(), settings).front().scenario;
  return Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {.each_alone = true}).notes;
}

}  // namespace

TEST_CASE("no effect: failures, checkpoints, congestion control and handshakes of which nothing came are said") {
  CHECK(notes_with({}).empty());
  const std::string failure = R"(/faults={"failures": [{"cable": "node0->switch", "remaining": 0.5, "at": ")";
  CHECK(notes_with({failure + R"(10s"}]})"}).starts_with("no failure begins within the run of "));
  CHECK(notes_with({failure + R"(1us"}]})"}).empty());

  const auto with_checkpoints = [&](const char* checkpoints) {
    Json json = good_scenario();
    json["fabric"] = Json::parse(R"({"type": "star", "nodes": 4, "link": {"bandwidth": "100Gbps", "latency": "1us"}})");
    json["workload"] = Json::parse(R"({"model": "resnet50", "batch_per_gpu": 32, "device": "v100", "engine": "ddp", "algorithm": "ring"})");
    json["workload"]["iterations"] = 2;
    json["workload"]["checkpoints"] = Json::parse(checkpoints);
    const Scenario s = cases_of(json).front().scenario;
    Experiment run(s, s.workload.algorithms.front());
    return run.run({}, {}).notes;
  };
  CHECK(with_checkpoints(R"({"every": 3, "rate": "1GBps"})") == "no checkpoint is due within 2 steps: one is written every 3");
  CHECK(with_checkpoints(R"({"rate": "1GBps"})") == "no checkpoint is written: \"every\" is not given");
  CHECK(with_checkpoints(R"({"every": 2, "rate": "1GBps"})").empty());

  CHECK(notes_with({"/workload/root=3"}) == "\"root\" has no effect: the allreduce has none");
  CHECK(notes_with({"/workload/root=3", "/workload/collective=broadcast", "/workload/algorithm=binomial_tree"}).empty());
  CHECK(notes_with({"/workload/op=max", "/workload/collective=alltoall", "/workload/algorithm=direct"}) ==
        "\"op\" has no effect: the alltoall reduces nothing");
  CHECK(notes_with({R"(/fabric/ecmp={"policy": "d_mod_k", "seed": 3})"}) ==
        "the \"seed\" of \"ecmp\" has no effect: \"d_mod_k\" draws nothing");

  CHECK(notes_with({"/network=packet", R"(/packet={"transport": "dcqcn", "ecn": {"on": false}})"}) ==
        "dcqcn hears of no congestion: \"ecn\" is off");
  CHECK(notes_with({"/network=packet", R"(/packet={"transport": "dcqcn"})"}).empty());
  CHECK(notes_with({"/network=packet", R"(/packet={"window": "64KiB"})"}) == "\"window\" has no effect: rdma has none");
  CHECK(notes_with({"/network=packet", R"(/packet={"transport": "fixed_window", "window": "64KiB"})"}).empty());
  CHECK(notes_with({"/network=packet", R"(/packet={"transport": "dctcp", "dcqcn": {"gain": 0.5}})"}) ==
        "\"dcqcn\" has no effect: \"transport\" is dctcp");
  CHECK(notes_with({"/network=packet", R"(/packet={"transport": "dcqcn", "dcqcn": {"gain": 0.5}})"}).empty());
  CHECK(notes_with({R"(/hardware={"profile": "ideal", "rendezvous": "50us"})"}) ==
        "\"rendezvous\" has no effect: \"rendezvous_threshold\" is never");
  CHECK(notes_with({R"(/hardware={"profile": "ideal", "rendezvous": "50us", "rendezvous_threshold": "8KiB"})"}).empty());
  CHECK(notes_with({R"(/hardware={"profile": "ideal", "handshake": "50us"})"}).starts_with("\"handshake\" has no effect: "));
}
