#include "sim/network/shared_network.hpp"

#include "collectives/algorithms/ring.hpp"
#include "collectives/registry/registry.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"
#include "sim/executor/program_driver.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/network/background_flows.hpp"
#include "sim/packet/packet_network.hpp"

#include <cmath>
#include <deque>

#include <doctest/doctest.h>

using namespace weft;
using weft::test::link_100g;

namespace {

const HardwareProfile no_overheads;

template <class Network>
SharedNetwork<Network> shared(const Fabric& fabric) {
  if constexpr (std::is_same_v<Network, PacketNetwork>)
    return SharedNetwork<Network>(fabric, goodput_of_links(fabric, no_overheads), PacketSettings{});
  else
    return SharedNetwork<Network>(goodput_of_links(fabric, no_overheads));
}

PlacedProgram job_of(const Schedule& schedule, const std::vector<int>& placement, Bytes message, std::string name = {},
                     Repetition repetition = {}) {
  static std::deque<Program> programs;  // outlive the drivers
  programs.push_back(program_of(schedule, message.count / 4, 4));
  return {.program = programs.back(), .placement = placement, .hardware = no_overheads, .repetition = repetition, .name = std::move(name)};
}

// Two leaves and one spine: what leaves a leaf shares one cable.
std::unique_ptr<Fabric> one_cable() {
  return build(FatTree{.leaves = 2, .nodes_per_leaf = 4, .spines = 1, .host_link = link_100g, .fabric_link = link_100g});
}

}  // namespace

TEST_CASE_TEMPLATE("shared network: two rings over one cable take twice the time of one, and the same", Network, FluidNetwork,
                   PacketNetwork) {
  const auto fabric = one_cable();
  const Schedule ring = ring_allreduce(2);
  const std::vector<int> first{0, 4}, second{1, 5};
  SimTime alone;
  {
    Routes routes(*fabric, {});
    auto network = shared<Network>(*fabric);
    ProgramDriver driver(job_of(ring, first, 16_MiB), routes, network);
    run_to_end(network, Around::nothing);
    alone = driver.result().finish;
  }
  Routes routes(*fabric, {});
  auto network = shared<Network>(*fabric);
  ProgramDriver a(job_of(ring, first, 16_MiB, "a"), routes, network);
  ProgramDriver b(job_of(ring, second, 16_MiB, "b"), routes, network);
  run_to_end(network, Around::nothing);
  const double slowdown = a.result().finish.seconds() / alone.seconds();
  CHECK(slowdown == doctest::Approx(2).epsilon(0.01));
  CHECK(b.result().finish.seconds() == doctest::Approx(a.result().finish.seconds()).epsilon(0.001));
}

TEST_CASE_TEMPLATE("shared network: jobs that share no link do not notice each other", Network, FluidNetwork, PacketNetwork) {
  const auto fabric = one_cable();
  const Schedule ring = ring_allreduce(4);
  const std::vector<int> left{0, 1, 2, 3}, right{7, 6, 5, 4};
  SimTime alone;
  for (const bool both : {false, true}) {
    Routes routes(*fabric, {});
    auto network = shared<Network>(*fabric);
    ProgramDriver a(job_of(ring, left, 1_MiB), routes, network);
    std::optional<ProgramDriver<Network>> b;
    if (both) b.emplace(job_of(ring, right, 3_MiB), routes, network);
    run_to_end(network, Around::nothing);
    if (!both) alone = a.result().finish;
    CHECK(a.result().finish == alone);
  }
}

TEST_CASE_TEMPLATE("shared network: iterations follow each other after the pause", Network, FluidNetwork, PacketNetwork) {
  const auto fabric = one_cable();
  const Schedule ring = ring_allreduce(4);
  const std::vector<int> placement{0, 1, 2, 3};
  Routes routes(*fabric, {});
  auto network = shared<Network>(*fabric);
  ProgramDriver driver(job_of(ring, placement, 1_MiB, "", {.iterations = 3, .compute = 1_ms}), routes, network);
  run_to_end(network, Around::nothing);
  const auto& iterations = driver.iterations();
  REQUIRE(iterations.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(iterations[i].time() == iterations[0].time());
    if (i > 0) CHECK(iterations[i].begin == iterations[i - 1].end + 1_ms);
  }
  const NetworkRun run = driver.result();
  CHECK(run.messages == 3 * 6 * 4);
  CHECK(run.finish == iterations[2].end);
}

TEST_CASE("shared network: who waits for whom is said of each job that does not finish") {
  const auto fabric = one_cable();
  const Schedule ring = ring_allreduce(2);
  const std::vector<int> placement{0, 4};
  class Never final : public Driver {
   public:
    explicit Never(SharedNetwork<FluidNetwork>& network) { network.join(*this); }
    void begin() override {}
    void ended(std::uint32_t) override {}
    State state() const override { return State::running; }
    std::string waiting() const override { return "never waits for a thing that does not come"; }
  };
  Routes routes(*fabric, {});
  auto network = shared<FluidNetwork>(*fabric);
  ProgramDriver good(job_of(ring, placement, 1_MiB), routes, network);
  Never bad(network);
  CHECK_THROWS_WITH_AS(run_to_end(network, Around::nothing), "never waits for a thing that does not come", RunError);
  CHECK(good.state() == Driver::State::finished);
}
