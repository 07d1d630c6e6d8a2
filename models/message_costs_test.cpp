#include "models/message_costs.hpp"

#include <cmath>

#include <doctest/doctest.h>

using namespace weft;

namespace {

HardwareProfile with(std::vector<CostAtSize> costs) {
  HardwareProfile out;
  out.cost_by_size = std::move(costs);
  return out;
}

}  // namespace

TEST_CASE(
    "message costs: factors follow straight lines of logarithms between sizes, and end as they are; those of collectives are not theirs") {
  const MessageCosts costs(
      with({{"message", "message", 2, 4_KiB, 4.0}, {"message", "message", 2, 1_KiB, 1.0}, {"allreduce", "ring", 2, 1_KiB, 9.0}}));
  CHECK(costs.factor(1024) == doctest::Approx(1));
  CHECK(costs.factor(2048) == doctest::Approx(2));
  CHECK(costs.factor(4096) == doctest::Approx(4));
  CHECK(costs.factor(1 << 20) == doctest::Approx(4));
  CHECK(costs.factor(0) == doctest::Approx(1));
  CHECK(MessageCosts(with({{"allreduce", "ring", 2, 1_KiB, 9.0}})).none());
  CHECK(MessageCosts(HardwareProfile{}).factor(8) == 1);
}

TEST_CASE("message costs: more than the profile says multiplies the latency of the path too, less does not shorten it") {
  const MessageCosts costs(with({{"message", "message", 2, 1_KiB, 0.5}, {"message", "message", 2, 4_KiB, 3.0}}));
  CHECK(costs.behind(2_us, 1_us, 4096) == 7_us);  // 3 x 1 us, and twice 2 us on top of the path's own
  CHECK(costs.behind(2_us, 1_us, 1024) == 500_ns);
  CHECK(costs.of(2_us, 1024) == 1_us);
}

TEST_CASE("message costs: bytes on links follow the factor, but never go faster than the links") {
  HardwareProfile profile = with({{"message", "message", 2, 1000_B, 0.5}, {"message", "message", 2, 2000_B, 3.0}});
  profile.wire_efficiency = 0.8;
  const MessageCosts costs(profile);
  CHECK(costs.wire_bytes(profile, 2000) == 6000);
  CHECK(costs.wire_bytes(profile, 1000) == 800);  // at 0.8 of the rate: as long as 1000 at all of it
}

TEST_CASE("message costs: a call of NCCL has none") {
  const HardwareProfile profile = with({{"message", "message", 2, 1_KiB, 3.0}, {"allreduce", "nccl_ring_simple", 8, 1_KiB, 2.0}});
  CHECK(MessageCosts(profile.in({.protocol = NcclProtocol::simple})).none());
  CHECK(profile.in({.protocol = NcclProtocol::simple}).cost_by_size.empty());
  CHECK_FALSE(MessageCosts(profile.in({})).none());
}

TEST_CASE("message costs: short messages are copied, long ones make a handshake, and one costs no more than either") {
  HardwareProfile profile;
  profile.eager_copy_rate = 8_Gbps;  // a byte in a nanosecond
  CHECK_FALSE(MessageCosts(profile).by_size());
  profile.handshake = 4_us;
  profile.sender_share = 0.25;
  const MessageCosts costs(profile);
  // 1000 bytes: 1 us of copies and 4 us of handshake in parallel are 0.8 us, a quarter of it the sender's; 12 000 bytes: 12 us and 4 us, 3
  // us.
  CHECK(costs.sending(1_us, 1000) == 1'200_ns);
  CHECK(costs.behind(2_us, 1_us, 1000) == 1'600_ns);
  CHECK(costs.sending(1_us, 12'000) == 1'750_ns);
  CHECK(costs.behind(2_us, 1_us, 12'000) == 3'250_ns);
  CHECK(costs.sending(1_us, 0) == 1_us);
  CHECK(costs.sending(0_us, 1LL << 40) == 1_us);
  CHECK_FALSE(MessageCosts(profile.in({.protocol = NcclProtocol::simple})).by_size());
  // What the receiver's core copies from its neighbour's memory has neither.
  CHECK(costs.sending(1_us, 1000, true) == 1_us);
  CHECK(costs.behind(2_us, 1_us, 12'000, true) == 1_us);
}

TEST_CASE("message costs: a library whose threshold is known copies below it, and makes the handshake from there on") {
  HardwareProfile profile;
  profile.eager_copy_rate = 8_Gbps;  // a byte in a nanosecond
  profile.handshake = 4_us;
  profile.handshake_threshold = 10_KB;
  profile.sender_share = 0.25;
  const MessageCosts costs(profile);
  CHECK(costs.sending(1_us, 8'000) == 3_us);  // a quarter of 8 us
  CHECK(costs.behind(2_us, 1_us, 8'000) == 7_us);
  CHECK(costs.sending(1_us, 10'000) == 2_us);
  CHECK(costs.behind(2_us, 1_us, 10'000) == 4_us);
}

TEST_CASE("message costs: what stages of one message do one behind the other comes after its bytes, and keeps no sender") {
  HardwareProfile profile;
  profile.unpipelined_rate = 8_Gbps;
  const MessageCosts costs(profile);
  CHECK(costs.by_size());
  CHECK(costs.sending(1_us, 1000) == 1_us);
  CHECK(costs.behind(2_us, 1_us, 1000) == 2_us);
  CHECK_FALSE(MessageCosts(profile.in({.protocol = NcclProtocol::simple})).by_size());
}

TEST_CASE("message costs: within a host copies and handshakes have costs of their own, and a factor below 1 makes its links no limit") {
  HardwareProfile profile;
  profile.eager_copy_rate = 8_Gbps, profile.handshake = 4_us;  // a byte in a nanosecond
  profile.host_eager_copy_rate = 16_Gbps, profile.host_handshake = 1_us;
  const MessageCosts costs(profile);
  constexpr bool in_host = true;
  // 2000 bytes are copied in 1 us, as long as a handshake takes: in parallel half of either. All of it comes after the bytes.
  CHECK(costs.behind({}, 3_us, 2000, in_host) == 3_us + 500_ns);
  CHECK(costs.sending(1_us, 2000, in_host) == 1_us);
  CHECK(costs.behind({}, 0_us, 1 << 30, in_host) > 999_ns);  // however long, a handshake
  CHECK(costs.behind({}, 0_us, 1 << 30, in_host) <= 1_us);
  profile.wire_efficiency = 0.8;
  profile.cost_by_size = {{"message", "message", 2, 1000_B, 0.5}};
  CHECK(MessageCosts(profile).wire_bytes(profile, 1000, in_host) == 500);
  CHECK(MessageCosts(profile).wire_bytes(profile, 1000) == 800);
}
