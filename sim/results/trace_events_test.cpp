#include "sim/results/trace_events.hpp"

#include "models/fabric/star.hpp"
#include "sim/results/trace_testing.hpp"

#include <set>

#include <doctest/doctest.h>

using namespace weft;

namespace {

Json parsed(const std::string& events) { return Json::parse("[" + events + "]"); }

std::set<std::string> tracks_of(const Json& events) {
  std::set<std::string> out;
  for (const Json& event : events)
    if (event["name"] == "thread_name") out.insert(event["args"]["name"].get<std::string>());
  return out;
}

}  // namespace

TEST_CASE("a trace has a slice and an arrow for each message, on tracks of its channel at both ends") {
  const Timeline timeline{
      .messages = {{.channel = 1, .step = 2, .from = 1, .to = 3, .bytes = 64, .posted = 1_us, .active = 2_us, .ended = 4_us}}};
  const Json events = parsed(trace_events(timeline, 5, "ring \"1\""));
  CHECK(flaws_of_trace(events) == std::vector<std::string>{});
  CHECK(events[0]["args"]["name"] == "ring \"1\"");
  CHECK(tracks_of(events) == std::set<std::string>{"rank 1: sends, channel 1", "rank 3: receives, channel 1"});
  for (const Json& event : events)
    if (event["ph"] == "X" && event["name"] == "step 2 to 3")
      CHECK(
          event ==
          Json::parse(
              R"({"ph": "X", "pid": 5, "tid": 1, "ts": 2.0, "dur": 2.0, "name": "step 2 to 3", "args": {"bytes": 64, "waited_us": 1.0}})"));
  CHECK(std::ranges::count_if(events, [](const Json& e) { return e["ph"] == "s" || e["ph"] == "f"; }) == 2);
}

TEST_CASE("slices that overlap in part get lanes of their own, and those that only touch share one") {
  TraceEvents trace(0, "p");
  const TrackKey key{.label = "t"};
  trace.slice(key, "a", 0_us, 4_us);
  trace.slice(key, "b", 4_us, 6_us);
  trace.slice(key, "c", 5_us, 7_us);
  trace.slice(key, "d", 7_us, 9_us);
  const Json events = parsed(trace.text());
  CHECK(flaws_of_trace(events) == std::vector<std::string>{});
  CHECK(tracks_of(events) == std::set<std::string>{"t", "t (2)"});
}

TEST_CASE("times are whole nanoseconds, so that slices that touch do not overlap when they are rounded") {
  TraceEvents trace(0, "p");
  const TrackKey key{.label = "t"};
  for (int i = 0; i < 1000; ++i) trace.slice(key, "m", SimTime{i * 333}, SimTime{(i + 1) * 333});
  const Json events = parsed(trace.text());
  CHECK(flaws_of_trace(events) == std::vector<std::string>{});
  CHECK(tracks_of(events).size() == 1);
}

TEST_CASE("the check of traces finds slices that overlap in part, arrows without an end, and arrows beside their slices") {
  const auto flaws = [](const char* text) { return flaws_of_trace(Json::parse(text)).size(); };
  CHECK(flaws(R"([{"ph":"X","name":"a","pid":0,"tid":1,"ts":0,"dur":2},{"ph":"X","name":"b","pid":0,"tid":1,"ts":1,"dur":2}])") == 1);
  CHECK(flaws(R"([{"ph":"X","name":"a","pid":0,"tid":1,"ts":0,"dur":3},{"ph":"X","name":"b","pid":0,"tid":1,"ts":1,"dur":2}])") == 0);
  CHECK(flaws(R"([{"ph":"X","name":"a","pid":0,"tid":1,"ts":0,"dur":3},{"ph":"s","id":"1","name":"m","pid":0,"tid":1,"ts":1}])") == 1);
  CHECK(flaws(R"([{"ph":"X","name":"a","pid":0,"tid":1,"ts":0,"dur":3},{"ph":"s","id":"1","name":"m","pid":0,"tid":1,"ts":4},
                  {"ph":"f","bp":"e","id":"1","name":"m","pid":0,"tid":1,"ts":2}])") == 1);
}

TEST_CASE("a trace of training steps has tracks for what each rank computes, its streams, control messages and messages") {
  const Timeline timeline{
      .messages = {{.channel = 2, .step = 0, .from = 1, .to = 0, .bytes = 64, .posted = 1_us, .active = 2_us, .ended = 4_us}},
      .spans = {{1, SpanRecord::Kind::compute, 0, "forward", 0_us, 3_us},
                {1, SpanRecord::Kind::collective, 2, "unit 0", 3_us, 5_us},
                {0, SpanRecord::Kind::control, 0, "from rank 1", 4_us, 5_us}}};
  const Json events = parsed(trace_events(timeline, 0, "aiacc"));
  CHECK(flaws_of_trace(events) == std::vector<std::string>{});
  CHECK(tracks_of(events) == std::set<std::string>{"rank 0: control messages", "rank 0: receives, channel 2", "rank 1: computes",
                                                   "rank 1: collectives on stream 2", "rank 1: sends, channel 2"});
}

TEST_CASE("a trace calls a parameter server of a gradient engine by its number among these and by its node") {
  Timeline timeline{.messages = {{.from = 1, .to = 3, .bytes = 64, .posted = 0_us, .active = 0_us, .ended = 4_us}}};
  timeline.fabric = build(Star{.nodes = 2, .host_link = {8_Gbps, 0_us}});
  timeline.placement = {0, 1};
  timeline.servers = {1, 0};  // ranks 2 and 3 of messages
  const Json events = parsed(trace_events(timeline, 0, "byteps"));
  CHECK(tracks_of(events) == std::set<std::string>{"rank 1 node1: sends, channel 0", "server 1 node0: receives, channel 0"});
  CHECK(std::ranges::count(events, Json("step 0 to server 1"), [](const Json& e) { return e["name"]; }) == 1);
}

TEST_CASE("a trace has tracks for other jobs, traffic and agents, and counters of links and queues") {
  Timeline timeline{.messages = {{.from = 0, .to = 1, .bytes = 64, .posted = 0_us, .active = 0_us, .ended = 4_us}}};
  timeline.fabric = build(Star{.nodes = 2, .host_link = {8_Gbps, 0_us}});
  timeline.placement = {1, 0};
  NetworkActivity& activity = timeline.activity;
  activity.start(*timeline.fabric);
  activity.end = 4_us;
  activity.bytes_on_link = {0, 0, 1000, 0};
  activity.used(2, 0_us, 2_us, 8000);  // half of 8 Gb/s for 2 us
  activity.level("queue switch->node0", "B").set(1_us, 1500);
  activity.level("queue switch->node0", "B").set(2_us, 0);
  activity.transfer({.by = "traffic 0", .from = "node0", .to = "node1", .bytes = 10, .begin = 1_us, .end = 2_us});
  activity.beside.push_back({.job = "b", .messages = {{.from = 1, .to = 0, .bytes = 8, .posted = 0_us, .active = 0_us, .ended = 1_us}}});
  const Json events = parsed(trace_events(timeline, 0, "row"));
  CHECK(flaws_of_trace(events) == std::vector<std::string>{});
  CHECK(tracks_of(events) == std::set<std::string>{"rank 0 node1: sends, channel 0", "rank 1 node0: receives, channel 0",
                                                   "b rank 1: sends, channel 0", "b rank 0: receives, channel 0", "traffic 0 node0 sends",
                                                   "traffic 0 node1 receives"});
  std::vector<std::pair<std::string, double>> counters;
  for (const Json& event : events)
    if (event["ph"] == "C") counters.emplace_back(event["name"].get<std::string>(), event["args"].front().get<double>());
  CHECK(std::ranges::count(counters, std::pair<std::string, double>("link node1->switch", 50.0)) > 0);
  CHECK(std::ranges::count(counters, std::pair<std::string, double>("queue switch->node0", 1500.0)) == 1);
  CHECK(counters.back().second == 0);
}
