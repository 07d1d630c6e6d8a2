#include "validation/timeline/timeline_command.hpp"

#include "kernels/files/files.hpp"
#include "kernels/testing/scratch_folder.hpp"
#include "sim/results/trace_events.hpp"
#include "sim/results/trace_testing.hpp"

#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Two ranks that send to each other; rank 1's clock is 100 us ahead.
constexpr const char* measured_trace =
    R"({"format": "weft trace", "version": 1, "system": "bench", "ranks": 2, "clocks": [{"offset_us": 0}, {"offset_us": 100}]}
{"run": 0, "algorithm": "ring", "size_bytes": 8, "times_us": [9.0]}
{"run": 0, "rank": 0, "op": "send", "peer": 1, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 50, "end_us": 56}
{"run": 0, "rank": 0, "op": "receive", "peer": 1, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 50, "end_us": 56}
{"run": 0, "rank": 1, "op": "send", "peer": 0, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 151, "end_us": 155}
{"run": 0, "rank": 1, "op": "receive", "peer": 0, "channel": 0, "step": 0, "message": 0, "bytes": 4, "start_us": 151, "end_us": 155}
)";

}  // namespace

TEST_CASE("a measured run has the tracks and arrows of a simulated one, from its first start on and by one clock") {
  const Trace trace = parse_trace(measured_trace, "bench.trace");
  const Json events = Json::parse("[" + measured_events(trace, trace.runs.front(), 3) + "]");
  CHECK(flaws_of_trace(events) == std::vector<std::string>{});
  int slices = 0, arrows = 0;
  for (const Json& event : events) {
    arrows += event["ph"] == "s" ? 1 : 0;
    if (event["ph"] != "X") continue;
    ++slices;
    CHECK(event["ts"].get<double>() == (event["dur"] == 6.0 ? 0.0 : 1.0));
  }
  CHECK(slices == 4);
  CHECK(arrows == 2);
}

TEST_CASE("measured and simulated runs are processes of one timeline, and none takes the number of another") {
  const ScratchFolder folder;
  const auto file = [&](const char* name) { return (folder / name).string(); };
  write_file(file("bench.trace"), measured_trace);
  const Timeline simulated{.messages = {{.from = 0, .to = 1, .bytes = 4, .posted = 0_us, .active = 0_us, .ended = 4_us}}};
  write_file(file("trace.json"), R"({"displayTimeUnit":"ns","traceEvents":[)" + trace_events(simulated, 0, "ring") + "," +
                                     trace_events(simulated, 1, "hdrm") + "]}");
  std::ostringstream out;
  CHECK(timeline_command({.files = {file("trace.json"), file("bench.trace"), file("trace.json")}, .output = file("both.json")}, out) == 0);
  const Json events = Json::parse(read_file(file("both.json")))["traceEvents"];
  CHECK(flaws_of_trace(events) == std::vector<std::string>{});
  std::vector<std::string> names;
  for (const Json& event : events)
    if (event["name"] == "process_name")
      names.push_back(fmt::format("{} {}", event["pid"].get<int>(), event["args"]["name"].get<std::string>()));
  CHECK(names == std::vector<std::string>{"0 simulated ring", "1 simulated hdrm", "2 measured bench: ring, 8B", "3 simulated ring",
                                          "4 simulated hdrm"});
  CHECK_THROWS_AS(timeline_command({.files = {file("both.json")}, .output = file("trace.json")}, out), InputError);
  write_file(file("no.json"), R"({"displayTimeUnit":"ns"})");
  CHECK_THROWS_WITH_AS(timeline_command({.files = {file("no.json")}, .output = file("x.json")}, out),
                       (file("no.json") + ": must be a trace of weft bench --trace, or trace.json of weft run --trace").c_str(),
                       InputError);
}
