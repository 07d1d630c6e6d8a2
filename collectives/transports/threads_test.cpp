#include "collectives/transports/threads.hpp"

#include "collectives/transports/run_on_threads.hpp"
#include "collectives/transports/test_task.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <deque>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using namespace std::chrono_literals;

TEST_CASE("threads: a run that cannot go on ends and says who waits for whom") {
  // 1 waits for 2, which waits for 1.
  ThreadsWorld world(3, 1, {.patience = 50ms});
  std::vector<std::byte> memory(8);
  std::deque<TestTask> ranks;
  for (Rank r : {1, 2})
    ranks.emplace_back([&, r] {
      world.at(r).receive(3 - r, tag_of({.step = 4, .position = 1}), ByteSpan(memory).subspan(r == 1 ? 0 : 4, 4));
      world.at(r).wait();
    });
  ranks.clear();
  CHECK(world.report() ==
        "no progress for 50 ms\n"
        "rank 1 waits for 4 bytes from rank 2 (step 4, message 1)\n"
        "rank 2 waits for 4 bytes from rank 1 (step 4, message 1)");
}

TEST_CASE("threads: a send that nobody receives ends the run") {
  ThreadsWorld world(2, 1, {.patience = 50ms});
  std::vector<std::byte> memory(3);
  world.at(1).send(0, tag_of({.step = 1}), memory);
  CHECK_THROWS_WITH_AS(world.at(1).wait(), "no progress for 50 ms\nrank 1 waits for rank 0 to take 3 bytes (step 1, message 0)", RunError);
}

TEST_CASE("threads: a slow rank is waited for as long as others make progress") {
  ThreadsWorld world(3, 1, {.patience = 1s});
  std::byte late{1}, got{0};
  TestTask waiting([&] {
    world.at(0).receive(1, 7, ByteSpan(&got, 1));
    world.at(0).wait();
  });
  for (int i = 0; i < 30; ++i) {  // 1.5 s of somebody else's progress
    std::this_thread::sleep_for(50ms);
    world.at(1).send(2, 1, {});
    world.at(2).receive(1, 1, {});
    world.at(2).wait();
    world.at(1).wait();
  }
  world.at(1).send(0, 7, ByteView(&late, 1));
  world.at(1).wait();
  CHECK(waiting.error() == "");
  CHECK(got == late);
}

TEST_CASE("threads: one rank's trouble ends all, and its message is the one reported") {
  ThreadsWorld world(2);
  TestTask peer([&] {
    world.at(1).receive(0, 0, {});
    world.at(1).wait();
  });
  world.fail("rank 0 fell over");
  CHECK(peer.error() == "rank 0 fell over\nrank 1 waits for 0 bytes from rank 0 (step 0, message 0)");
  CHECK(world.report() == peer.error());
}

TEST_CASE("threads: once a rank has heard of the end, nobody reads what it sent") {
  for (int attempt = 0; attempt < 20; ++attempt) {
    ThreadsWorld world(2, 1);
    std::vector<std::byte> sent(8 << 20, std::byte{1}), got(sent.size());
    TestTask receiver([&] {
      world.at(1).receive(0, 1, got);
      world.at(1).wait();
    });
    TestTask ending([&] {
      std::this_thread::sleep_for(100us * attempt);
      world.fail("somebody stopped");
    });
    world.at(0).send(1, 1, sent);
    try {
      world.at(0).wait();
    } catch (const RunError&) {
    }
    std::ranges::fill(sent, std::byte{2});
    static_cast<void>(receiver.error());
    CHECK(std::ranges::find(got, std::byte{2}) == got.end());
  }
}

TEST_CASE("threads: more ranks than cores") {
  Schedule s{.ranks = 40};
  s.collective = Collective::broadcast;
  for (Rank r = 0; r + 1 < s.ranks; ++r) s.add_step().copy({.from = r, .to = r + 1});
  CHECK(fault_on_threads(s, ReduceOp::sum, DType::int64, 1000) == "");
}
