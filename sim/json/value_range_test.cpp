#include "sim/json/value_range.hpp"

#include "sim/cases/testing.hpp"

namespace weft {
namespace {

std::string values(const char* range) {
  Input in;
  const auto all = values_of_range(Json::parse(range), JsonPath{}, in);
  return in.problems.empty() ? Json(all).dump() : in.problems.front().where + ": " + in.problems.front().what;
}

}  // namespace

TEST_CASE("a range of a sweep goes from its first value by steps or factors up to its last") {
  CHECK(values(R"({"from": 2, "to": 24, "step": 11})") == "[2,13,24]");
  CHECK(values(R"({"from": 1, "to": 10})") == "[1,2,4,8]");
  CHECK(values(R"({"from": "1MiB", "to": "9MiB", "factor": 3})") == R"(["1MiB","3MiB","9MiB"])");
  CHECK(values(R"({"from": "1us", "to": "2us", "step": "500ns"})") == R"(["1us","1.5us","2us"])");
  CHECK(values(R"({"from": "10Gbps", "to": "40Gbps"})") == R"(["10Gbps","20Gbps","40Gbps"])");
  CHECK(values(R"({"from": 0, "to": 0.3, "step": 0.1})") == "[0.0,0.1,0.2,0.30000000000000004]");
  CHECK(values(R"({"from": -2, "to": -1, "step": 1})") == "[-2,-1]");
  CHECK(values(R"({"from": 2, "to": 4, "factor": 1.2})") == "[2,3]");  // 2, 2.4, 2.88 and 3.456, rounded, each once; 4.147 is above 4
}

TEST_CASE("a range of a sweep that makes no sense is refused") {
  CHECK(values(R"({"from": 8, "to": 2})") == "/to: must be at least \"from\" = 8, got 2");
  CHECK(values(R"({"from": 0, "to": 2})") ==
        "/from: must be above zero where each value is a factor times the one before; or give a \"step\", got 0");
  CHECK(values(R"({"from": "1MiB", "to": 2})") == "/to: must be of the kind of \"from\" = \"1MiB\", got 2");
  CHECK(values(R"({"from": 1, "to": 2, "factor": 1})") == "/factor: must be a number above 1, got 1");
  CHECK(values(R"({"from": 1, "to": 2, "step": -1})") == "/step: must be above zero, got -1");
  CHECK(values(R"({"from": 1, "to": 2, "step": 1, "factor": 2})") == ": has both \"step\" and \"factor\": give one of them");
  CHECK(values(R"({"from": 1, "tow": 2})") ==
        "/tow: unknown key \"tow\" (did you mean \"to\"?); allowed: \"from\", \"to\", \"factor\", \"step\"");
  CHECK(values(R"({"from": "ring", "to": 2})") ==
        "/from: must be a number, or a quantity such as \"1MiB\", \"2us\" or \"10Gbps\", got \"ring\"");
  CHECK(values(R"({"from": 1, "to": 1000000, "step": 1})") == ": stands for more than 10000 values");
}

TEST_CASE("a sweep may hold ranges beside lists") {
  Json json = good_scenario();
  json["sweep"] = {{"/workload/algorithm", {"ring"}}, {"/seed", {{"from", 1}, {"to", 5}, {"step", 2}}}};
  const auto cases = cases_of(json);
  REQUIRE(cases.size() == 3);
  CHECK(cases[2].scenario.seed == 5);
}

}  // namespace weft
