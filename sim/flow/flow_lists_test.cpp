#include "sim/flow/flow_lists.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {
std::vector<std::uint32_t> flows_of(const FlowLists& lists, const FlowLists::List& list) {
  std::vector<std::uint32_t> out;
  lists.for_each(list, [&](std::uint32_t flow) { out.push_back(flow); });
  return out;
}
}  // namespace

TEST_CASE("flow lists: the newest flow comes first, and those around one that leaves keep their order") {
  FlowLists lists;
  FlowLists::List list;
  std::vector<std::uint32_t> places;
  for (std::uint32_t flow = 10; flow < 15; ++flow) places.push_back(lists.add(list, flow));
  lists.remove(list, places[2], [](std::uint32_t, std::uint32_t, std::uint32_t) { FAIL("nobody has to move for one gap"); });
  CHECK(list.size() == 4);
  CHECK(flows_of(lists, list) == std::vector<std::uint32_t>{14, 13, 11, 10});
  CHECK(lists.newest(list) == 14);
}

TEST_CASE("flow lists: a flow is asked for before it is handed out, gaps never") {
  FlowLists lists;
  FlowLists::List list;
  std::vector<std::uint32_t> places, fetched, seen;
  for (std::uint32_t flow = 0; flow < 12; ++flow) places.push_back(lists.add(list, flow));
  lists.remove(list, places[1], [](std::uint32_t, std::uint32_t, std::uint32_t) {});
  lists.for_each(
      list, [&](std::uint32_t flow) { seen.push_back(flow); },
      [&](std::uint32_t flow) {
        CHECK(std::ranges::find(seen, flow) == seen.end());
        fetched.push_back(flow);
      });
  CHECK(seen == std::vector<std::uint32_t>{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 0});
  CHECK(fetched == std::vector<std::uint32_t>{3, 2, 0});
}

TEST_CASE("flow lists: agree with plain vectors while flows come and go at random") {
  std::mt19937_64 random(5);
  for (const std::size_t most : {2, 20, 600}) {
    CAPTURE(most);
    FlowLists lists;
    std::vector<FlowLists::List> list(7);
    std::vector<std::vector<std::uint32_t>> expected(list.size());
    std::map<std::uint32_t, std::uint32_t> place;  // by flow
    std::uint32_t next = 0;
    for (int round = 0; round < 20'000; ++round) {
      const std::size_t at = random() % list.size();
      std::vector<std::uint32_t>& flows = expected[at];
      // They grow and shrink by turns, so that lists run empty and fill again.
      const bool grows = flows.empty() || (flows.size() < most && random() % 8 < (round / 4000 % 2 == 0 ? 6U : 2U));
      if (grows) {
        place[next] = lists.add(list[at], next);
        flows.insert(flows.begin(), next++);
      } else {
        const auto leaving = flows.begin() + static_cast<std::ptrdiff_t>(random() % flows.size());
        lists.remove(list[at], place.at(*leaving), [&](std::uint32_t flow, std::uint32_t from, std::uint32_t to) {
          REQUIRE(place.at(flow) == from);
          place[flow] = to;
        });
        place.erase(*leaving);
        flows.erase(leaving);
      }
      REQUIRE(list[at].size() == flows.size());
      REQUIRE(flows_of(lists, list[at]) == flows);
      if (!flows.empty()) REQUIRE(lists.newest(list[at]) == flows.front());
    }
  }
}
