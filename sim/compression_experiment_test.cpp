// Compressed all-reduces of scenarios through the whole simulator.
#include "sim/cases/compression_check.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/testing.hpp"

using namespace weft;
using namespace weft::literals;

namespace {

// A million floats on four nodes; a message takes 20 us and 8 ns a byte.
Json scenario(const char* compression, const char* network = "flow") {
  Json out = Json::parse(R"({
    "schema": 1, "name": "compressed",
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "1Gbps", "latency": "10us"}},
    "workload": {"algorithm": "ring", "size": "4MB"}})");
  out["network"] = network;
  if (*compression) out["workload"]["compression"] = compression;
  return out;
}

Scenario only(const Json& json) { return cases_of(json).front().scenario; }

SimTime time_of(const Json& json) {
  const Scenario s = only(json);
  const AlgorithmChoice& row = s.workload.algorithms.front();
  return {std::stoll(in_child([&] { return std::to_string(simulate(s, row, s.workload.sizes.front()).time.ps); }))};
}

SimTime in_kernels(const char* name) { return cpu_core_rates().time(plan({.name = name}, 1'000'000, {.ranks = 4})); }

}  // namespace

TEST_CASE("a compressed all-reduce takes the time of its kernels and of its exchanges, one after the other") {
  // Lists of 10,000 entries of 8 bytes up two levels and down again.
  CHECK(time_of(scenario("gtopk")) == in_kernels("gtopk") + 4 * (640_us + 20_us));
  // Every rank has each of the others' lists in two steps: one list, then two.
  CHECK(time_of(scenario("topk_allgather")) == in_kernels("topk_allgather") + 3 * 640_us + 2 * 20_us);
  // Sketches of 2 MB up two levels, 40 kB of indices down, and a ring over 40 kB of values, which the first ranks begin earlier.
  const SimTime gs_sgd = in_kernels("gs_sgd") + 2 * 16'020_us + 2 * 340_us + 6 * 100_us;
  CHECK(time_of(scenario("gs_sgd")) <= gs_sgd);
  CHECK(time_of(scenario("gs_sgd")).seconds() == doctest::Approx(gs_sgd.seconds()).epsilon(0.02));
  // All three sketches come through the server's link.
  CHECK(time_of(scenario("sketched_sgd")) > in_kernels("sketched_sgd") + 3 * 16'000_us + 9 * 320_us);
  CHECK(time_of(scenario("dense")) == time_of(scenario("")));
}

TEST_CASE("a compressed all-reduce takes the same time on all networks") {
  for (const char* name : {"gs_sgd", "gtopk", "sketched_sgd", "topk_allgather"}) {
    CAPTURE(name);
    const SimTime flow = time_of(scenario(name));
    CHECK(time_of(scenario(name, "simgrid")).seconds() == doctest::Approx(flow.seconds()).epsilon(1e-4));
    CHECK(time_of(scenario(name, "packet")).seconds() == doctest::Approx(flow.seconds()).epsilon(0.05));
  }
}

TEST_CASE("a compressed all-reduce sends what its plan says, and says what its kernels take") {
  for (const char* name : {"gs_sgd", "gtopk", "sketched_sgd", "topk_allgather"}) {
    CAPTURE(name);
    const Row out = first_row(scenario(name));
    CHECK(out.wire_bytes_per_rank.count == plan({.name = name}, 1'000'000, {.ranks = 4}).max_bytes_sent());
    CHECK(out.size == 4_MB);
    CHECK(out.compressed->kernels > SimTime{});
    CHECK(out.compressed->kernels == in_kernels(name));
  }
  CHECK(first_row(scenario("dense")).compressed->kernels == SimTime{});
}

TEST_CASE("larger k, more elements, slower links and more ranks take longer; a faster processor less long") {
  const auto with = [](const char* pointer, Json value, const char* name = "gs_sgd") {
    Json json = scenario("");
    json["workload"]["compression"] = {{"name", name}};
    json[Json::json_pointer(pointer)] = std::move(value);
    return time_of(json);
  };
  for (const char* name : {"gs_sgd", "gtopk", "sketched_sgd"}) {
    CAPTURE(name);
    const SimTime base = with("/name", "base", name);
    CHECK(with("/workload/compression/k", "2%", name) > base);
    CHECK(with("/workload/size", "8MB", name) > base);
    CHECK(with("/fabric/link/bandwidth", "500Mbps", name) > base);
    CHECK(with("/fabric/nodes", 8, name) > base);
    CHECK(with("/workload/compression/kernels", "h100", name) < base);
  }
  CHECK(with("/workload/compression/columns", "20%") > with("/workload/compression/columns", "10%"));
}

TEST_CASE("what further ranks cost goes with the logarithm of their number for trees, with their number for servers and lists of all") {
  const auto time_s = [](const char* compression, int ranks) {
    Json json = scenario(compression);
    json["fabric"]["nodes"] = 64;
    json["workload"]["ranks"] = ranks;
    json["workload"]["algorithm"] = "halving_doubling";
    return time_of(json).seconds();
  };
  for (const std::string compression : {"gs_sgd", "gtopk", "sketched_sgd", "topk_allgather"}) {
    const bool by_logarithm = compression == "gs_sgd" || compression == "gtopk";
    CAPTURE(compression);
    // From 4 to 8 ranks and from 8 to 64: one and three levels of a tree, 4 and 56 ranks.
    const double at_4 = time_s(compression.c_str(), 4), at_8 = time_s(compression.c_str(), 8), at_64 = time_s(compression.c_str(), 64);
    CHECK((at_64 - at_8) / (at_8 - at_4) == doctest::Approx(by_logarithm ? 3 : 56.0 / 4).epsilon(0.03));
  }
}

TEST_CASE("training: gradients are compressed bucket by bucket, on the GPU that trains") {
  const auto train = [](const char* engine, const char* compression, const char* bandwidth) {
    Json json = scenario(compression);
    json["fabric"]["link"]["bandwidth"] = bandwidth;
    json["workload"].erase("size");
    json["workload"].update(Json{{"model", "resnet50"}, {"device", "v100"}, {"batch_per_gpu", 32}, {"engine", engine}, {"iterations", 2}});
    return first_row(json);
  };
  for (const char* engine : {"none", "ddp", "horovod", "aiacc"}) {
    CAPTURE(engine);
    const Row dense = train(engine, "", "1Gbps"), compressed = train(engine, "gtopk", "1Gbps");
    CHECK(compressed.time < dense.time);
    CHECK(compressed.compressed->kernels > SimTime{});
    CHECK(compressed.wire_bytes_per_rank.count < dense.wire_bytes_per_rank.count / 10);
    CHECK(train(engine, "dense", "1Gbps").time == dense.time);
  }
  // Nothing is hidden: computation, kernels and exchanges follow one another.
  const Row all = train("none", "gtopk", "1Gbps");
  const CompressedAllreduce whole = *compressed_allreduce(
      [] {
        Json json = scenario("gtopk");
        json["workload"].erase("size");
        json["workload"].update(Json{{"model", "resnet50"}, {"device", "v100"}, {"engine", "none"}});
        return only(json);
      }(),
      {"ring"});
  const CompressionPlan plan = whole.plan(25'557'032);
  const std::int64_t list = 8 * plan.k;
  CHECK(all.time.seconds() ==
        doctest::Approx((all.training->compute + whole.rates().time(plan)).seconds() + 4 * (static_cast<double>(list) * 8e-9 + 20e-6)));
}

TEST_CASE("an exchange runs what a plain call of its size runs") {
  // The ring of gs_sgd sums 400 B of values: on it a call of NCCL costs its overheads, whatever the size of the gradient.
  const auto with = [](const Json& algorithm, bool compressed) {
    Json json = scenario("");
    json["workload"]["algorithm"] = algorithm;
    json["workload"]["size"] = compressed ? "4MB" : "400B";
    if (compressed) json["workload"]["compression"] = {{"name", "gs_sgd"}, {"k", 100}, {"columns", 1000}};
    return time_of(json).microseconds();
  };
  const Json nccl{{"name", "nccl"}, {"algorithm", "ring"}, {"protocol", "simple"}};
  for (const Json& algorithm : {nccl, Json("mpi")}) {
    CAPTURE(algorithm);
    // Ranks begin the sum at other dates than when it is alone, by what a message of the broadcast takes.
    CHECK(with(algorithm, true) - with("ring", true) == doctest::Approx(with(algorithm, false) - with("ring", false)).epsilon(0.1));
  }
}

TEST_CASE("training: ranks that share a model compress their part with those that have the same") {
  const auto train = [](const char* compression, int parts) {
    Json json = scenario(compression);
    json["workload"].erase("size");
    json["workload"].update(
        Json{{"model", "resnet20"}, {"device", "v100"}, {"batch_per_gpu", 8}, {"engine", "ddp"}, {"model_parallel", parts}});
    return first_row(json);
  };
  for (const char* compression : {"gtopk", "gs_sgd", "sketched_sgd"}) {
    CAPTURE(compression);
    // Two ranks have half of the gradients each: less is sent than by four that have all.
    CHECK(train(compression, 2).wire_bytes_per_rank < train(compression, 1).wire_bytes_per_rank);
  }
}
