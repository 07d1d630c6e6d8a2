#include "sim/in_network/collisions.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("in-network: the share of collisions is that of the hash") {
  // 100 Gb/s are 40.8 packets a us, of which a round trip of 2 us holds 82.
  const AtpLoad load{
      .workers = 8, .packets_per_second = 40.8e6, .held_for = 2e-6, .elsewhere = 2e-6, .window = 200, .queue = 1e9, .aggregators = 128};
  CHECK(collision_shares({load}, 128).front() == doctest::Approx(0));
  // With 64 the first turn collides; then the server's link is the limit and the whole window but what is elsewhere waits for
  // it: 200 - 40.8 x 2 / (1 + 7 c) of 64 are three turns, two thirds collide, and 200 - 14 are three turns again.
  AtpLoad scarce = load;
  scarce.aggregators = 64;
  CHECK(collision_shares({scarce}, 64).front() == doctest::Approx(2.0 / 3));
  // Another job with 82 packets in 2^20 aggregators takes 82 of 2^20; its copies do not fill a link.
  AtpLoad roomy = load;
  roomy.aggregators = 1 << 20;
  CHECK(collision_shares({roomy, roomy}, 1 << 20).front() < 2e-4);
  CHECK(collision_shares({roomy, roomy}, 1 << 20).front() > 0);
  // Split beforehand nobody meets another.
  AtpLoad half = load;
  half.aggregators = 100;
  CHECK(collision_shares({half, half}, 200).front() == doctest::Approx(0));
}
