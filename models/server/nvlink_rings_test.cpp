#include "models/server/nvlink_rings.hpp"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

namespace weft {
namespace {

// The hybrid cube mesh in the order of its GPUs' numbers.
Server mesh() {
  Server s = server_preset("v100_nvlink");
  std::ranges::sort(s.gpus);
  s.policy = PeerPolicy::pcie_upi;
  return s;
}

// All GPUs joined to all.
Server all_to_all(int gpus) {
  Server s{.preset = "", .sockets = {"socket"}};
  for (int a = 0; a < gpus; ++a) {
    s.gpus.push_back(fmt::format("gpu{}", a));
    for (int b = 0; b < a; ++b)
      s.links.push_back({.from = fmt::format("gpu{}", b), .to = s.gpus.back(), .bandwidth = 50_GBps, .latency = 600_ns});
  }
  return s;
}

}  // namespace

TEST_CASE("nvlink rings: NVSwitches add from the third generation on") {
  CHECK(switch_adds(server_preset("dgx_h100")));
  CHECK_FALSE(switch_adds(server_preset("dgx_a100")));
  CHECK_FALSE(switch_adds(server_preset("v100_nvlink")));
}

TEST_CASE("nvlink rings: an NVSwitch or links of all pairs join all GPUs, a cube mesh and PCIe do not") {
  CHECK(nvlinks_join_all(server_preset("dgx_a100")));
  CHECK(nvlinks_join_all(all_to_all(4)));
  CHECK_FALSE(nvlinks_join_all(server_preset("v100_nvlink")));
  CHECK_FALSE(nvlinks_join_all(server_preset("congestionless")));
}

TEST_CASE("nvlink rings: the hybrid cube mesh has as many as NCCL finds on it") {
  // Measured plateaus of 22.6, 45, 85, 37, 46, 87 and 135 GB/s for 2 to 8 V100 (vtrain_nvlink_allreduce) are 1, 2, 4, 2, 2, 4 and 6
  // rings over lanes of 22.5 GB/s. Of five GPUs the fifth has two lanes to GPU 0 alone: rings exist through GPU 0 only.
  Server s = mesh();
  const auto rings = [&](int gpus) { return nvlink_rings(s, gpus).orders.size(); };
  CHECK(rings(1) == 0);
  CHECK(rings(2) == 1);
  CHECK(rings(3) == 2);
  CHECK(rings(4) == 4);
  CHECK(rings(5) == 0);
  CHECK(rings(6) == 2);
  CHECK(rings(7) == 4);
  CHECK(rings(8) == 6);
  CHECK(rings(9) == 0);
  s.policy = PeerPolicy::nvlink_relay;
  CHECK(rings(5) == 2);
  CHECK(rings(8) == 6);
}

TEST_CASE("nvlink rings: no lane is used twice in a direction, and each ring passes all GPUs") {
  for (const Server& s : {mesh(), all_to_all(8)})
    for (int gpus = 2; gpus <= 8; ++gpus) {
      CAPTURE(gpus);
      const NvlinkRings found = nvlink_rings(s, gpus);
      std::map<std::pair<std::string, std::string>, std::int64_t> used;
      for (const std::vector<int>& order : found.orders) {
        std::vector<int> sorted = order;
        std::ranges::sort(sorted);
        for (int i = 0; i < gpus; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
        for (std::size_t i = 0; i < order.size(); ++i)
          used[{s.gpus[static_cast<std::size_t>(order[i])], s.gpus[static_cast<std::size_t>(order[(i + 1) % order.size()])]}] +=
              found.lane.count;
      }
      for (const auto& [gpu_pair, rate] : used) {
        const auto& pair = gpu_pair;  // clang 14 captures no structured binding
        const auto link = std::ranges::find_if(s.links, [&](const ServerLink& l) {
          return (l.from == pair.first && l.to == pair.second) || (l.from == pair.second && l.to == pair.first);
        });
        REQUIRE(link != s.links.end());
        CHECK(rate <= link->spec().bandwidth.count);
      }
    }
  // Seven links a GPU make three rings there and back, which leave one link of each idle, and seven of half links; three links one, and
  // three.
  CHECK(nvlink_rings(all_to_all(8), 8).orders.size() == 14);
  CHECK(nvlink_rings(all_to_all(4), 4).orders.size() == 6);
}

TEST_CASE("nvlink rings: none where an NVSwitch joins the GPUs, or nothing does") {
  CHECK(nvlink_rings(server_preset("dgx_a100"), 8).orders.empty());
  CHECK(nvlink_rings(server_preset("two_nic"), 4).orders.empty());
}

TEST_CASE("nvlink rings: a relay is the GPU with the fastest links to both") {
  const std::vector<int> relays = nvlink_relays(mesh());
  CHECK(relays[3 * 8 + 4] == 0);   // two lanes to each; over GPU 7 one to GPU 3
  CHECK(relays[0 * 8 + 3] == -1);  // joined themselves
}

TEST_CASE("nvlink rings: as many channels between servers as carry most over the NICs and the lanes together") {
  const auto channels = [](const Server& s, int gpus, int nics, BitsPerSecond nic) {
    return nvlink_channels(nvlink_rings(s, gpus), nics, nic);
  };
  // 14 rings of half lanes, 25 GB/s each: 8 channels carry 8 x 25, 14 carry 14 x min(25, 50 / 2).
  CHECK(channels(all_to_all(8), 8, 8, 400_Gbps) == 14);
  // Slow NICs are all that counts: 8 x 12.5 GB/s, as with any more.
  CHECK(channels(all_to_all(8), 8, 8, 100_Gbps) == 8);
  CHECK(channels(mesh(), 8, 4, 100_Gbps) == 4);
  CHECK(channels(server_preset("dgx_a100"), 8, 8, 200_Gbps) == 8);  // no rings of links: an NVSwitch
}

}  // namespace weft
