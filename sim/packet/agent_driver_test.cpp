#include "sim/packet/agent_driver.hpp"

#include "collectives/algorithms/ring.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"
#include "sim/executor/program_driver.hpp"
#include "sim/flow/goodput.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using weft::test::link_100g;

namespace {

const HardwareProfile ideal;

// Sends `count` datagrams of 4 KiB at once, from address 0 to address 1; or waits for so many.
struct Sender final : Agent {
  int count;
  explicit Sender(int n) : count(n) {}
  void start(Wire& w) override {
    for (int i = 0; i < count; ++i) w.send({.from = 0, .to = 1, .wire_bytes = 4096});
  }
  void on_datagram(Wire&, Datagram) override {}
  void on_timer(Wire&, std::uint64_t) override {}
};
struct Receiver final : Agent {
  int missing;
  explicit Receiver(int n) : missing(n) {}
  void on_datagram(Wire&, Datagram) override { --missing; }
  void on_timer(Wire&, std::uint64_t) override {}
  bool finished() const override { return missing == 0; }
  std::int64_t progress() const override { return -missing; }
  std::string waiting() const override { return fmt::format("{} datagrams are missing", missing); }
};

// A ring of two ranks and a sender beside it, all from one leaf to another over one cable.
SimTime ring_beside(int sent, int expected) {
  const auto fabric = build(FatTree{.leaves = 2, .nodes_per_leaf = 2, .spines = 1, .host_link = link_100g, .fabric_link = link_100g});
  Routes routes(*fabric, {});
  SharedNetwork<PacketNetwork> network(*fabric, goodput_of_links(*fabric, ideal), PacketSettings{});
  Sender sender(sent);
  Receiver receiver(expected);
  DatagramNetwork datagrams(network.model(), routes);
  datagrams.attach(0, 1, sender);
  datagrams.attach(1, 3, receiver);
  AgentDriver agents(datagrams, network);
  const Schedule ring = ring_allreduce(2);
  const std::vector<int> placement{0, 2};
  const Program program = program_of(ring, (16_MiB).count / 4, 4);
  ProgramDriver driver({.program = program, .placement = placement, .hardware = ideal}, routes, network);
  run_to_end(network, Around::nothing);
  return driver.result().finish;
}

}  // namespace

TEST_CASE("agents and a schedule share one network: the job is later by what the datagrams take of its cable") {
  const double alone = ring_beside(0, 0).seconds();
  // 1024 x 4 KiB, the half of what the job sends in a step: it waits for as much, and no longer
  const double more = 1024 * 4096 * 8 / 100e9;
  CHECK(ring_beside(1024, 1024).seconds() == doctest::Approx(alone + more).epsilon(0.02));
}

TEST_CASE("agents that wait for ever are named though the job beside them ends") {
  CHECK_THROWS_WITH_AS(ring_beside(3, 4), doctest::Contains("leaf1/node1: 1 datagrams are missing"), RunError);
}
