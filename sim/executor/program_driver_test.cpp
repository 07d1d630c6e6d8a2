#include "sim/executor/program_driver.hpp"

#include "collectives/registry/registry.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/packet/packet_network.hpp"
#include "sim/reference/s4u_network.hpp"

#include <cstring>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

using namespace weft;
using weft::test::link_100g;

namespace {

std::shared_ptr<const Schedule> ring(int n) { return std::make_shared<Schedule>(build(Request{.ranks = n})); }

Call call(std::shared_ptr<const Schedule> schedule, Bytes size, std::vector<Rank> members = {}) {
  return {.schedule = std::move(schedule), .members = std::move(members), .elements = size.count / 4, .element_bytes = 4};
}

struct Ran {
  SimTime finish;
  std::vector<OperationRecord> operations;
  std::int64_t messages = 0;
};

struct Alone {
  FabricSpec spec = Star{.nodes = 8, .host_link = link_100g};
  HardwareProfile hardware = {};
  Repetition repetition = {};
  std::vector<SimTime> start = {};

  std::vector<int> placement(int ranks) const {
    std::vector<int> out(static_cast<std::size_t>(ranks));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  Ran flow(const Program& program) const {
    const auto fabric = build(spec);
    Routes routes(*fabric, {});
    SharedNetwork<FluidNetwork> network(goodput_of_links(*fabric, hardware));
    return run(program, routes, network);
  }
  Ran packet(const Program& program) const {
    const auto fabric = build(spec);
    Routes routes(*fabric, {});
    SharedNetwork<PacketNetwork> network(*fabric, goodput_of_links(*fabric, hardware), PacketSettings{});
    return run(program, routes, network);
  }
  double simgrid_us(const Program& program) const {
    const std::string text = in_child([&] {
      const auto fabric = build(spec);
      Routes routes(*fabric, {});
      const std::vector<int> seats = placement(program.ranks);
      return std::to_string(
          run_s4u(PlacedProgram{.program = program, .placement = seats, .hardware = hardware, .start = start}, routes).finish.ps);
    });
    return std::stod(text) / 1e6;
  }

 private:
  template <class Network>
  Ran run(const Program& program, Routes& routes, SharedNetwork<Network>& network) const {
    CHECK(problems(program) == std::vector<std::string>{});
    Ran out;
    const std::vector<int> seats = placement(program.ranks);
    std::vector<std::int64_t> nic_free_at(static_cast<std::size_t>(routes.fabric().links()));
    ProgramDriver driver({.program = program,
                          .placement = seats,
                          .hardware = hardware,
                          .start = start,
                          .repetition = repetition,
                          .operations = &out.operations},
                         routes, network, nic_free_at);
    run_to_end(network, Around::nothing);
    const NetworkRun ran = driver.result();
    out.finish = ran.finish;
    out.messages = ran.messages;
    return out;
  }
};

}  // namespace

TEST_CASE("program: compute, then an all-reduce: their times add up to the picosecond") {
  // Ring of 4 on a star: 2 x 3 steps of 1 us latency and 1 MB / 100 Gb/s = 80 us.
  Program p{.ranks = 4};
  const int g = p.add_call(call(ring(4), 4_MB));
  p.operations = {{{.id = "backward", .duration = 3_ms}, {.id = "gradients", .call = g, .stream = 1, .after = {0}}}};
  const Ran ran = Alone{}.flow(p);
  CHECK(ran.finish == 3_ms + 6 * (1_us + 80_us));
  CHECK(ran.operations.size() == 8);
  CHECK(ran.messages == 6 * 4);
}

TEST_CASE("program: operations of one stream follow one another, those of two streams do not wait") {
  Program p{.ranks = 2};
  p.operations = {{{.id = "a", .duration = 3_us}, {.id = "b", .duration = 4_us}}};
  CHECK(Alone{}.flow(p).finish == 7_us);
  p.operations.front()[1].stream = 1;
  CHECK(Alone{}.flow(p).finish == 4_us);
  p.operations.front()[1].after = {0};
  CHECK(Alone{}.flow(p).finish == 7_us);
}

TEST_CASE("program: two all-reduces of the same ranks on two streams share every link, beside compute") {
  // Both rings send over the same cables at the same time: each step's chunk of 1 MB takes 160 us. Compute overlaps.
  for (const SimTime compute : {0_us, 500_us, 5_ms}) {
    CAPTURE(compute.ps);
    Program p{.ranks = 4};
    const int a = p.add_call(call(ring(4), 4_MB)), b = p.add_call(call(ring(4), 4_MB));
    p.operations = {{{.id = "a", .call = a, .stream = 1}, {.id = "b", .call = b, .stream = 2}, {.id = "next", .duration = compute}}};
    CHECK(Alone{}.flow(p).finish == std::max(compute, 6 * (1_us + 160_us)));
    CHECK(Alone{}.packet(p).finish.seconds() == doctest::Approx(std::max(compute, 6 * (1_us + 160_us)).seconds()).epsilon(0.05));
  }
}

TEST_CASE("program: a call waits for its last member, message by message, and members of one group do not wait for others") {
  Program p{.ranks = 4};
  const int left = p.add_call(call(ring(2), 2_MB, {0, 1})), right = p.add_call(call(ring(2), 2_MB, {3, 2}));
  p.operations = {{{.id = "c", .duration = 1_ms}, {.id = "g", .call = left, .after = {0}}},
                  {{.id = "g", .call = left}},
                  {{.id = "g", .call = right}},
                  {{.id = "g", .call = right}}};
  const Ran ran = Alone{}.flow(p);
  CHECK(ran.finish == 1_ms + 2 * (1_us + 80_us));
  for (const OperationRecord& o : ran.operations)
    if (o.rank >= 2) CHECK(o.end == 2 * (1_us + 80_us));
}

TEST_CASE("program: where sends queue up in the rank or its NIC, two streams pay their overheads one after the other") {
  // Messages without bytes in two steps: each costs 1 us of latency and 10 us at the sender.
  Program p{.ranks = 2};
  const int a = p.add_call(call(ring(2), 0_B)), b = p.add_call(call(ring(2), 0_B));
  p.operations = {{{.id = "a", .call = a, .stream = 1}, {.id = "b", .call = b, .stream = 2}}};
  Alone q{.hardware = {.send_overhead = 10_us}};
  CHECK(q.flow(p).finish == 2 * 11_us);
  for (const SendQueue queue : {SendQueue::rank, SendQueue::nic}) {
    q.hardware.send_queue = queue;
    // a is posted at 10, b at 20; a's second step at 11 + 10 waits for b's first: 30; b's at 40; it ends at 41.
    CHECK(q.flow(p).finish == 41_us);
  }
}

TEST_CASE("program: ranks of one server share its NIC's queue, and what stays inside does not use it") {
  // Two pairs of ranks across two servers with one NIC each against two pairs on sub-nodes.
  HardwareProfile hardware{.send_overhead = 10_us, .send_queue = SendQueue::nic};
  const auto fabric = build(Star{.nodes = 2, .host_link = link_100g}, server_preset("two_nic"));
  REQUIRE(fabric->endpoints() >= 4);
  Program p{.ranks = fabric->endpoints()};
  std::vector<int> seats(static_cast<std::size_t>(p.ranks));
  std::iota(seats.begin(), seats.end(), 0);
  const Rank half = p.ranks / 2;
  for (Rank r = 0; r < half; ++r) p.add_call(call(ring(2), 0_B, {r, half + r}));
  p.operations.resize(static_cast<std::size_t>(p.ranks));
  for (Rank r = 0; r < p.ranks; ++r) p.operations[static_cast<std::size_t>(r)] = {{.id = "g", .call = r % half}};
  std::vector<SimTime> finish;
  for (const SendQueue queue : {SendQueue::rank, SendQueue::nic}) {
    hardware.send_queue = queue;
    Routes routes(*fabric, {});
    SharedNetwork<FluidNetwork> network(goodput_of_links(*fabric, hardware));
    std::vector<std::int64_t> nic_free_at(static_cast<std::size_t>(fabric->links()));
    ProgramDriver driver({.program = p, .placement = seats, .hardware = hardware}, routes, network, nic_free_at);
    run_to_end(network, Around::nothing);
    finish.push_back(driver.result().finish);
  }
  CHECK(finish[1].seconds() > 1.4 * finish[0].seconds());
}

TEST_CASE("program: the connections of a stream are set up once") {
  HardwareProfile hardware{.first_use = 50_us};
  Program p{.ranks = 2};
  for (int i = 0; i < 3; ++i) p.add_call(call(ring(2), 0_B));
  p.operations = {{{.id = "a", .call = 0}, {.id = "b", .call = 1}, {.id = "c", .call = 2, .stream = 1, .after = {1}}}};
  CHECK(Alone{.hardware = hardware}.flow(p).finish == 6 * 1_us + 2 * 50_us);
  CHECK(Alone{.hardware = hardware, .repetition = {.iterations = 2}}.flow(p).finish == 12 * 1_us + 2 * 50_us);
}

TEST_CASE("program: random programs take on flow what they take on SimGrid's own network") {
  std::mt19937_64 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    const int ranks = 2 + below(6);
    Program p{.ranks = ranks};
    std::vector<std::vector<Operation>> operations(static_cast<std::size_t>(ranks));
    const int count = 2 + below(5);
    for (int i = 0; i < count; ++i) {
      std::vector<Rank> members;
      const int stream = below(3);
      if (below(3) > 0) {
        std::vector<Rank> all(static_cast<std::size_t>(ranks));
        std::iota(all.begin(), all.end(), 0);
        for (std::size_t k = all.size(); k > 1; --k) std::swap(all[k - 1], all[static_cast<std::size_t>(below(static_cast<int>(k)))]);
        members.assign(all.begin(), all.begin() + (below(2) ? ranks : 2));
        const char* names[] = {"ring", "direct", "recursive_doubling"};
        const Request request{.algorithm = names[below(3)], .ranks = static_cast<int>(members.size())};
        p.add_call(call(std::make_shared<Schedule>(build(request)), Bytes{4 * 1024 * (1 + below(400))}, members));
      }
      for (Rank r = 0; r < ranks; ++r) {
        auto& own = operations[static_cast<std::size_t>(r)];
        Operation o{.id = std::to_string(i), .stream = stream};
        if (!members.empty()) {
          if (std::ranges::find(members, r) == members.end()) continue;
          o.call = static_cast<int>(p.calls.size()) - 1;
        } else {
          o.duration = SimTime{static_cast<std::int64_t>(1 + below(100)) * 1'000'000 * (1 + r % 2)};
        }
        if (!own.empty() && below(2)) o.after = {static_cast<int>(own.size()) - 1};
        own.push_back(o);
      }
    }
    p.operations = operations;
    Alone q;
    if (below(2))
      q.hardware = {.send_overhead = 2_us, .receive_overhead = 1_us, .first_use = 7_us, .reduce_launch = 3_us, .reduce_rate = 200_Gbps};
    if (below(2)) q.spec = FatTree{.leaves = 2, .nodes_per_leaf = 4, .spines = 1, .host_link = link_100g, .fabric_link = link_100g};
    CHECK(q.flow(p).finish.microseconds() == doctest::Approx(q.simgrid_us(p)).epsilon(1e-4));
  }
}

TEST_CASE("program: what cannot be run is said") {
  Program p{.ranks = 2};
  p.add_call(call(ring(3), 4_MB));
  p.operations = {{{.id = "a", .after = {0}}}, {{.id = "b", .call = 1}}};
  const auto wrong = problems(p);
  const auto said = [&](const char* text) { return std::ranges::find(wrong, text) != wrong.end(); };
  CHECK(said("rank 0: operation 0 comes after operation 0, which is not before it"));
  CHECK(said("rank 1: operation 0 is call 1 of 1"));
  CHECK(said("call 0: rank 0 has 0 operations for it, 1 wanted"));
  CHECK(said("call 0: a schedule of 3 ranks for 2 members"));
}

TEST_CASE("program: ranks that wait for one another in a circle are named") {
  Program p{.ranks = 2};
  const int a = p.add_call(call(ring(2), 4_MB)), b = p.add_call(call(ring(2), 4_MB));
  p.operations = {{{.id = "a", .call = a}, {.id = "b", .call = b}}, {{.id = "b", .call = b}, {.id = "a", .call = a}}};
  CHECK_THROWS_WITH_AS(Alone{}.flow(p), doctest::Contains("rank 1 has not begun a"), RunError);
}
