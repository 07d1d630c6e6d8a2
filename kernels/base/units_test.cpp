#include "kernels/base/units.hpp"

#include "kernels/base/error.hpp"

#include <random>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("units: a quantity is a decimal number and a unit, with or without a space") {
  CHECK(parse_time("2us") == 2_us);
  CHECK(parse_time("0.5 us") == 500_ns);
  CHECK(parse_time("1.25ns") == 1250_ps);
  CHECK(parse_time("0s") == 0_s);
  CHECK(parse_time("007.500ms") == 7500_us);
  CHECK(parse_bytes("256KiB") == 262144_B);
  CHECK(parse_bytes("1.5 MB") == 1'500'000_B);
  CHECK(parse_bytes("0.5GiB") == 512_MiB);
  CHECK(parse_bandwidth("100Gbps") == 100_Gbps);
  CHECK(parse_bandwidth("12.5 GBps") == 100_Gbps);
  CHECK(parse_bandwidth("1bps").count == 1);
  CHECK(parse_bandwidth("64Kbps").count == 64'000);
  CHECK(parse_bandwidth("1MBps") == 8_Mbps);
}

TEST_CASE("units: a wrong quantity is refused with what was found and what to write") {
  CHECK_THROWS_WITH_AS(parse_bandwidth("100"), R"("100" has no unit: write for example "100Gbps")", InputError);
  CHECK_THROWS_WITH_AS(parse_time("1.5"), R"("1.5" has no unit: write for example "1.5us")", InputError);
  CHECK_THROWS_WITH_AS(parse_bytes("4096"), R"("4096" has no unit: write for example "4096KiB")", InputError);
  CHECK_THROWS_WITH_AS(parse_bandwidth("100gbps"),
                       R"("100gbps" has the unknown unit "gbps": write one of Gbps Mbps Kbps bps GBps MBps, for example "100Gbps")",
                       InputError);
  CHECK_THROWS_WITH_AS(parse_bytes("8kib"), R"("8kib" has the unknown unit "kib": write one of B KiB MiB GiB KB MB GB, for example "8KiB")",
                       InputError);
  CHECK_THROWS_WITH_AS(parse_time("3 min"), R"("3 min" has the unknown unit "min": write one of s ms us ns ps, for example "180s")",
                       InputError);
  CHECK_THROWS_WITH_AS(parse_bandwidth("1.5Tbps"),
                       R"("1.5Tbps" has the unknown unit "Tbps": write one of Gbps Mbps Kbps bps GBps MBps, for example "1500Gbps")",
                       InputError);
  for (const std::string text : {"1e3B", "1,000B"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_bytes(text),
                         ("\"" + text + "\" is not a size: write a decimal number and a unit, for example \"100KiB\"").c_str(), InputError);
  }
  CHECK_THROWS_WITH_AS(parse_time("-5us"), R"("-5us" is negative: write a time of 0 or more)", InputError);
  CHECK_THROWS_WITH_AS(parse_time("0.5ps"), R"("0.5ps" is not a whole number of picoseconds)", InputError);
  CHECK_THROWS_WITH_AS(parse_bytes("0.0001KiB"), R"("0.0001KiB" is not a whole number of bytes)", InputError);
  CHECK_THROWS_WITH_AS(parse_bandwidth("0.3bps"), R"("0.3bps" is not a whole number of bits per second)", InputError);
  for (const std::string text : {"", "fast", ".5us", "5.us", "us", "-", " 5us", "+5us", "x5us"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_time(text),
                         ("\"" + text + "\" is not a time: write a decimal number and a unit, for example \"100us\"").c_str(), InputError);
  }
  for (const std::string text : {"1e3us", "5us ", "5  us", "5\tus", "1.2.3us", "5us5us", "1,5us"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_time(text), InputError);
  }
}

TEST_CASE("units: what does not fit into 64 bits is refused, and the most that fits is not") {
  CHECK(parse_time("9223372.036854775807s") == SimTime::never());
  CHECK_THROWS_WITH_AS(parse_time("9223372.036854775808s"),
                       R"("9223372.036854775808s" is too large: a time is at most 9223372036854775807ps)", InputError);
  CHECK_THROWS_AS(parse_bytes("9223372036854775808B"), InputError);
  CHECK_THROWS_AS(parse_bandwidth("99999999999999999999999999999999999999999999999999Gbps"), InputError);
  CHECK(parse_bytes("9223372036854775807B").count == INT64_MAX);
}

TEST_CASE("units: any number of digits is read exactly or refused") {
  // 2^-30 GiB is one byte; one digit less is no whole number of bytes.
  CHECK(parse_bytes("0.000000000931322574615478515625GiB") == 1_B);
  CHECK_THROWS_AS(parse_bytes("0.00000000093132257461547851562GiB"), InputError);
  CHECK(parse_bytes("1.0000000000000000000000000000000000000000000000000000KiB") == 1_KiB);
  CHECK_THROWS_AS(parse_bytes("1.0000000000000000000000000000000000000000000000000001KiB"), InputError);
}

TEST_CASE("units: the text printed is the shortest that is exact") {
  CHECK(to_string(256_KiB) == "256KiB");
  CHECK(to_string(1536_B) == "1536B");
  CHECK(to_string(1536_KiB) == "1.5MiB");
  CHECK(to_string(1_MB) == "1MB");
  CHECK(to_string(0_B) == "0B");
  CHECK(to_string(1500_ns) == "1.5us");
  CHECK(to_string(500_ns) == "500ns");
  CHECK(to_string(1_ps) == "1ps");
  CHECK(to_string(0_us) == "0s");
  CHECK(to_string(0_Gbps) == "0bps");
  CHECK(to_string(100_Gbps) == "100Gbps");
  CHECK(to_string(100_Mbps) == "100Mbps");
  CHECK(to_string(BitsPerSecond{1}) == "1bps");
  CHECK(to_string(0_us - 1500_ns) == "-1.5us");
}

TEST_CASE("units: what is printed parses back to the same value") {
  std::mt19937_64 random(1);
  const auto value = [&] {
    const auto bits = random() % 64;
    auto v = static_cast<std::int64_t>(random() >> 1 >> bits);
    while (random() % 3 == 0 && v < INT64_MAX / 1000) v *= 1000;
    while (random() % 3 == 0 && v < INT64_MAX / 1024) v *= 1024;
    return v;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t v = i == 0 ? INT64_MAX : value();
    CAPTURE(v);
    REQUIRE(parse_time(to_string(SimTime{v})).ps == v);
    REQUIRE(parse_bytes(to_string(Bytes{v})).count == v);
    REQUIRE(parse_bandwidth(to_string(BitsPerSecond{v})).count == v);
  }
}

TEST_CASE("units: what lies beyond 106 days is never, and nothing can be scheduled there") {
  CHECK(SimTime::never() + 1_ps == SimTime::never());
  CHECK(9'000'000_s + 9'000'000_s == SimTime::never());
  CHECK(1'000'000 * 10_s == SimTime::never());
  CHECK(4'000'000_s + 5'000'000_s == 9'000'000_s);
  CHECK_NOTHROW(require_in_time(SimTime::never().ps - 1));
  CHECK_THROWS_WITH_AS(require_in_time((SimTime::never() + 1_s).ps),
                       "simulated time would pass 106 days (2^63 ps), the most that can be simulated", RunError);
}

TEST_CASE("units: a transfer's duration is rounded up to a picosecond, once") {
  CHECK(1_MB / 100_Gbps == 80_us);
  CHECK(1_B / BitsPerSecond{3} == SimTime{2'666'666'666'667});
  CHECK(0_B / 100_Gbps == 0_s);
  CHECK(Bytes{INT64_MAX} / BitsPerSecond{1} == SimTime::never());
}

}  // namespace weft
