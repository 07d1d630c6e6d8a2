// Jobs that share programmable switches: their shares, their aggregators, and what they leave to the others.
#include "sim/in_network/testing.hpp"

#include <iterator>
#include <sstream>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("in-network: jobs that share a switch get equal shares, and ATP's dynamic one beats a static split of scarce memory") {
  for (const NetworkKind network : {NetworkKind::packet, NetworkKind::flow}) {
    CAPTURE(name_of(network));
    Scenario s = star(40, 4, network);
    s.jobs.assign(7, {});
    for (std::size_t i = 0; i < s.jobs.size(); ++i) s.jobs[i].name = std::string(1, static_cast<char>('a' + i)), s.jobs[i].ranks = 4;
    AlgorithmChoice choice = atp(1024);
    const auto times = [&](const AlgorithmChoice& algorithm) {
      const std::string text = in_child([&] {
        std::string out;
        for (const JobResult& job : simulate(s, algorithm, 1_MiB).jobs) out += fmt::format("{} {} ", job.time.ps, job.alone.ps);
        return out;
      });
      std::istringstream in(text);
      return std::vector<double>(std::istream_iterator<double>(in), {});
    };
    const std::vector<double> shared = times(choice);
    REQUIRE(shared.size() == 16);
    for (std::size_t i = 0; i < shared.size(); i += 2) {
      CHECK(shared[i] == doctest::Approx(shared[0]).epsilon(0.05));
      CHECK(shared[i] > shared[i + 1]);
    }
    AlgorithmChoice split{"switchml"};
    split.switchml.slots = 256;
    CHECK(times(split).front() > shared.front());
  }
}

TEST_CASE("in-network: a job whose worker dies leaves its aggregators to the others, whose times are said") {
  Scenario s = star(10, 4, NetworkKind::packet);
  s.fabric.programmable.aggregators = 512;
  s.packet.emplace().faults.failures = {{.link = "node0->switch", .at = 100_us}};
  s.jobs = {JobChoice{.name = "b", .ranks = 4, .iterations = 20, .compute = 10_us}};
  std::string said;
  try {
    us(s, {"atp"}, 4_MB);
  } catch (const RunError& error) {
    said = error.what();
  }
  CAPTURE(said);
  CHECK(said.find("job workload has ended 0 of 1 iterations") != said.npos);
  const auto at = said.find("job b has ended 20 of 20 iterations, of ");
  REQUIRE(at != said.npos);
  const double last = std::stod(said.substr(said.find("the last of ", at) + 12));
  CHECK(last == doctest::Approx(410).epsilon(0.03));
}

TEST_CASE("in-network: aggregators that are split let no job touch the other") {
  for (const NetworkKind network : {NetworkKind::packet, NetworkKind::flow}) {
    CAPTURE(name_of(network));
    Scenario s = star(10, 4, network);
    AlgorithmChoice choice = atp(200);
    choice.atp.split = true;
    const double alone = us(s, choice, 1_MiB);
    s.jobs = {JobChoice{.name = "b", .ranks = 4}};
    CHECK(us(s, choice, 1_MiB) == doctest::Approx(alone).epsilon(1e-3));
    choice.atp.split = false;
    if (network == NetworkKind::packet) CHECK(us(s, choice, 1_MiB) > 1.1 * alone);
  }
}

TEST_CASE("in-network: jobs of ATP below different switches do not collide, however few aggregators each switch has") {
  for (const NetworkKind network : {NetworkKind::packet, NetworkKind::flow}) {
    CAPTURE(name_of(network));
    Scenario s = star(0, 3, network);
    const LinkSpec link{100_Gbps, 1_us};
    s.fabric.spec.emplace<FatTree>(FatTree{.leaves = 4, .nodes_per_leaf = 4, .spines = 2, .host_link = link, .fabric_link = link});
    AlgorithmChoice choice = atp(128), others = atp(128);
    choice.atp.server_nodes = {3};
    others.atp.server_nodes = {7};
    s.placement = {.policy = PlacementPolicy::list, .nodes = {0, 1, 2}};
    const double alone = us(s, choice, 1_MiB);
    s.jobs = {JobChoice{.name = "b", .algorithm = others, .ranks = 3, .placement = {.policy = PlacementPolicy::list, .nodes = {4, 5, 6}}}};
    CHECK(us(s, choice, 1_MiB) == doctest::Approx(alone).epsilon(1e-6));
  }
}

TEST_CASE("in-network: a job of SwitchML without slots is named, on both networks") {
  AlgorithmChoice one{"switchml"};
  one.switchml.slots = 1;
  Scenario s = star(8, 4, NetworkKind::flow);
  s.jobs = {JobChoice{.name = "b", .ranks = 4}};
  CHECK_THROWS_WITH_AS(us(s, one, 1_MB), "slots of switch: 1 for 2 jobs, so job 0 has none and waits for ever", RunError);
  s.network = NetworkKind::packet;
  CHECK_THROWS_AS(us(s, one, 1_MB), RunError);
}

TEST_CASE("in-network: a ring beside it takes its part of a cable, and none where they share no cable") {
  const LinkSpec link{100_Gbps, 500_ns};
  for (const NetworkKind network : {NetworkKind::packet, NetworkKind::flow}) {
    CAPTURE(name_of(network));
    Scenario s;
    s.network = network;
    s.fabric.spec.emplace<FatTree>(FatTree{.leaves = 2, .nodes_per_leaf = 4, .spines = 1, .host_link = link, .fabric_link = link});
    s.workload.ranks = 2;
    AlgorithmChoice choice = atp(0);
    choice.atp.server_nodes = {2};
    JobChoice ring{.name = "ring", .algorithm = AlgorithmChoice{"ring"}, .ranks = 2};
    const auto with_ring_on = [&](std::vector<int> nodes) {
      ring.placement = {.policy = PlacementPolicy::list, .nodes = std::move(nodes)};
      Scenario both = s;
      both.jobs = {ring};
      return us(both, choice, 1_MB);
    };
    s.placement = {.policy = PlacementPolicy::list, .nodes = {0, 1}};
    const double alone = us(s, choice, 1_MB);
    CHECK(with_ring_on({4, 5}) == doctest::Approx(alone).epsilon(1e-3));
    // Across the leaves ATP and the ring go over the same cable.
    s.placement.nodes = {4, 5};
    CHECK(with_ring_on({0, 6}) > 1.2 * us(s, choice, 1_MB));
  }
}

TEST_CASE("in-network: iterations of two jobs that compute in turn") {
  // While one computes, which takes longer than the other's all-reduce, the other has the switch to itself.
  for (const NetworkKind network : {NetworkKind::packet, NetworkKind::flow}) {
    CAPTURE(name_of(network));
    Scenario s = star(10, 4, network);
    s.workload.iterations = 3;
    s.workload.compute = 300_us;
    const double alone = us(s, atp(90), 1_MB);
    s.jobs = {JobChoice{.name = "b", .ranks = 4, .start = 150_us, .iterations = 3, .compute = 300_us}};
    CHECK(us(s, atp(90), 1_MB) == doctest::Approx(alone).epsilon(1e-3));
  }
}
