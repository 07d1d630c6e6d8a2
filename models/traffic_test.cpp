#include "models/traffic.hpp"

#include <set>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::literals;

namespace {

std::vector<std::string> lines(const TrafficSpec& traffic) {
  std::vector<std::string> out;
  for (const Problem& p : problems(traffic, 8)) out.push_back(p.where + ": " + p.what);
  return out;
}

}  // namespace

TEST_CASE("traffic: in a permutation everyone sends to one other and receives from one other") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::set<int> from, to;
    for (const auto& flow : flows_of({.seed = seed}, 9)) {
      CHECK(flow.first != flow.second);
      from.insert(flow.first);
      to.insert(flow.second);
    }
    CHECK(from.size() == 9);
    CHECK(to.size() == 9);
  }
  CHECK(flows_of({.seed = 1}, 9) != flows_of({.seed = 2}, 9));
}

TEST_CASE("traffic: an incast comes from all that are named, but not from its end") {
  CHECK(flows_of({.pattern = TrafficPattern::incast, .to = 1}, 3) == std::vector<std::pair<int, int>>{{0, 1}, {2, 1}});
  CHECK(flows_of({.pattern = TrafficPattern::incast, .endpoints = {5, 3}, .to = 1}, 8) == std::vector<std::pair<int, int>>{{5, 1}, {3, 1}});
}

TEST_CASE("traffic: what cannot be is refused, all of it") {
  CHECK(lines({.size = 1_MiB}).empty());
  CHECK(lines({.endpoints = {1, 8, 1}, .start = 2_ms, .stop = 1_ms, .off = 1_ms}) ==
        std::vector<std::string>{"/size: must be more than 0 B, got 0B", "/stop: must come after start = 2ms, got 1ms",
                                 "/on: must be more than 0 s where \"off\" is 1ms", "/endpoints/1: must be between 0 and 7, got 8",
                                 "/endpoints/2: endpoint 1 is given twice"});
  CHECK(lines({.pattern = TrafficPattern::incast, .endpoints = {3}, .to = 3, .size = 1_B}) ==
        std::vector<std::string>{"/endpoints: has nobody who sends to endpoint 3"});
  CHECK(lines({.pattern = TrafficPattern::pairs, .pairs = {{1, 1}, {2}}, .size = 1_B}) ==
        std::vector<std::string>{"/pairs/0: endpoint 1 sends to itself", "/pairs/1: must be a sender and a receiver, got 1 endpoints"});
}
