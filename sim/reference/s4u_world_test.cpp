#include "sim/reference/s4u_world.hpp"

#include "collectives/executors/blocking.hpp"
#include "kernels/base/error.hpp"
#include "sim/engine/in_child.hpp"

#include <array>
#include <cstring>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Ends of ranks in picoseconds, after a run in a process of its own.
template <class Build>
std::vector<std::int64_t> ends(int ranks, Build build) {
  const std::string bytes = in_child([&] {
    const NetworkRun run = build();
    std::string out;
    for (const SimTime t : run.rank_finish) out.append(reinterpret_cast<const char*>(&t.ps), sizeof t.ps);
    return out;
  });
  std::vector<std::int64_t> out(static_cast<std::size_t>(ranks));
  REQUIRE(bytes.size() == out.size() * sizeof(std::int64_t));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

ByteView only_size(std::size_t bytes) { return {static_cast<const std::byte*>(nullptr), bytes}; }
ByteSpan room_for(std::size_t bytes) { return {static_cast<std::byte*>(nullptr), bytes}; }

constexpr std::array<Hop, 1> link0{Hop{.link = 0}};
constexpr std::array<Hop, 2> links_0_1{Hop{.link = 0}, Hop{.link = 1}};
constexpr std::array<Hop, 2> links_0_2{Hop{.link = 0}, Hop{.link = 2}};

S4uWorld::Program sends(Rank to, std::size_t bytes, int messages = 1) {
  return [=](Transport& t) {
    for (int i = 0; i < messages; ++i) t.send(to, tag_of({.step = i}), only_size(bytes)), t.wait();
  };
}
S4uWorld::Program receives(Rank from, std::size_t bytes, int messages = 1) {
  return [=](Transport& t) {
    for (int i = 0; i < messages; ++i) t.receive(from, tag_of({.step = i}), room_for(bytes)), t.wait();
  };
}

// Two endpoints, one link of 100 Gb/s and 1 us.
NetworkRun one_message(const HardwareProfile& hw, std::size_t bytes, SimTime sender_starts, SimTime receiver_starts, int messages = 1) {
  const std::array<BitsPerSecond, 1> rates{100_Gbps};
  S4uWorld world(hw, 2, rates);
  world.connect(0, 1, link0, 1_us);
  world.add_actor(0, 0, 0, sender_starts, sends(1, bytes, messages));
  world.add_actor(1, 0, 1, receiver_starts, receives(0, bytes, messages));
  return world.run();
}

std::vector<std::int64_t> one_message_ends(const HardwareProfile& hw, std::size_t bytes, SimTime sender, SimTime receiver,
                                           int messages = 1) {
  return ends(2, [&] { return one_message(hw, bytes, sender, receiver, messages); });
}

}  // namespace

TEST_CASE("s4u: one message takes its latency and its bytes over the bandwidth") {
  // 1 us + 1 MB / 100 Gb/s = 81 us
  CHECK(one_message_ends({}, 1'000'000, 0_us, 0_us) == std::vector<std::int64_t>{81'000'000, 81'000'000});
}

TEST_CASE("s4u: a message without bytes takes its latency, whether its receiver came early or late") {
  CHECK(one_message_ends({}, 0, 0_us, 0_us) == std::vector<std::int64_t>{1'000'000, 1'000'000});
  CHECK(one_message_ends({}, 0, 500_ns, 0_us) == std::vector<std::int64_t>{1'500'000, 1'500'000});
  CHECK(one_message_ends({}, 0, 0_us, 300_ns) == std::vector<std::int64_t>{1'000'000, 1'000'000});
  CHECK(one_message_ends({}, 0, 0_us, 2_us) == std::vector<std::int64_t>{1'000'000, 2'000'000});
}

TEST_CASE("s4u: a small message leaves without its receiver, a large one waits for it") {
  const HardwareProfile eager{.rendezvous = 4_us, .rendezvous_threshold = 1001_B};
  const HardwareProfile meeting{.rendezvous = 4_us, .rendezvous_threshold = 1000_B};
  // 1000 B take 80 ns. Eager: 1.08 us from the start of the sender. Rendezvous: from when both are there, and 4 us more.
  CHECK(one_message_ends(eager, 1000, 0_us, 10_us) == std::vector<std::int64_t>{1'080'000, 10'000'000});
  CHECK(one_message_ends(meeting, 1000, 0_us, 10_us) == std::vector<std::int64_t>{15'080'000, 15'080'000});
  CHECK(one_message_ends(meeting, 1000, 10_us, 0_us) == std::vector<std::int64_t>{15'080'000, 15'080'000});
}

TEST_CASE("s4u: overheads of sender and receiver, and the first use of a peer once") {
  const HardwareProfile hw{.send_overhead = 2_us, .receive_overhead = 3_us, .first_use = 100_us};
  // First: 102 us of the sender, 1.08 us of the wire, so 103.08 at the sender and 106.08 at the receiver. Second: posted
  // 2 us later, ended at 106.16; the receiver was ready at 106.08, ends at 109.16.
  CHECK(one_message_ends(hw, 1000, 0_us, 0_us, 2) == std::vector<std::int64_t>{106'160'000, 109'160'000});
}

TEST_CASE("s4u: two flows share a link equally however different their latencies are") {
  // Link 0 is shared; links 1 and 2 are as fast. Paths of 1 us and 50 us; 1 MB each, 80 us alone. The first is alone for
  // 49 us, then both have half: it has 31 us of work left, so it ends at 50 + 62 = 112 us. The other has had 31 us of its
  // work by then, and ends 49 us later.
  const auto finish = ends(3, [] {
    const std::array<BitsPerSecond, 3> rates{100_Gbps, 100_Gbps, 100_Gbps};
    S4uWorld world({}, 3, rates);
    world.connect(0, 1, links_0_1, 1_us);
    world.connect(0, 2, links_0_2, 50_us);
    world.add_actor(0, 0, 0, 0_us, [](Transport& t) {
      t.send(1, tag_of({}), only_size(1'000'000));
      t.send(2, tag_of({}), only_size(1'000'000));
      t.wait();
    });
    world.add_actor(1, 0, 1, 0_us, receives(0, 1'000'000));
    world.add_actor(2, 0, 2, 0_us, receives(0, 1'000'000));
    return world.run();
  });
  CHECK(finish == std::vector<std::int64_t>{161'000'000, 112'000'000, 161'000'000});
}

TEST_CASE("s4u: a path without latency is as good as any other") {
  const auto finish = ends(3, [] {
    const std::array<BitsPerSecond, 3> rates{100_Gbps, 100_Gbps, 100_Gbps};
    S4uWorld world({}, 3, rates);
    world.connect(0, 1, links_0_1, 0_us);
    world.connect(0, 2, links_0_2, 10_us);
    world.add_actor(0, 0, 0, 0_us, [](Transport& t) {
      t.send(1, tag_of({}), only_size(1'000'000));
      t.send(2, tag_of({}), only_size(1'000'000));
      t.wait();
    });
    world.add_actor(1, 0, 1, 0_us, receives(0, 1'000'000));
    world.add_actor(2, 0, 2, 0_us, receives(0, 1'000'000));
    return world.run();
  });
  // Alone for 10 us, then 70 us of work at half the rate: 150 us; the other has 10 us of its 80 left.
  CHECK(finish == std::vector<std::int64_t>{160'000'000, 150'000'000, 160'000'000});
}

TEST_CASE("s4u: shares are equal also where an endpoint passes on what others send") {
  // 0 -> 1 -> 2 over links 0 and 1, of 5 us; 1 -> 2 over link 1, of 1 us. 1 MB each, 80 us alone. Endpoint 1 is alone for
  // 4 us, then both have half of link 1: it needs 152 us more, 157; by then endpoint 0 has 4 us of work left, 161.
  const auto finish = ends(3, [] {
    const std::array<BitsPerSecond, 2> rates{100_Gbps, 100_Gbps};
    constexpr std::array<Hop, 1> link1{Hop{.link = 1}};
    S4uWorld world({}, 3, rates);
    world.connect(0, 2, links_0_1, 5_us);
    world.connect(1, 2, link1, 1_us);
    world.add_actor(0, 0, 0, 0_us, sends(2, 1'000'000));
    world.add_actor(1, 0, 1, 0_us, sends(2, 1'000'000));
    world.add_actor(2, 0, 2, 0_us, [](Transport& t) {
      t.receive(0, tag_of({}), room_for(1'000'000));
      t.receive(1, tag_of({}), room_for(1'000'000));
      t.wait();
    });
    return world.run();
  });
  CHECK(finish == std::vector<std::int64_t>{161'000'000, 157'000'000, 161'000'000});
}

TEST_CASE("s4u: flows that come at one date all change the rates of those they meet") {
  // A star of three endpoints, 10 kB/us, 1 us; up links are 0, 2, 4 and down links 1, 3, 5. From 7 us on 2->0 and 0->1 are
  // alone, and have sent 10 kB each when 1->0 and 2->1 come at 8 us; then all four have 5 kB/us. 0->1 has its 30 kB at
  // 12 us, 2->0 its 70 kB at 20; from then on 1->0 and 2->1 are alone, with 60 kB sent: 34 and 30 us.
  const auto finish = ends(8, [] {
    const std::array<BitsPerSecond, 6> rates{80_Gbps, 80_Gbps, 80_Gbps, 80_Gbps, 80_Gbps, 80_Gbps};
    struct Message {
      int from, to;
      std::size_t bytes;
      SimTime start;
    };
    S4uWorld world({}, 3, rates);
    int rank = 0;
    for (const Message& m : {Message{2, 0, 70'000, 6_us}, {2, 1, 160'000, 7_us}, {1, 0, 200'000, 7_us}, {0, 1, 30'000, 6_us}}) {
      const std::array<Hop, 2> path{Hop{.link = 2 * m.from}, Hop{.link = 2 * m.to + 1}};
      world.connect(m.from, m.to, path, 1_us);
      world.add_actor(rank, 0, m.from, m.start, sends(rank + 1, m.bytes));
      world.add_actor(rank + 1, 0, m.to, 0_us, receives(rank, m.bytes));
      rank += 2;
    }
    return world.run();
  });
  CHECK(finish ==
        std::vector<std::int64_t>{20'000'000, 20'000'000, 30'000'000, 30'000'000, 34'000'000, 34'000'000, 12'000'000, 12'000'000});
}

TEST_CASE("s4u: real data arrives, even if the sender writes on at once") {
  const std::string got = in_child([] {
    const std::array<BitsPerSecond, 1> rates{100_Gbps};
    S4uWorld world({}, 2, rates);
    world.connect(0, 1, link0, 1_us);
    std::string out = "abcd", in = "....";
    world.add_actor(0, 0, 0, 0_us, [&](Transport& t) {
      t.send(1, tag_of({}), std::as_bytes(std::span(out)));
      t.wait();
      out = "wxyz";
    });
    world.add_actor(1, 0, 1, 0_us, [&](Transport& t) {
      t.receive(0, tag_of({}), std::as_writable_bytes(std::span(in)));
      t.wait();
    });
    world.run();
    return in;
  });
  CHECK(got == "abcd");
}

TEST_CASE("s4u: ranks that wait for ever are named") {
  const auto stuck = [] {
    const std::array<BitsPerSecond, 1> rates{100_Gbps};
    S4uWorld world({}, 2, rates);
    world.connect(0, 1, link0, 1_us);
    world.add_actor(0, 0, 0, 0_us, sends(1, 8, 2));
    world.add_actor(1, 0, 1, 0_us, receives(0, 8, 3));
    world.run();
    return std::string();
  };
  CHECK_THROWS_WITH_AS(in_child(stuck), "no progress is possible:\n  rank 1 waits for rank 0 to send step 2, message 0", RunError);
}

TEST_CASE("s4u: what a program throws ends the run") {
  const auto throws = [] {
    const std::array<BitsPerSecond, 1> rates{100_Gbps};
    S4uWorld world({}, 2, rates);
    world.connect(0, 1, link0, 1_us);
    world.add_actor(0, 0, 0, 0_us, [](Transport&) { throw RunError("wrong data"); });
    world.add_actor(1, 0, 1, 0_us, receives(0, 8));
    world.run();
    return std::string();
  };
  CHECK_THROWS_WITH_AS(in_child(throws), "wrong data", RunError);
}
