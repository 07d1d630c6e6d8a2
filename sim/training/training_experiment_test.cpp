#include "models/training/read.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/plan.hpp"
#include "sim/testing.hpp"
#include "sim/training_job.hpp"

#include <set>

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

Row all_reduce() {
  Json json = training("none", 1);
  json["workload"] = {{"algorithm", "ring"}, {"size", fmt::format("{}B", 4 * 25'557'032)}};
  return first_row(json);
}

}  // namespace

TEST_CASE("training: a row says what its step is made of") {
  const Row out = first_row(training("none", 64));
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

TEST_CASE("training: Horovod reduces once a cycle, which is seen before steps of its all-reduces are merged") {
  Json json = training("horovod", 64);
  json["workload"]["iterations"] = 260;
  json["traffic"] = Json::parse(R"([{"pattern": "incast", "to": 0, "size": "1B", "period": "100s"}])");  // so that none is run apart
  const std::int64_t one_by_one = 161 * 24;  // gradients, and the messages of a ring of four
  CHECK(260 * one_by_one > 1'000'000);
  const Row row = first_row(json);
  CHECK(row.messages < one_by_one);
  CHECK(!row.training->merged);
}

TEST_CASE("training: merged steps of NCCL's trees keep the pipelines that their pieces are") {
  Json json = training("none", 64, "100Gbps");
  json["fabric"]["nodes"] = 2;
  json["server"] = "dgx_h100";
  for (const char* algorithm : {"tree", "nvls_tree", "ring"}) {
    CAPTURE(algorithm);
    json["workload"]["algorithm"] = {{"name", "nccl"}, {"algorithm", algorithm}};
    const auto exposed = [&](const char* detail) {
      json["workload"]["detail"] = detail;
      return first_row(json).training->exposed.seconds();
    };
    CHECK(exposed("merged") == doctest::Approx(exposed("messages")).epsilon(0.02));
  }
}

TEST_CASE("training: larger batches scale better, and DDP better than nothing") {
  for (const char* engine : {"none", "ddp", "horovod", "byteps", "aiacc"}) {
    CAPTURE(engine);
    double before = 0;
    for (const int batch : {8, 16, 32, 64}) {
      const double efficiency = first_row(training(engine, batch)).training->scaling_efficiency;
      CHECK((efficiency > before || efficiency > 0.99));  // where all is hidden, the shares of streams are left
      CHECK(efficiency <= 1);
      if (std::string(engine) != "byteps")  // a server's link carries what others push
        CHECK(efficiency >= first_row(training("none", batch)).training->scaling_efficiency - 1e-3);
      before = efficiency;
    }
  }
  CHECK(first_row(training("ddp", 32)).time < first_row(training("none", 32)).time);
  CHECK(first_row(training("ddp", 32, "100Gbps")).time < first_row(training("ddp", 32)).time);
}

TEST_CASE("training: another job on the fabric slows a step down, and has a row of its own") {
  Json json = training("ddp", 32);
  json["fabric"]["nodes"] = 8;
  json["workload"]["ranks"] = 4;
  json["jobs"] = Json::array({{{"name", "neighbour"}, {"size", "64MiB"}, {"ranks", 4}, {"iterations", 3}}});
  const Row out = first_row(json);
  REQUIRE(out.jobs.size() == 2);
  CHECK(out.jobs.front().time == out.time);
  CHECK(out.jobs.front().slowdown() >= 1);
}

TEST_CASE("training: half of the bytes on the wire and a check for NaN, each with its passes over memory") {
  Json half = training("none", 64), checked = half;
  half["workload"]["gradient_dtype"] = "float16";
  checked["workload"]["nan_check"] = true;
  const Row plain = first_row(training("none", 64)), less = first_row(half), more = first_row(checked);
  // 102 MB: converted there and back, 6 bytes an element each way at 657 GB/s, and 2 x 161 kernels.
  const double passes = 2 * 25'557'032 * 6 / (900e9 * 0.73) + 2 * 161 * 9.5e-6;
  CHECK((less.training->compute - plain.training->compute).seconds() == doctest::Approx(passes));
  CHECK(less.training->exposed.seconds() == doctest::Approx(plain.training->exposed.seconds() / 2).epsilon(0.001));
  CHECK((more.training->compute - plain.training->compute).seconds() == doctest::Approx(25'557'032 * 4 / (900e9 * 0.73) + 161 * 9.5e-6));
  CHECK(more.training->exposed == plain.training->exposed);
}

TEST_CASE("training: kernels of a compression that hold up the backward pass are no waiting for other ranks") {
  for (const char* engine : {"ddp", "horovod", "aiacc"}) {
    CAPTURE(engine);
    Json json = training(engine, 64);
    json["workload"]["compression"] = "gs_sgd";
    json["workload"]["ranks"] = 1;
    const Row out = first_row(json);
    CHECK(out.compressed->kernels > 1_ms);
    CHECK(out.training->exposed >= out.compressed->kernels);
    CHECK(out.training->stragglers == SimTime{});
  }
}

TEST_CASE("training: buckets of DDP are filled by what was computed, whatever the gradients are on the wire") {
  Json json = training("ddp", 32);
  const Row full = first_row(json);
  json["workload"]["gradient_dtype"] = "float16";
  CHECK(first_row(json).messages == full.messages);
  json["workload"]["engine"] = {{"name", "ddp"}, {"bucket", "12.5MiB"}, {"first_bucket", "512KiB"}};
  CHECK(first_row(json).messages > full.messages);
}

TEST_CASE("training: ranks that share a model reduce their part with those that have the same") {
  Json json = training("none", 64);
  json["workload"]["model_parallel"] = 2;
  const Row two = first_row(json), one = first_row(training("none", 64));
  CHECK(two.training->compute.seconds() == doctest::Approx(one.training->compute.seconds() / 2).epsilon(0.001));
  // Half of the bytes in a ring of 2 instead of 4: 1/2 x (1/2) / (3/4) of the time.
  CHECK(two.training->exposed.seconds() == doctest::Approx(one.training->exposed.seconds() / 3).epsilon(0.001));
  CHECK(two.training->samples_per_s == doctest::Approx(2 * 64 / two.time.seconds()));
}

TEST_CASE("training: bandwidths of ranks that share a model are of their part, among those that have the same") {
  Json json = training("none", 1, "1Gbps");
  json["workload"]["model_parallel"] = 2;
  const Row row = first_row(json);
  // Half of 102 MB in a ring of 2, each of which sends 2 x 1/2 of it.
  CHECK(algbw_GBps(row) == doctest::Approx(4 * 25'557'032 / 2 / row.time.seconds() / 1e9));
  CHECK(busbw_GBps(row) == doctest::Approx(algbw_GBps(row)));
  CHECK(too_fast(row) == "");
  json["workload"]["model_parallel"] = 4;
  CHECK(busbw_GBps(first_row(json)) == 0);
}

TEST_CASE("training: BytePS has a parameter server on each machine that ranks sit on, in whatever numbers and order") {
  Json json = training("byteps", 16, "10Gbps");
  json["fabric"]["nodes"] = 2;
  json["server"] = "v100_nvlink";
  const auto job_on = [&](int ranks, const char* placement) {
    json["workload"]["ranks"] = ranks;
    json["placement"] = placement;
    const Scenario s = cases_of(json).front().scenario;
    const AlgorithmChoice& ring = s.workload.algorithms.front();
    return TrainingJob(s, build(request_of(s, ring)), placement_of_workload(s, ring));
  };
  const TrainingJob full = job_on(16, "linear");
  CHECK(full.servers(0) == std::vector{0, 8});
  CHECK(full.push_pull(0)->messages() == 2 * 2 * 8 * 7 + 2 * 16);  // inside both machines, and to the server and back
  const SimTime of_full = first_row(json).time;
  CHECK(job_on(15, "linear").push_pull(0)->messages() == 2 * (8 * 7 + 7 * 6) + 2 * 15);
  CHECK(first_row(json).time.seconds() == doctest::Approx(of_full.seconds()).epsilon(0.02));  // a machine pushes as much with 7 GPUs
  CHECK(job_on(12, "linear").servers(0) == std::vector{0, 8});
  CHECK(first_row(json).time.seconds() == doctest::Approx(of_full.seconds()).epsilon(0.02));
  const TrainingJob in_turn = job_on(16, "round_robin");
  CHECK(in_turn.servers(0) == std::vector{0, 8});
  CHECK(in_turn.push_pull(0)->messages() == full.push_pull(0)->messages());
  CHECK(first_row(json).time.seconds() == doctest::Approx(of_full.seconds()).epsilon(0.001));
  CHECK(job_on(8, "linear").push_pull(0)->steps() == 2);  // on one machine: reduced and gathered there
  // As many as machines, on hosts of their own: those of the placement count.
  json["workload"]["engine"] = Json{{"name", "byteps"}, {"server_hosts", "extra"}};
  CHECK(job_on(4, "linear").servers(0).size() == 1);
  CHECK(job_on(4, "round_robin").servers(0).size() == 2);
}

TEST_CASE("training: parameter servers on hosts of their own let bus bandwidth pass the workers' links, which is no flaw of the model") {
  Json json = training("byteps", 1, "1Gbps");
  json["fabric"]["nodes"] = 16;
  json["workload"]["ranks"] = 4;
  json["workload"]["engine"] = {{"name", "byteps"}, {"server_hosts", "extra"}, {"servers", 12}, {"partition", "64KiB"}};
  const Row row = first_row(json);
  CHECK(busbw_GBps(row) > 0.125);  // a worker sends all once, a worker of a ring 1.5 times
  CHECK(too_fast(row) == "");
}

TEST_CASE("training: the parameter servers of each part of a model are on the machines of its ranks, and a rank alone pushes nothing") {
  Json json = training("byteps", 16);
  json["workload"]["model_parallel"] = 2;
  const Scenario s = cases_of(json).front().scenario;
  Timeline timeline;
  const Row two = Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {.timeline = &timeline});
  CHECK(timeline.placement == std::vector{0, 1, 2, 3});
  CHECK(timeline.servers == std::vector{0, 2, 1, 3});
  // Ranks 0 and 2 have one part and servers 4 and 5; ranks 1 and 3 the other, and 6 and 7.
  REQUIRE(!timeline.messages.empty());
  for (const MessageRecord& m : timeline.messages) {
    const int worker = std::min(m.from, m.to), server = std::max(m.from, m.to);
    CHECK(server - 4 == std::clamp(server - 4, worker % 2 * 2, worker % 2 * 2 + 1));
  }
  // Each NIC has what one worker pushes to the other's server, and what its own server's sums are: half of the model.
  CHECK(two.busiest_link_utilization * 30e9 / 8 * two.time.seconds() == doctest::Approx(4 * 25'557'032 / 2).epsilon(0.001));
  json["workload"]["model_parallel"] = 4;
  const Row alone = first_row(json);
  CHECK(alone.messages == 0);
  CHECK(alone.time == alone.training->compute);
}

TEST_CASE("training: a row of BytePS has the steps of a push and a pull, says that its algorithm is not run, and is one for all of these") {
  Json json = training("byteps", 64);
  json["workload"]["algorithm"] = {"ring", "halving_doubling"};
  json["workload"]["engine"] = {"ddp", "byteps"};
  const std::vector<Case> cases = cases_of(json);
  Lines names;
  for (const RowRequest& request : rows_of(cases)) names.push_back(name_of(request));
  CHECK(names == Lines{"ddp, ring", "ddp, halving_doubling", "byteps, ring"});
  const Row row = first_row(training("byteps", 64));
  CHECK(row.steps == 2);
  CHECK(row.notes == "byteps pushes partitions of gradients to parameter servers and pulls their sums: the algorithm ring is not run");
  CHECK(first_row(training("ddp", 64)).steps == 6);
}

TEST_CASE("training: the same stragglers with the same seed, and all others wait for them") {
  Json json = training("ddp", 64);
  json["workload"]["stragglers"] = {{"spread", 0.2}};
  const Row a = first_row(json), b = first_row(json);
  CHECK(a.time == b.time);
  CHECK(a.time > first_row(training("ddp", 64)).time);
  CHECK(a.training->stragglers > SimTime{});
  json["seed"] = 7;
  CHECK(first_row(json).time != a.time);
}

TEST_CASE("training: a failure costs its pause, the checkpoint, a broadcast and the steps since; growth a pause and a broadcast") {
  Json json = training("ddp", 64);
  json["workload"]["iterations"] = 4;
  const Row plain = first_row(json);
  json["workload"]["checkpoints"] = {{"every", 2}, {"rate", "1GBps"}};
  // 8 bytes a parameter, twice in four steps.
  const double write = 25'557'032 * 8 / 1e9;
  CHECK(first_row(json).training->events.seconds() == doctest::Approx(2 * write / 4));
  json["workload"]["events"] = Json::array({{{"type", "failure"}, {"after_step", 3}, {"pause", "1s"}}});
  const Row failed = first_row(json);
  Json send = training("none", 1);
  send["workload"] = {{"collective", "broadcast"}, {"algorithm", "binomial_tree"}, {"size", fmt::format("{}B", 4 * 25'557'032)}};
  const double broadcast = first_row(send).time.seconds();
  CHECK(failed.training->events.seconds() == doctest::Approx((3 * write + 1 + broadcast + plain.time.seconds()) / 4));
  CHECK(failed.time.seconds() == doctest::Approx(plain.time.seconds() + failed.training->events.seconds()));
  // Before the first checkpoint there is none to read: one write, after the second step.
  json["workload"]["events"][0]["after_step"] = 1;
  json["workload"]["checkpoints"]["every"] = 3;
  CHECK(first_row(json).training->events.seconds() == doctest::Approx((write + 1 + broadcast + plain.time.seconds()) / 4));

  Json grows = training("ddp", 64);
  grows["workload"]["iterations"] = 4;
  grows["workload"]["ranks"] = 2;
  const Row two = first_row(grows);
  grows["workload"]["events"] = Json::array({{{"type", "growth"}, {"after_step", 2}, {"ranks", 2}}});
  CHECK(first_row(grows).training->events.seconds() == doctest::Approx(broadcast / 4));
  CHECK((first_row(grows).time - first_row(grows).training->events).seconds() ==
        doctest::Approx((two.time.seconds() + plain.time.seconds()) / 2).epsilon(0.001));
}

TEST_CASE("training: a link is as busy as what steps and broadcasts carry makes it over the time with checkpoints, failures and growth") {
  const double gradients = 4 * 25'557'032;
  const auto busy = [&](double carried, const Row& row) { return 8 * carried / (30e9 * 4 * row.time.seconds()); };
  Json json = training("ddp", 64);
  json["workload"]["iterations"] = 4;
  json["workload"]["checkpoints"] = {{"every", 2}, {"rate", "1GBps"}};
  // Of a ring of four each link carries 3/2 of the gradients in a step.
  CHECK(first_row(json).busiest_link_utilization == doctest::Approx(busy(4 * 1.5 * gradients, first_row(json))));
  // One step again, and the root sends the parameters twice.
  json["workload"]["events"] = Json::array({{{"type", "failure"}, {"after_step", 3}, {"pause", "1s"}}});
  CHECK(first_row(json).busiest_link == "node0->switch");
  CHECK(first_row(json).busiest_link_utilization == doctest::Approx(busy((5 * 1.5 + 2) * gradients, first_row(json))));
  // Two steps among two ranks, two among four.
  json["workload"]["ranks"] = 2;
  json["workload"]["events"] = Json::array({{{"type", "growth"}, {"after_step", 2}, {"ranks", 2}}});
  CHECK(first_row(json).busiest_link_utilization == doctest::Approx(busy((2 * 1 + 2 * 1.5 + 2) * gradients, first_row(json))));
}

TEST_CASE("training: ranks that join meet the traffic that the others have met") {
  Json json = training("none", 64);
  json["workload"]["iterations"] = 4;
  json["traffic"] = Json::array({{{"pattern", "incast"}, {"to", 0}, {"size", "1MB"}}});
  json["workload"]["ranks"] = 2;
  const SimTime two = first_row(json).time;
  json["workload"]["ranks"] = 4;
  const SimTime four = first_row(json).time;
  json["workload"]["ranks"] = 2;
  json["workload"]["events"] = Json::array({{{"type", "growth"}, {"after_step", 2}, {"ranks", 2}}});
  const Row grown = first_row(json);
  CHECK((grown.time - grown.training->events).seconds() == doctest::Approx((two.seconds() + four.seconds()) / 2).epsilon(0.001));
}

TEST_CASE("training: after a failure each part of a model is broadcast among the ranks that have it") {
  Json json = training("none", 64);
  json["workload"]["iterations"] = 2;
  json["workload"]["events"] = Json::array({{{"type", "failure"}, {"after_step", 1}}});
  const auto broadcast = [&](int parts) {
    json["workload"]["model_parallel"] = parts;
    const Row row = first_row(json);
    const double both = 2 * row.training->events.seconds();
    return both - (row.time.seconds() - row.training->events.seconds());  // less the step that is done again
  };
  // Two rounds of all parameters among four ranks; one of half of them between two.
  CHECK(broadcast(2) == doctest::Approx(broadcast(1) / 4).epsilon(0.01));
  CHECK(broadcast(4) == doctest::Approx(0));
}

TEST_CASE("training: a timeline has what each rank computes, its streams and control messages") {
  const Scenario s = cases_of(training("aiacc", 16)).front().scenario;
  Timeline timeline;
  Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {.timeline = &timeline});
  std::set<SpanRecord::Kind> kinds;
  SimTime computed;
  for (const SpanRecord& span : timeline.spans) {
    kinds.insert(span.kind);
    CHECK(span.end >= span.begin);
    if (span.kind == SpanRecord::Kind::compute && span.rank == 0) computed += span.end - span.begin;
  }
  CHECK(kinds.size() == 3);
  CHECK(computed.seconds() == doctest::Approx(2 * first_row(training("aiacc", 16)).training->compute.seconds()).epsilon(0.001));
}

TEST_CASE("training: NCCL chooses anew for each bucket, by its size") {
  Json json = training("none", 32, "100Gbps");
  json["fabric"]["nodes"] = 16;
  json["workload"]["algorithm"] = "nccl";
  json["workload"]["iterations"] = 1;
  json["workload"]["engine"] = {{"name", "ddp"}, {"bucket", "64MiB"}, {"first_bucket", "64MiB"}};
  Scenario s = cases_of(json).front().scenario;
  // The 64 MiB of "b" are reduced while "a" takes its second of backward; the 4 KiB of "a" come last, with nothing to hide behind.
  s.workload.training.model.table = std::make_shared<const Model>(read_model(R"({"schema": 1, "name": "two", "batch": 32, "layers": [
      {"name": "a", "parameters": 1024, "forward": "1ms", "backward": "1s"},
      {"name": "b", "parameters": 16777216, "forward": "1ms", "backward": "2ms"}]})",
                                                                             "two.json"));
  const Row step = first_row(s);
  const auto alone = [&](const Json& algorithm) {
    Json one = json;
    one["workload"] = {{"algorithm", algorithm}, {"size", "4KiB"}};
    return first_row(one).time;
  };
  CHECK(step.training->exposed == alone("nccl"));
  CHECK(alone({{"name", "nccl"}, {"algorithm", "ring"}, {"protocol", "simple"}}) > 2 * alone("nccl"));  // as 64 MiB are
}

TEST_CASE("training: an all-reduce runs what a plain one of its very size runs, and costs what the profile says of that size") {
  // Layers that are computed in no time, reduced at once: a step is one all-reduce of 12,000 B, which is a ring in Open MPI 4.0 on 8 ranks
  // and recursive doubling at 8192 B.
  const auto step = [](const Json& plain, const HardwareProfile& hardware) {
    Json json = plain;
    json["workload"].erase("size");
    json["workload"].update(
        Json{{"model", "resnet50"}, {"device", "v100"}, {"batch_per_gpu", 1}, {"engine", "none"}, {"optimizer", "none"}});
    Scenario s = cases_of(json).front().scenario;
    s.workload.training.model.table = std::make_shared<const Model>(read_model(
        R"({"schema": 1, "name": "one", "batch": 1, "layers": [{"name": "a", "parameters": 3000, "forward": "0s", "backward": "0s"}]})",
        "one.json"));
    return Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {.hardware = &hardware});
  };
  for (const Json& algorithm :
       {Json{{"name", "mpi"}, {"library", "open_mpi_4.0"}}, Json{{"name", "double_binary_tree"}, {"segment", "1KiB"}}, Json("ring")}) {
    CAPTURE(algorithm);
    Json plain = training("none", 1);
    plain["fabric"]["nodes"] = 8;
    plain["workload"] = {{"algorithm", algorithm}, {"size", "12000B"}};
    const Scenario s = cases_of(plain).front().scenario;
    HardwareProfile hardware = s.hardware;
    std::vector<CostAtSize> costs;
    for (const char* name : {"", "ring", "double_binary_tree"}) {
      hardware.call_overhead = 100_us;
      if (*name) costs.push_back({"allreduce", name, 8, 12'000_B, 2.5});
      hardware.cost_by_size = costs;
      const Row alone = Experiment(s, s.workload.algorithms.front()).run(12'000_B, {.hardware = &hardware});
      const Row trained = step(plain, hardware);
      CHECK(trained.time - trained.training->compute == alone.time);
      CHECK(trained.messages == alone.messages);
      CHECK(trained.steps == alone.steps);
    }
  }
}
