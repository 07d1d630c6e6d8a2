#include "validation/measurements/renames.hpp"

#include "validation/testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("renames: an algorithm is written as tables print it, settings included") {
  for (const char* text : {"ring", "ring(channels=8)", "hierarchical_ring(group=4)", "parameter_server(servers=2,server_hosts=extra)",
                           "ring(group=4,channels=2)", "switchml(timeout=2ms)"}) {
    CAPTURE(text);
    CHECK(label(parse_algorithm(text)) == text);
  }
  const Renames renames = renames_in({"a=ring(channels=8)", "=direct"});
  CHECK(renames.at("a").settings.channels == 8);
  CHECK(renames.at("").name == "direct");
}

TEST_CASE("renames: what is wrong with them is told, all at once") {
  const Lines problems = problems_of([] { renames_in({"x", "a=rink", "a=ring(", "a=ring(channels)", "a=ring(channels=0)"}); });
  REQUIRE(problems.size() == 5);
  CHECK(problems[0] == "--rename x: must be MEASURED=OURS");
  CHECK(problems[1].find("(did you mean \"ring\"?)") != std::string::npos);
  CHECK(problems[2] == "--rename a=ring(: must be NAME or NAME(SETTING=VALUE,...)");
  CHECK(problems[3] == "--rename a=ring(channels): \"channels\" must be SETTING=VALUE");
  CHECK(problems[4] == "--rename a=ring(channels=0): /channels: must be at least 1, got 0");
}
