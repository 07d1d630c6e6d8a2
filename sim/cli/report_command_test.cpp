// Reports, figures and timelines as their users meet them.
#include "kernels/files/files.hpp"
#include "kernels/testing/scratch_folder.hpp"
#include "kernels/testing/shell.hpp"
#include "sim/cases/testing.hpp"
#include "sim/results/trace_testing.hpp"

#include <filesystem>
#include <fstream>

using namespace weft;

namespace {

namespace fs = std::filesystem;

class Workplace {
 public:
  fs::path operator/(const char* name) const { return folder_ / name; }

  // In this folder, stdout and stderr together.
  Ran weft(const std::string& arguments) const {
    return shell(fmt::format("cd {} && {} {} 2>&1", folder_.path().string(), WEFT_BINARY, arguments));
  }
  void scenario(const Json& json) const { std::ofstream(folder_ / "s.json") << json.dump(); }
  Json trace_of(const char* text) const {
    scenario(Json::parse(text));
    const Ran ran = weft("run s.json --quiet --force -o traced --trace");
    CAPTURE(ran.printed);
    REQUIRE(ran.status == 0);
    return Json::parse(read_file(folder_ / "traced/trace.json"))["traceEvents"];
  }

 private:
  ScratchFolder folder_;
};

Json small() {
  Json json = good_scenario();
  json["workload"]["size"] = "64KiB";
  return json;
}

int with_name(const Json& events, const char* phase, const std::string& part) {
  int count = 0;
  for (const Json& event : events) {
    const std::string name = event["name"] == "thread_name" ? event["args"]["name"].get<std::string>() : event["name"].get<std::string>();
    count += event["ph"] == phase && name.find(part) != name.npos ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("a run with --report writes a page that weft report writes again from the folder") {
  const Workplace here;
  here.scenario(small());
  const Ran ran = here.weft("run s.json --quiet -o out --report");
  if (ran.printed.find("built without the library of its charts") != ran.printed.npos) {
    MESSAGE("skipped: built without D3");
    return;
  }
  CAPTURE(ran.printed);
  REQUIRE(ran.status == 0);
  const std::string page = read_file(here / "out/report.html");
  const Json details = Json::parse(read_file(here / "out/details.json"));
  CHECK(details["rows"].size() == Json::parse(read_file(here / "out/results.json"))["rows"].size());
  CHECK(details["arguments"] == Json::parse(R"(["s.json"])"));
  for (const Json& row : details["rows"]) CHECK(row["ranks"].size() == 32);
  CHECK(details["rows"][1]["slices"].size() == 320);  // hdrm: 10 steps of 32 messages; the ring has too many to show each
  const Ran again = here.weft("report out");
  CHECK(again.status == 0);
  CHECK(again.printed == "out/report.html\n");
  CHECK(read_file(here / "out/report.html") == page);
  CHECK(here.weft("report out -o page.html").status == 0);
  CHECK(read_file(here / "page.html") == page);
  CHECK(here.weft("run s.json --quiet -o out").status == 0);  // an older page is of other results
  CHECK(!fs::exists(here / "out/report.html"));
  CHECK(!fs::exists(here / "out/details.json"));
  CHECK(here.weft("report out").status == 0);
}

TEST_CASE("what no report or figure can be made of is said") {
  const Workplace here;
  here.scenario(small());
  REQUIRE(here.weft("run s.json --quiet -o out").status == 0);
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    const Ran ran = here.weft(arguments);
    CAPTURE(arguments);
    CAPTURE(ran.printed);
    CHECK(ran.status == 2);
    CHECK(ran.printed.find(why) != ran.printed.npos);
  };
  refused("run s.json --report", "--report: needs -o DIR, where report.html goes");
  refused("report nowhere", "nowhere: is not a folder; give one that weft run -o DIR has written");
  refused("plot out/results.csv --x size --y time_us -o f.svg", "--x: unknown column \"size\"");
  refused("plot out/results.csv --x size_bytes -o f.png", "-o f.png: must end in .svg, .pdf, or .gp for a script of gnuplot");
  refused("plot out/results.csv --x size_bytes --log-x --linear-x -o f.svg", "give one of --log-x and --linear-x");
  refused("plot out/results.csv --x size_bytes -o out/results.csv.gp --where algorithm=tree", "--where: algorithm is hdrm, ring");
  fs::create_directories(here / "empty");
  refused("report empty", "empty/results.json: cannot be read");
  std::ofstream(here / "empty/results.json") << "{}";
  refused("report empty", "is not a result of weft run; weft run -o DIR writes it");
  const auto damaged = [&](const char* pointer, const Json& value, const std::string& why) {
    Json results = Json::parse(read_file(here / "out/results.json"));
    results[Json::json_pointer(pointer)] = value;
    std::ofstream(here / "empty/results.json") << results;
    refused("report empty", "empty/results.json: " + why);
  };
  damaged("/kind", 5, "is not a result of weft run; weft run -o DIR writes it");
  damaged("/scenarios", 5, "is not a result of weft run; weft run -o DIR writes it");
  damaged("/schema", "1", "has schema \"1\", and this weft reads 1");
  damaged("/rows", Json::array(), "has no rows; weft run -o DIR writes them");
  damaged("/rows/0/case", 99, "/rows/0 is not as weft run -o DIR writes it (weft schema --results)");
  damaged("/rows/0/time_us", "fast", "/rows/0 is not as weft run -o DIR writes it (weft schema --results)");
}

TEST_CASE("a figure's script is drawn from results.csv") {
  const Workplace here;
  here.scenario(good_scenario());
  REQUIRE(here.weft("run s.json --quiet -o out").status == 0);
  CHECK(here.weft("plot out/results.csv --x size_bytes --y busbw_GBps -o f.gp").printed == "f.gp\n");
  const std::string script = read_file(here / "f.gp");
  CHECK(script.find("title 'hdrm'") != script.npos);
  CHECK(script.find("set ylabel 'bus bandwidth (GB/s)'") != script.npos);
}

TEST_CASE(
    "slices of a trace nest and its arrows have both ends, with several channels, on packets, with agents and traffic, and in training") {
  const Workplace here;
  const Json channels = here.trace_of(
      R"({"schema": 1, "name": "channels", "fabric": {"type": "fat_tree", "leaves": 2, "nodes_per_leaf": 4, "spines": 2, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
          "hardware": "ideal", "workload": {"algorithm": [{"name": "ring", "channels": 4}, "direct"], "size": "1MiB", "ranks": 4},
          "jobs": [{"name": "other", "algorithm": "ring", "size": "1MiB", "ranks": 2}], "traffic": [{"pattern": "permutation", "size": "100KB", "seed": 1}],
          "placement": "linear"})");
  CHECK(flaws_of_trace(channels) == std::vector<std::string>{});
  CHECK(with_name(channels, "M", "sends, channel 3") > 0);
  CHECK(with_name(channels, "M", "other rank 1") > 0);
  CHECK(with_name(channels, "M", "traffic 0 ") > 0);
  CHECK(with_name(channels, "C", "link ") > 0);
  CHECK(with_name(channels, "s", "message") > 100);
  const Json packets = here.trace_of(
      R"({"schema": 1, "name": "packets", "network": "packet", "fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
          "workload": {"algorithm": "atp", "size": "100KB", "ranks": 4}, "traffic": [{"pattern": "incast", "to": 0, "size": "50KB"}]})");
  CHECK(flaws_of_trace(packets) == std::vector<std::string>{});
  for (const char* counter : {"link ", "queue ", "window ", "aggregators switch"}) CHECK(with_name(packets, "C", counter) > 0);
  CHECK(with_name(packets, "M", "in-network ") > 4);
  const Json program = here.trace_of(
      R"({"schema": 1, "name": "program", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
          "workload": {"algorithm": "ring", "program": [{"id": "backward", "compute": "3ms"},
            {"id": "gradients", "collective": "allreduce", "size": "1MiB", "stream": 1, "after": ["backward"]}]}})");
  CHECK(flaws_of_trace(program) == std::vector<std::string>{});
  CHECK(with_name(program, "M", "computes") == 2);
  CHECK(with_name(program, "X", "backward") == 2);
  CHECK(with_name(program, "M", "collectives on stream 1") == 2);
  CHECK(with_name(program, "X", "gradients") == 2);
  const Json training = here.trace_of(
      R"({"schema": 1, "name": "training", "fabric": {"type": "star", "nodes": 2, "link": {"bandwidth": "10Gbps", "latency": "1us"}},
          "workload": {"model": "resnet50", "device": "v100", "engine": {"name": "aiacc", "streams": 4}, "algorithm": "ring"}})");
  CHECK(flaws_of_trace(training) == std::vector<std::string>{});
  CHECK(with_name(training, "M", "computes") == 2);
  CHECK(with_name(training, "M", "collectives on stream") >= 2);
}
