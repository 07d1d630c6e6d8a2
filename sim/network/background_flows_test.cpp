#include "sim/network/background_flows.hpp"

#include "collectives/registry/registry.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/flow/flow_network.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

const FabricSpec one_server = Star{.nodes = 1, .host_link = {100_Gbps, 500_ns}};

NetworkRun run(const Server& server, const std::string& algorithm, std::int64_t bytes, const std::vector<HostCopies>& copies,
               const FabricSpec& spec = one_server) {
  const auto fabric = build(spec, server);
  const Schedule schedule = build(Request{
      .collective = bytes == 0 ? Collective::barrier : Collective::allreduce, .algorithm = algorithm, .ranks = fabric->endpoints()});
  std::vector<int> placement;
  for (int e = 0; e < fabric->endpoints(); ++e) placement.push_back(e);
  Routes routes(*fabric, {});
  const HardwareProfile ideal;
  return run_flow_bare({schedule, placement, bytes / 4, 4, ideal, {}, copies}, *fabric, routes);
}

double gigabits(const CopyResult& r) { return 8.0 * r.GBps(); }

}  // namespace

TEST_CASE("copies: one has the root port to itself, two below one switch get half each") {
  const double alone = static_cast<double>(pcie_rate({.generation = 3}).count) / 1e9;
  // 440 ns of latency in 64 MiB at 105.9 Gb/s are 0.01 %
  const Server server = server_preset("congestionless");
  const auto one = run(server, "dissemination", 0, {{.gpus = {0}, .bytes = 64_MiB}});
  REQUIRE(one.copies.size() == 1);
  CHECK(one.copies[0].count == 1);
  CHECK(gigabits(one.copies[0]) == doctest::Approx(alone).epsilon(1e-3));
  for (const auto& gpus : {std::vector{0, 1}, std::vector{2, 3}, std::vector<int>{}}) {
    const auto shared = run(server, "dissemination", 0, {{.gpus = gpus, .bytes = 64_MiB}});
    CHECK(shared.copies.size() == (gpus.empty() ? 4 : 2));
    for (const CopyResult& copy : shared.copies) CHECK(gigabits(copy) == doctest::Approx(alone / 2).epsilon(1e-3));
  }
  for (const CopyResult& copy : run(server, "dissemination", 0, {{.gpus = {0, 2}, .bytes = 64_MiB}}).copies)
    CHECK(gigabits(copy) == doctest::Approx(alone).epsilon(1e-3));
}

TEST_CASE("copies: the two directions of a GPU do not disturb each other") {
  const auto both = run(server_preset("two_nic"), "dissemination", 0,
                        {{.gpus = {0}, .bytes = 64_MiB}, {.gpus = {0}, .direction = Fabric::Copy::to_host, .bytes = 64_MiB}});
  for (const CopyResult& copy : both.copies)
    CHECK(gigabits(copy) == doctest::Approx(static_cast<double>(pcie_rate({.generation = 3}).count) / 1e9).epsilon(1e-3));
  CHECK(both.copies[1].to_host);
}

TEST_CASE("copies: they repeat every period as long as the collective runs, and slow it where they share a link") {
  Server server = server_preset("two_nic");  // pcie_upi: the ring crosses the root ports
  const std::int64_t bytes = (64_MiB).count;
  const auto quiet = run(server, "ring", bytes, {});
  const auto busy = run(server, "ring", bytes, {{.bytes = 1_MiB}});
  CHECK(busy.finish > quiet.finish);
  CHECK(busy.copies[0].count > 10);
  const auto seldom = run(server, "ring", bytes, {{.bytes = 1_MiB, .start = 1_us, .period = 5_ms}});
  CHECK(seldom.copies[0].count == (quiet.finish.ps - 1'000'000) / (5_ms).ps + 1);
  CHECK(seldom.finish < busy.finish);
  // A NIC for each GPU, and messages that stay below the switches: root ports are for copies alone.
  server = server_preset("congestionless");
  CHECK(run(server, "ring", bytes, {{.bytes = 1_MiB, .period = 1_ms}}).finish >= run(server, "ring", bytes, {}).finish);
}

TEST_CASE("copies: a congested flow over two sockets gets the share of its weight") {
  // gpu2 -> gpu0 comes down socket0's root port; so does the copy to gpu1. Weights: 300/440 of the copy, 300/1200 x 0.5 of the message.
  const Server server = server_preset("two_nic");
  const auto fabric = build(one_server, server);
  Schedule s{.name = "one message", .collective = Collective::broadcast, .ranks = 4, .root = 2};
  s.add_step().copy({.from = 2, .to = 0, .chunk = 0});
  const std::vector<int> placement{0, 1, 2, 3};
  Routes routes(*fabric, {});
  const HardwareProfile ideal;
  const std::vector<HostCopies> copies{{.gpus = {1}, .bytes = 1_GiB}};
  const auto run = run_flow_bare({s, placement, (1_MiB).count / 4, 4, ideal, {}, copies}, *fabric, routes);
  const double rate = static_cast<double>(pcie_rate({.generation = 3}).count), copy = 300.0 / 440, message = 300.0 / 1200 * 0.5;
  const double expected_s = 8.0 * (1 << 20) / (rate * message / (copy + message)) + 1.2e-6;
  CHECK(run.finish.seconds() == doctest::Approx(expected_s).epsilon(1e-3));
}
