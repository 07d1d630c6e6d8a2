#include "collectives/in_network/atp.hpp"

#include <set>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("atp walk: the flows of a job together go through all aggregators before they come back to one") {
  for (const int aggregators : {1, 2, 3, 7, 12, 64, 97, 1000, 4096})
    for (const int flows : {1, 2, 3, 8})
      for (const int job : {0, 1, 5}) {
        CAPTURE(aggregators);
        CAPTURE(flows);
        CAPTURE(job);
        std::vector<AtpWalk> walks;
        for (int f = 0; f < flows; ++f)
          walks.push_back(atp_walk({.aggregators = aggregators}, {.job = job, .jobs = 6, .flow = f, .flows = flows}));
        // The job's packets in turn, from one of the middle on: packet p is number p / flows of flow p % flows.
        std::set<std::uint64_t> seen;
        const auto n = static_cast<std::uint64_t>(flows), first = 5 * n;
        for (std::uint64_t p = first; p < first + static_cast<std::uint64_t>(aggregators); ++p)
          seen.insert(walks[p % n].at(static_cast<std::uint32_t>(p / n)));
        CHECK(seen.size() == static_cast<std::size_t>(aggregators));
        CHECK(*seen.rbegin() == static_cast<std::uint64_t>(aggregators) - 1);
      }
}

TEST_CASE("atp walk: two jobs meet as often as at random") {
  // Of 200 packets of one job and 200 of the other on 4096 aggregators, chance lets 200 x 200 / 4096 = 9.8 meet.
  int met = 0;
  for (int other = 1; other <= 200; ++other) {
    const AtpWalk a = atp_walk({.aggregators = 4096}, {.job = 0, .jobs = 201}),
                  b = atp_walk({.aggregators = 4096}, {.job = other, .jobs = 201});
    std::set<std::uint64_t> taken;
    for (std::uint32_t s = 0; s < 200; ++s) taken.insert(a.at(s));
    for (std::uint32_t s = 0; s < 200; ++s) met += taken.contains(b.at(s));
  }
  CHECK(met / 200.0 == doctest::Approx(200.0 * 200 / 4096).epsilon(0.1));
}

TEST_CASE("atp walk: however many aggregators there are, windows of two jobs at one pace meet as often as at random") {
  // 83 packets of each are on their way. A stride for each job lets all of them meet for some numbers, or none.
  for (const int aggregators : {155, 160, 166, 257, 320, 640, 1280}) {
    CAPTURE(aggregators);
    const AtpWalk a = atp_walk({.aggregators = aggregators}, {.job = 0, .jobs = 2}),
                  b = atp_walk({.aggregators = aggregators}, {.job = 1, .jobs = 2});
    std::int64_t met = 0;
    for (std::uint32_t begin = 0; begin < 2000; ++begin) {
      std::set<std::uint64_t> taken;
      for (std::uint32_t s = begin; s < begin + 83; ++s) taken.insert(a.at(s));
      met += taken.contains(b.at(begin + 83));
    }
    CHECK(static_cast<double>(met) / 2000 == doctest::Approx(83.0 / aggregators).epsilon(0.25));
  }
}

TEST_CASE("atp walk: aggregators that are split are disjoint, in equal parts") {
  std::set<std::uint64_t> seen;
  for (int job = 0; job < 3; ++job) {
    const AtpWalk w = atp_walk({.aggregators = 100, .split = true}, {.job = job, .jobs = 3});
    CHECK(w.count == 33);
    for (std::uint32_t s = 0; s < 33; ++s) CHECK(seen.insert(w.at(s)).second);
  }
  CHECK(*seen.rbegin() < 100);
  CHECK_THROWS_WITH_AS(atp_walk({.aggregators = 2, .split = true}, {.jobs = 3}), "2 aggregators cannot be split between 3 jobs",
                       InputError);
}
