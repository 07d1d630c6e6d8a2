#include "sim/in_network/collisions.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace weft;

namespace {

// 100 Gb/s are 40 packets a us: 80 are held in 2 us, of 160 in a round trip. Windows of 60 come and go all at once.
AtpLoad load_of(double aggregators, double window = 60) {
  return {.workers = 8,
          .packets_per_second = 40e6,
          .held_for = 2e-6,
          .elsewhere = 2e-6,
          .window = window,
          .queue = HUGE_VAL,
          .aggregators = aggregators};
}
double share(const AtpLoad& load) { return expected_collisions({load}, load.aggregators).front().share; }

}  // namespace

TEST_CASE("in-network: with enough aggregators nothing collides, with none everything, with few what is more than they are") {
  CHECK(share(load_of(80)) == 0);
  CHECK(share(load_of(60)) == 0);
  CHECK(share(load_of(0)) == 1);
  for (const double aggregators : {1, 6, 15, 30, 45, 59}) {
    CAPTURE(aggregators);
    CHECK(share(load_of(aggregators)) == doctest::Approx(1 - aggregators / 60));
  }
  // A window of two round trips: 80 of 320 are held at once, and none is more than there are aggregators.
  CHECK(share(load_of(80, 320)) == 0);
}

TEST_CASE("in-network: of packets that collide a queue gets long, in which more of the window holds aggregators") {
  // 120 of 200 beyond the 80 that come before one leaves: 200 - 120 / m are held, where each takes m = 1 + 7 c packets' time.
  const double c = share(load_of(64, 200)), m = 1 + 7 * c;
  CHECK(1 - c == doctest::Approx(64 / (200 - 120 / m)));
  CHECK(c > 0.6);
  // The server's link is the limit then; and while none collides, a window takes what it takes on the worker's link, or a round trip.
  CHECK(expected_collisions({load_of(64, 200)}, 64).front().seconds_per_packet == doctest::Approx(m / 40e6));
  CHECK(expected_collisions({load_of(90, 200)}, 90).front().seconds_per_packet == doctest::Approx(1 / 40e6));
  CHECK(expected_collisions({load_of(90, 80)}, 90).front().seconds_per_packet == doctest::Approx(4e-6 / 80));
}

TEST_CASE("in-network: a window that is halved when the queue is marked goes from half of that to it") {
  // Of 20 aggregators 1 - 20 / W collide, and a window takes W m = 8 W - 140 packets' time: a round trip of 160 and a queue of 100 where W
  // is 50. On the way there from 25 a round trip is enough up to 37.5. The collided: the integral of W - 20 is 437.5, of W 937.5.
  AtpLoad marked = load_of(20, 400);
  marked.queue = 100;
  const AtpCollisions met = expected_collisions({marked}, 20).front();
  CHECK(met.share == doctest::Approx(437.5 / 937.5).epsilon(1e-3));
  CHECK(met.seconds_per_packet == doctest::Approx((160 * 12.5 + (160 + 260) / 2.0 * 12.5) / 937.5 / 40e6).epsilon(1e-3));
  // Larger windows are of no use to it.
  marked.window = 4000;
  CHECK(expected_collisions({marked}, 20).front().share == doctest::Approx(met.share));
}

TEST_CASE("in-network: jobs meet each other's packets by chance, those with aggregators of their own never") {
  // Each holds 60, the time for which it would hold one alone 60 of 2^20: Erlang's a / (1 + a).
  const AtpLoad roomy = load_of(1 << 20);
  const double a = 60.0 / (1 << 20);
  CHECK(expected_collisions({roomy, roomy}, 1 << 20).front().share == doctest::Approx(a / (1 + a)).epsilon(1e-3));
  CHECK(expected_collisions({roomy, roomy, roomy}, 1 << 20).front().share == doctest::Approx(2 * a / (1 + 2 * a)).epsilon(1e-3));
  // Of few each job has its part, and 1 - 30 / 60 find none of that.
  CHECK(expected_collisions({load_of(30), load_of(30)}, 30).front().share == doctest::Approx(1 - 0.5 / 2).epsilon(1e-3));
  CHECK(expected_collisions({load_of(100), load_of(100)}, 200).front().share == 0);
  AtpLoad absent = load_of(30);
  absent.present = 0;
  CHECK(expected_collisions({load_of(30), absent}, 30).front().share == doctest::Approx(0.5));
}

TEST_CASE("in-network: workers that are a window apart find places free for whole turns") {
  AtpLoad apart = load_of(320, 344);
  apart.uneven = true;
  CHECK(share(apart) == doctest::Approx(0.5));
  apart.aggregators = 344;
  CHECK(share(apart) == 0);
}

TEST_CASE("in-network: no job takes longer for more aggregators, and none collides more often while windows stay the same") {
  for (const int jobs : {1, 2, 3, 8})
    for (const int workers : {2, 8, 16})
      for (const double window : {40, 100, 401, 3000})
        for (const double queue : {100.0, 261.0, 1300.0, HUGE_VAL})
          for (const double held : {2.45e-6, 20e-6})
            for (const bool uneven : {false, true}) {
              CAPTURE(
                  fmt::format("{} jobs, {} workers, window {}, queue {}, held {}, uneven {}", jobs, workers, window, queue, held, uneven));
              AtpCollisions before{.share = 1, .seconds_per_packet = HUGE_VAL};
              for (double aggregators = 1; aggregators < 1e5; aggregators = std::ceil(aggregators * 1.1)) {
                CAPTURE(aggregators);
                AtpLoad load = load_of(aggregators, window);
                load.workers = workers, load.queue = queue, load.held_for = held, load.uneven = uneven;
                const AtpCollisions met = expected_collisions(std::vector(static_cast<std::size_t>(jobs), load), aggregators).back();
                REQUIRE(met.share >= 0);
                REQUIRE(met.share <= before.share + (queue < HUGE_VAL ? 0.003 : 1e-6));  // larger windows fit, which hold more
                REQUIRE(met.seconds_per_packet <= before.seconds_per_packet * (1 + 1e-6));
                before = met;
              }
            }
}

TEST_CASE("in-network: jobs of any kind come to shares that fit each other, and more of them collide more often") {
  for (const double aggregators : {50, 200, 1000, 5000}) {
    CAPTURE(aggregators);
    AtpLoad large = load_of(aggregators, 401), small = load_of(aggregators, 100);
    large.queue = small.queue = 261;
    small.workers = 3;
    const double alone = expected_collisions({small}, aggregators).front().share;
    const double beside = expected_collisions({small, large}, aggregators).front().share;
    const double among = expected_collisions({large, small, large}, aggregators)[1].share;
    CHECK(alone < beside);
    CHECK(beside < among);
    CHECK(among < 1);
    CHECK(expected_collisions({large, small}, aggregators).back().share == doctest::Approx(beside).epsilon(1e-6));
  }
}
