#include "sim/report/details.hpp"

#include "models/fabric/star.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Two nodes on a switch, 8 Gb/s each: rank 0 on node0 sends 1000 bytes to rank 1 in its first microsecond.
Timeline small_run() {
  Timeline out{.messages = {{.channel = 1, .step = 0, .from = 0, .to = 1, .bytes = 1000, .posted = 0_us, .active = 0_us, .ended = 1_us}}};
  out.fabric = build(Star{.nodes = 2, .host_link = {8_Gbps, 0_us}});
  out.placement = {0, 1};
  out.activity.start(*out.fabric);
  out.activity.end = 2_us;
  out.activity.bytes_on_link = {1000, 0, 0, 1000};
  for (const std::size_t link : {0, 3}) out.activity.used(link, 0_us, 1_us, 8000);
  return out;
}

}  // namespace

TEST_CASE("details have the messages, the share of time in which ranks send, and the use of links over time") {
  const Json details = row_details(small_run(), {});
  CHECK(details["end_us"] == 2.0);
  REQUIRE(details["slices"].size() == 1);
  CHECK(details["slices"][0] == Json::parse(R"([0, "s", 1, 0.0, 1.0, "step 0 to rank 1, 1000 B"])"));
  REQUIRE(details["ranks"].size() == 2);
  const auto sends = details["ranks"][0]["sends"].get<std::vector<int>>();
  CHECK(sends.front() == 100);
  CHECK(sends.back() == 0);
  REQUIRE(details["series"].size() == 2);
  CHECK(details["series"][0]["name"] == "link node0->switch");
  CHECK(details["series"][0]["values"].front() == 100.0);
  CHECK(details["series"][0]["values"].back() == 0.0);
}

TEST_CASE("details of a large run are no larger than people look at") {
  Timeline timeline = small_run();
  timeline.messages.clear();
  for (int i = 0; i < 100'000; ++i)
    timeline.messages.push_back(
        {.from = i % 1000, .to = (i + 1) % 1000, .bytes = 1, .posted = 0_us, .active = SimTime{i * 10}, .ended = SimTime{i * 10 + 5}});
  const Json details = row_details(timeline, {});
  CHECK(details["slices"].empty());
  CHECK(details["messages"] == 100'000);
  CHECK(details["ranks"].size() <= 64);
  CHECK(details["ranks"][0]["to"] == 15);  // 1000 ranks in at most 64 groups: 16 each
  for (const Json& series : details["series"]) CHECK(series["values"].size() <= 128);
  CHECK(details.dump().size() < 50'000);
}

TEST_CASE("a network that records nothing has empty details") { CHECK(row_details({}, {}) == Json::object()); }

TEST_CASE("details are known again by their scenarios, and hold what was asked for") {
  const std::string text = to_details({{"first"}, {"first.json", "--set", "/placement=\"random\""}}, {"{}", "{}"});
  CHECK(is_details_of(text, {"first"}));
  CHECK(!is_details_of(text, {"second"}));
  const Json json = Json::parse(text);
  CHECK(json["arguments"][2] == "/placement=\"random\"");
  CHECK(json["rows"].size() == 2);
}
