#include "models/hardware.hpp"

#include <cmath>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("hardware: a factor of a size makes messages slower as it says, and never faster than their links") {
  HardwareProfile half;
  half.wire_efficiency = 0.8, half.message_efficiency = 0.5;
  const auto efficiency = [&](double cost) {
    return half.in({.protocol = NcclProtocol::simple, .pattern = NcclAlgorithm::ring, .cost = cost}).message_efficiency;
  };
  CHECK(efficiency(2) == doctest::Approx(0.25));
  CHECK(efficiency(0.5) == doctest::Approx(1));
  CHECK(efficiency(0.1) == doctest::Approx(1 / 0.8));  // all that the links have
}

TEST_CASE("hardware: the ideal profile is sound") { CHECK(problems(HardwareProfile{}).empty()); }

TEST_CASE("hardware: negative costs are refused, all of them at once") {
  HardwareProfile profile;
  profile.send_overhead = 0_us - 1_us;
  profile.first_use = 0_us - 1500_ns;
  profile.rendezvous_threshold = Bytes{-1};
  profile.reduce_rate = {-8};
  CHECK(problems(profile) == std::vector<Problem>{{"/send_overhead", "must not be negative, got -1us"},
                                                  {"/first_use", "must not be negative, got -1.5us"},
                                                  {"/rendezvous_threshold", "must not be negative, got -1B"},
                                                  {"/reduce_rate", "must not be negative, got -8bps"}});
}

TEST_CASE("hardware: small messages may use more of the wire than their bytes, from the threshold on no message does") {
  HardwareProfile profile;
  profile.rendezvous_threshold = 64_KiB;
  profile.eager_efficiency = 0.5;
  CHECK(profile.wire_bytes(100) == 200);
  CHECK(profile.wire_bytes(65'535) == 131'070);
  CHECK(profile.wire_bytes(65'536) == 65'536);
  CHECK(HardwareProfile{}.wire_bytes(100) == 100);
}

TEST_CASE("hardware: of messages larger than the cache what fits into it is reduced at its rate, the rest at memory's") {
  HardwareProfile profile;
  profile.reduce_rate = 80_Gbps;
  profile.reduce_rate_beyond_cache = 40_Gbps;
  CHECK(profile.reduce_rate_for(1_GiB) == 80_Gbps);
  profile.reduce_cache = 32_MiB;
  CHECK(profile.reduce_rate_for(32_MiB) == 80_Gbps);
  // Half of the bytes at 80, half at 40 Gb/s: 160 / 3.
  CHECK(profile.reduce_rate_for(64_MiB).count == doctest::Approx(160e9 / 3));
  profile.reduce_rate_beyond_cache = {0};
  CHECK(profile.reduce_rate_for(1_GiB) == 80_Gbps);
  profile.reduce_cache = {0};
  profile.reduce_rate_beyond_cache = 40_Gbps;
  CHECK(profile.reduce_rate_for(1_GiB) == 40_Gbps);
  CHECK(profile.reduce_rate_for(0_B) == 80_Gbps);
}

TEST_CASE("hardware: there are three levels of working sets, and a larger one is never faster") {
  HardwareProfile profile;
  profile.reduce_rate = profile.copy_rate = 80_Gbps;
  profile.reduce_cache = 1_MiB;
  profile.last_level_cache = 32_MiB;
  profile.reduce_rate_beyond_cache = profile.copy_rate_beyond_cache = 100_Gbps;  // of no effect
  CHECK(profile.reduce_rate_for(2_MiB) == 80_Gbps);
  CHECK(profile.copy_rate_for(2_MiB) == 80_Gbps);
  profile.reduce_rate_beyond_cache = 40_Gbps;
  profile.reduce_rate_in_memory = profile.copy_rate_in_memory = 20_Gbps;
  CHECK(profile.reduce_rate_for(1_MiB) == 80_Gbps);
  // A 32nd at 80 and the rest at 40 Gb/s; of 64 MiB a 64th at 80, 31 of them at 40 and half at 20 Gb/s.
  CHECK(profile.reduce_rate_for(32_MiB).count == doctest::Approx(32 * 80e9 / (1 + 31 * 2)));
  CHECK(profile.reduce_rate_for(64_MiB).count == doctest::Approx(64 * 80e9 / (1 + 31 * 2 + 32 * 4)));
  // Of copies nothing is known between: half at 80, half at 20 Gb/s.
  CHECK(profile.copy_rate_for(64_MiB).count == doctest::Approx(2 * 80e9 / (1 + 4)));
  CHECK(HardwareProfile{}.copy_rate_for(1_GiB) == BitsPerSecond{0});
  // Of the 4 MiB that each of eight has of it a quarter goes at 80 Gb/s: of 8 MiB an eighth, and half in memory.
  CHECK(profile.shared_by(8).reduce_rate_for(8_MiB).count == doctest::Approx(8 * 80e9 / (1 + 3 * 2 + 4 * 4)));
  CHECK(HardwareProfile{}.shared_by(8).last_level_cache == HardwareProfile{}.last_level_cache);
  // What is copied in memory goes at a quarter of its rate where four ranks share it; one alone is no faster than in its cache.
  profile.copy_rate_in_memory = 160_Gbps;
  CHECK(profile.shared_by(1).copy_rate_for(64_MiB) == 80_Gbps);
  CHECK(profile.shared_by(4).copy_rate_for(8_MiB) == 80_Gbps);
  CHECK(profile.shared_by(4).copy_rate_for(16_MiB).count == doctest::Approx(2 * 80e9 / (1 + 2)));
  CHECK(HardwareProfile{}.shared_by(4).copy_rate_in_memory == BitsPerSecond{0});
}

TEST_CASE("hardware: all messages may use more of the wire than their bytes, those below the threshold more still") {
  HardwareProfile profile;
  profile.message_efficiency = 0.5;
  profile.rendezvous_threshold = 64_KiB;
  profile.eager_efficiency = 0.25;
  CHECK(profile.wire_bytes(100) == 800);
  CHECK(profile.wire_bytes(65'536) == 131'072);
}

TEST_CASE("hardware: factors of NCCL's table are neither negative nor absurd") {
  HardwareProfile profile;
  profile.ll_hops = -1;
  profile.nccl_base = 101;
  CHECK(problems(profile) ==
        std::vector<Problem>{{"/nccl_base", "must be between 0 and 100, got 101"}, {"/ll_hops", "must be between 0 and 100, got -1"}});
}

TEST_CASE("hardware: a message is copied a few times at most, and a part is no more than the whole") {
  HardwareProfile profile;
  profile.initial_copies = 5;
  profile.sender_share = -0.5;
  profile.handshake = SimTime{-1'000'000};
  CHECK(problems(profile) == std::vector<Problem>{{"/handshake", "must not be negative, got -1us"},
                                                  {"/initial_copies", "must be between 0 and 4, got 5"},
                                                  {"/sender_share", "must be between 0 and 1, got -0.5"}});
}

TEST_CASE("hardware: the wire's efficiency is in (0, 1]") {
  for (const double bad : {0.0, -0.5, 1.01, std::nan("")}) {
    CAPTURE(bad);
    HardwareProfile profile;
    profile.wire_efficiency = bad;
    REQUIRE(problems(profile).size() == 1);
    CHECK(problems(profile).front().where == "/wire_efficiency");
  }
  HardwareProfile profile;
  profile.wire_efficiency = 1.25;
  CHECK(problems(profile).front().what == "must be more than 0 and at most 1, got 1.25");
}

TEST_CASE(
    "hardware: messages that the library copies out of their sender's way leave at once, those for which it makes a handshake do not") {
  HardwareProfile profile;
  CHECK(profile.eager_below() == 0_B);
  profile.eager_threshold = 100_B;
  CHECK(profile.eager_below() == 100_B);
  profile.eager_copy_rate = 8_Gbps;  // a byte in a nanosecond
  CHECK(profile.eager_below() == 100_B);
  profile.handshake = 4_us;
  CHECK(profile.eager_below() == 4000_B);
  profile.eager_threshold = 5000_B;
  CHECK(profile.eager_below() == 5000_B);
  profile.handshake_threshold = 64_KiB;
  CHECK(profile.eager_below() == 64_KiB);
  profile.rendezvous_threshold = 1000_B;  // whose receiver must be there
  CHECK(profile.eager_below() == 1000_B);
}

}  // namespace weft
