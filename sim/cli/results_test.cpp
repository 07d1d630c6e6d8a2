// What `weft run -o` writes, from the simulator on: it is as the published schema says, and every field is set by some run.
#include "kernels/files/files.hpp"
#include "kernels/testing/scratch_folder.hpp"
#include "sim/cases/testing.hpp"
#include "sim/results/writers.hpp"

#include <cstdlib>
#include <filesystem>
#include <set>

using namespace weft;

namespace {

namespace fs = std::filesystem;

Json results_of(const std::string& scenario) {
  const ScratchFolder folder;
  const int status = std::system(fmt::format("{} run --quiet --force --what-if -o {} {} >{}", WEFT_BINARY, folder.path().string(),
                                             folder.file("s.json", scenario).string(), (folder / "table").string())
                                     .c_str());
  CHECK(status == 0);
  return Json::parse(read_file(folder / "results.json"));
}

// Small runs that have between them all that a result can say.
const std::vector<std::string> scenarios = {
    // agents of ATP, a ring and traffic, over buffers that mark and drop and links that lose and corrupt
    R"({"schema": 1, "name": "lossy", "network": "packet",
        "fabric": {"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 5, "spines": 1, "link": {"bandwidth": "10Gbps", "latency": "1us"},
                   "programmable": {"aggregators": 8}},
        "packet": {"switch_buffer": "60KiB", "ecn": {"min": "4KiB", "max": "16KiB"}, "pfc": {"on": false},
                   "faults": {"loss": 0.01, "corruption": 0.01}},
        "workload": {"algorithm": "atp", "size": "400KiB", "ranks": 4},
        "jobs": [{"name": "b", "ranks": 4, "algorithm": "ring", "size": "800KB", "start": "1us"}],
        "traffic": [{"pattern": "incast", "to": 0, "size": "50KB", "period": "1us"}]})",
    // congestion notifications and pauses
    R"({"schema": 1, "name": "paused", "network": "packet",
        "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
        "packet": {"transport": "dcqcn", "ecn": {"min": "4KiB", "max": "16KiB"}, "pfc": {"xoff": "32KiB", "xon": "16KiB"}},
        "workload": {"algorithm": {"name": "parameter_server", "servers": 1}, "size": "1MiB"}})",
    R"({"schema": 1, "name": "switchml", "network": "flow",
        "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "10Gbps", "latency": "1us"}, "programmable": {"aggregators": 8}},
        "workload": {"algorithm": "switchml", "size": "1MiB"}})",
    R"({"schema": 1, "name": "chosen", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
        "workload": {"algorithm": "mpi", "size": "1MiB"}})",
    R"({"schema": 1, "name": "copies", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
        "server": "two_nic", "copies": [{"gpus": [1], "direction": "gpu_to_host", "bytes": "1MiB"}],
        "workload": {"algorithm": "ring", "size": "1MiB"}})",
    R"({"schema": 1, "name": "training", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
        "workload": {"model": "resnet50", "device": "v100", "engine": {"name": "horovod", "cycle_time": "200ms"}, "algorithm": "ring", "iterations": 2,
                     "stragglers": {"spread": 0.1}, "checkpoints": {"every": 1, "rate": "1GBps"}}})",
    R"({"schema": 1, "name": "merged", "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
        "workload": {"model": "resnet50", "device": "v100", "engine": "ddp", "algorithm": "ring", "detail": "merged"}})",
    R"({"schema": 1, "name": "compressed", "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "1Gbps", "latency": "1us"}},
        "workload": {"algorithm": "ring", "size": "1MiB", "compression": "gtopk"}})",
    // switches that fail one after the other, in several runs
    R"({"schema": 1, "name": "failing",
        "fabric": {"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 2, "spines": 2, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
        "workload": {"algorithm": "ring", "size": "1MB"},
        "faults": {"failures": [{"switch": "spine0", "at": "100us", "until": "300us"}, {"switch": "spine1", "at": "500us", "until": "800us"}],
                   "reroute_after": "50us"},
        "repeat": {"runs": 2, "vary": ["start"]}})",
    // every part of a critical path, of two cases
    R"({"schema": 1, "name": "path", "placement": "round_robin",
        "fabric": {"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 2, "spines": 1, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
        "hardware": {"profile": "ideal", "send_overhead": "1us"}, "start_skew": {"max": "5us"},
        "workload": {"ranks": 2, "algorithm": "ring", "program": [{"id": "c", "compute": "10us"},
                                                                  {"id": "g", "collective": "allreduce", "size": "1MB", "after": ["c"]}]},
        "jobs": [{"name": "b", "ranks": 2, "collective": "allreduce", "size": "1MB"}],
        "sweep": {"/start_skew/seed": [1, 2]}})",
    // two jobs in several runs
    R"({"schema": 1, "name": "spread", "placement": "random",
        "fabric": {"type": "star", "nodes": 4, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
        "workload": {"ranks": 2, "algorithm": "ring", "size": "1MB"}, "jobs": [{"name": "b", "ranks": 2, "size": "1MB"}],
        "repeat": {"runs": 2, "vary": ["placement"]}})",
};

void check_equal(const Json& value, const Json& constant) { CHECK(value == constant); }

// Whether JSON is as a schema of ours says: types, required and further keys, items, constants. `said`: pointers, without the
// places of lists, of what is not empty, zero or null.
void require_valid(const Json& value, const Json& schema, const std::string& at, std::set<std::string>& said) {
  CAPTURE(at);
  if (schema.contains("const")) return check_equal(value, schema.at("const"));
  const auto is = [&](const std::string& type) {
    return type == "object"    ? value.is_object()
           : type == "array"   ? value.is_array()
           : type == "string"  ? value.is_string()
           : type == "boolean" ? value.is_boolean()
           : type == "integer" ? value.is_number_integer()
           : type == "null"    ? value.is_null()
                               : value.is_number();
  };
  const Json& type = schema.at("type");
  CHECK((type.is_array() ? std::ranges::any_of(type, is) : is(type)));
  if (!value.empty() && value != 0 && value != "" && value != false) said.insert(at);
  if (value.is_array())
    for (const Json& item : value) require_valid(item, schema.at("items"), at, said);
  if (!value.is_object() || !schema.contains("properties")) return;
  for (const Json& key : schema.at("required")) CHECK_MESSAGE(value.contains(key.get<std::string>()), key);
  for (const auto& item : value.items()) {
    REQUIRE_MESSAGE(schema.at("properties").contains(item.key()), item.key());
    require_valid(item.value(), schema.at("properties").at(item.key()), at + "/" + item.key(), said);
  }
}

void pointers_of(const Json& schema, const std::string& at, std::vector<std::string>& out) {
  out.push_back(at);
  if (schema.contains("items")) out.pop_back(), pointers_of(schema.at("items"), at, out);
  if (schema.contains("properties"))
    for (const auto& item : schema.at("properties").items()) pointers_of(item.value(), at + "/" + item.key(), out);
}

}  // namespace

TEST_CASE("results.json is as its schema says, and between them some runs say all that it knows") {
  const Json schema = results_schema();
  std::set<std::string> said;
  for (const std::string& scenario : scenarios) require_valid(results_of(scenario), schema, "", said);
  std::vector<std::string> known;
  pointers_of(schema.at("properties").at("rows").at("items"), "/rows", known);
  for (const std::string& pointer : known)
    if (pointer != "/rows/compression" && pointer != "/rows/notes" &&
        pointer != "/rows/unproved")  // the latter of traces and huge schedules
      CHECK_MESSAGE(said.contains(pointer), pointer);
}

TEST_CASE("the published schema of results is the one the declarations give (weft schema --results > scenarios/results.schema.json)") {
  CHECK(read_file(project_scenarios() / "results.schema.json") == results_schema().dump(2) + "\n");
}
