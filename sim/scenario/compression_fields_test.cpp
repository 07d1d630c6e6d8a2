#include "sim/scenario/compression_fields.hpp"

#include "sim/cases/plan.hpp"
#include "sim/cases/testing.hpp"

using namespace weft;

namespace {

Json scenario(const char* compression) {
  Json out = Json::parse(R"({
    "schema": 1, "name": "compressed",
    "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "1Gbps", "latency": "10us"}},
    "workload": {"algorithm": "ring", "size": "4MB"}})");
  out["workload"]["compression"] = Json::parse(compression);
  return out;
}

using P = std::vector<Problem>;

P problems_of(const Json& json) {
  Input in{.profiles = &project_profiles()};
  expand(json, {}, "f", in);
  return in.problems;
}

}  // namespace

TEST_CASE("compression: settings beside a name, shares or counts, one or several, and back to JSON") {
  const auto cases = cases_of(scenario(R"(["dense", {"name": "gs_sgd", "rows": 3, "columns": "5%", "k": 1000}, "gtopk"])"));
  const std::vector<CompressionChoice>& all = cases.front().scenario.workload.compressions;
  REQUIRE(all.size() == 3);
  CHECK(all[1].settings == CompressionSettings{.name = "gs_sgd", .rows = 3, .columns = Amount::of_all(0.05), .k = Amount::exactly(1000)});
  CHECK(label(all[0]) == "dense");
  CHECK(label(all[1]) == "gs_sgd(rows=3,columns=5%,k=1000)");
  CHECK(label(all[2]) == "gtopk");
  CHECK(cases_of(to_json(cases.front().scenario)).front().scenario.workload == cases.front().scenario.workload);
  CHECK(rows_of(cases).size() == 3);
  CHECK(name_of(rows_of(cases)[2]) == "ring, gtopk");
  CHECK(scenario_of(rows_of(cases)[1]).workload.compressions == std::vector{all[1]});
  CHECK(rows_of(cases_of(scenario("\"gtopk\""))).size() == 1);
}

TEST_CASE("compression: what cannot be is refused with its place, all at once") {
  CHECK(problems_of(scenario(R"({"name": "gs_sgd", "rows": 0, "columns": 0, "k": 0})")) ==
        P{{"/workload/compression/k", "must be at least 1, got 0"},
          {"/workload/compression/rows", "must be 1 to 31, got 0"},
          {"/workload/compression/columns", "must be 1 to 2147483647, got 0"}});
  CHECK(problems_of(scenario(R"(["gtopk", {"name": "gtopk", "k": 1000001}])")).empty());  // all of them
  CHECK(problems_of(scenario(R"({"name": "gtopk", "columns": 4})")) ==
        P{{"/workload/compression/columns", "unknown key; allowed here: \"name\", \"k\", \"kernels\""}});
  CHECK(problems_of(scenario(R"({"name": "gtopk", "k": "ten"})")) ==
        P{{"/workload/compression/k", "\"ten\": write a count (1000) or a share of the elements (1%)"}});
  CHECK(problems_of(scenario(R"("gs_sdg")")).front().what.find("(did you mean \"gs_sgd\"?)") != std::string::npos);
  CHECK(problems_of(scenario(R"({"name": "gtopk", "kernels": "cpu"})")).front().where == "/workload/compression/kernels");
  Json json = scenario("\"gtopk\"");
  json["workload"]["collective"] = "allgather";
  json["workload"]["dtype"] = "float16";
  CHECK(problems_of(json) == P{{"/workload/collective", "\"allreduce\" can be compressed, got \"allgather\""},
                               {"/workload/dtype", "must be \"float32\" to be compressed, got \"float16\""}});
  json = scenario("\"gtopk\"");
  json["workload"]["algorithm"] = Json::parse(R"({"name": "parameter_server", "server_hosts": "extra"})");
  CHECK(problems_of(json) == P{{"/workload/algorithm/server_hosts", "must be \"workers\" where gradients are compressed, got \"extra\""}});
  json["workload"]["algorithm"] = "ring";
  json["workload"]["size"] = "0B";
  CHECK(problems_of(json) == P{{"/workload/size", "must have 1 to 4294967296 elements to be compressed, got 0"}});
  json = scenario("\"gtopk\"");
  json["workload"].erase("size");
  json["workload"].update(Json::parse(R"({"model": "resnet50", "batch_per_gpu": 1, "device": "v100", "engine": ["ddp", "byteps"]})"));
  CHECK(problems_of(json).front().where == "/workload/engine/1");
}
