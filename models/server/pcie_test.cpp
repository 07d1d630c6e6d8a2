#include "models/server/pcie.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {
double gigabits(const PcieLink& link) { return static_cast<double>(pcie_rate(link).count) / 1e9; }
}  // namespace

TEST_CASE("pcie: the rate is lanes x transfers x encoding x data link layer x packet efficiency") {
  // 16 x 8 GT/s x 128/130 x 57.88/62.96 x 256/280 = 105.93 Gb/s; generation 1: 16 x 2.5 x 0.8 x 57.88/62.96 x 128/152 = 24.77
  CHECK(gigabits({.generation = 3, .width = 16, .max_payload = 256}) == doctest::Approx(16 * 8.0 * 128 / 130 * 57.88 / 62.96 * 256 / 280));
  CHECK(gigabits({.generation = 1, .width = 16, .max_payload = 128}) == doctest::Approx(16 * 2.5 * 0.8 * 57.88 / 62.96 * 128 / 152));
  CHECK(gigabits({.generation = 6, .width = 16, .max_payload = 256}) == doctest::Approx(16 * 64.0 * 236 / 256 * 256 / 272));
}

TEST_CASE("pcie: more lanes and longer packets never carry less, and the next generation carries about twice as much") {
  for (int generation = 1; generation <= 5; ++generation) {
    CAPTURE(generation);
    CHECK(gigabits({.generation = generation, .width = 16}) == doctest::Approx(2 * gigabits({.generation = generation, .width = 8})));
    CHECK(gigabits({.generation = generation, .max_payload = 512}) > gigabits({.generation = generation, .max_payload = 256}));
    CHECK(gigabits({.generation = generation + 1}) > 1.9 * gigabits({.generation = generation}));
  }
}

TEST_CASE("pcie: known machines are met within a tenth") {
  // A100, PCIe 4 x16, peer-to-peer writes below one switch: 24.2 GB/s (p2p_a100_8gpu_pcie_dualsocket).
  CHECK(gigabits({.generation = 4}) / 8 == doctest::Approx(24.2).epsilon(0.1));
  // EFLOPS: one host-to-GPU copy passes 90 Gb/s on generation 3.
  CHECK(gigabits({.generation = 3}) > 90);
}

TEST_CASE("pcie: the generation is known by the transfers of a lane") {
  CHECK(pcie_generation(2.5) == 1);
  CHECK(pcie_generation(8) == 3);
  CHECK(pcie_generation(32.0) == 5);
  CHECK(pcie_generation(7) == 0);
}

TEST_CASE("pcie: what no slot has is refused") {
  CHECK(problems(PcieLink{}).empty());
  CHECK(problems(PcieLink{.generation = 7}) == std::vector<Problem>{{"/generation", "must be between 1 and 6, got 7"}});
  CHECK(problems(PcieLink{.width = 3}) == std::vector<Problem>{{"/width", "must be 1, 2, 4, 8, 12 or 16 lanes, got 3"}});
  CHECK(problems(PcieLink{.max_payload = 100}) ==
        std::vector<Problem>{{"/max_payload", "must be a power of two from 64 to 4096 bytes, got 100"}});
}
