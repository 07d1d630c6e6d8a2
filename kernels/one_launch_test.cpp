// The barriers of one_launch_ops.hpp hold whoever runs when: the blocks of all ranks take turns that chance decides.
#include "kernels/base/hash.hpp"
#include "kernels/one_launch_ops.hpp"
#include "kernels/testing/fiber.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace weft;
using test::Fiber, test::FiberBlock;

namespace {

// Chance says which block goes on. Of a rank, the blocks of a call begin when those of the call before have ended, as kernels on a stream
// do.
class Machine {
 public:
  explicit Machine(std::uint64_t seed) : state_(seed) {}

  using Kernel = std::function<void(FiberBlock&, unsigned number)>;

  void enqueue(int rank, Kernel kernel) {
    if (std::cmp_less_equal(streams_.size(), rank)) streams_.resize(static_cast<std::size_t>(rank) + 1);
    streams_[static_cast<std::size_t>(rank)].kernels.push_back(std::move(kernel));
  }
  // Whether all came to their end.
  bool run(long max_turns = 2'000'000) {
    for (long turns = 0; turns < max_turns; ++turns) {
      for (Stream& s : streams_) s.start();
      std::vector<Stream*> working;
      for (Stream& s : streams_)
        if (!s.blocks.empty()) working.push_back(&s);
      if (working.empty()) return true;
      auto& blocks = working[drawn() % working.size()]->blocks;
      Fiber& next = *blocks[drawn() % blocks.size()];
      next.resume();
      if (next.ended()) std::erase_if(blocks, [&](const auto& f) { return f.get() == &next; });
    }
    return false;
  }

 private:
  struct Stream {
    std::deque<Kernel> kernels;
    std::vector<std::unique_ptr<Fiber>> blocks;  // of the kernel that runs

    void start() {
      if (!blocks.empty() || kernels.empty()) return;
      for (unsigned b = 0; b < one_launch_blocks; ++b)
        blocks.push_back(std::make_unique<Fiber>([kernel = kernels.front(), b] {
          FiberBlock block;
          kernel(block, b);
        }));
      kernels.pop_front();
    }
  };
  std::uint64_t drawn() { return mixed(state_ += golden_ratio); }

  std::uint64_t state_;
  std::deque<Stream> streams_;
};

// Calls one after another on the same memory, each with data of its own. Returns what is wrong.
std::string several_calls(int ranks, std::uint64_t seed) {
  constexpr std::size_t capacity = 300;
  std::vector<std::vector<std::byte>> staging;
  std::vector<std::vector<std::uint32_t>> flags;
  std::vector<OneLaunchPlace> places;
  for (int r = 0; r < ranks; ++r) {
    staging.emplace_back(one_launch_staging_bytes(capacity * sizeof(std::int32_t)));
    flags.emplace_back(one_launch_flags);
    places.push_back({staging.back().data(), flags.back().data()});
  }
  Machine machine(seed);
  constexpr int calls = 5;
  std::vector<std::vector<std::vector<std::int32_t>>> messages(calls);
  std::deque<OneLaunchCall> all;
  for (int c = 0; c < calls; ++c) {
    const std::size_t count = mixed(seed * 8 + static_cast<std::uint64_t>(c)) % (capacity + 1);
    const Shots shots = mixed(seed + static_cast<std::uint64_t>(c) * golden_ratio) % 2 == 0 ? Shots::one : Shots::two;
    for (int r = 0; r < ranks; ++r) {
      auto& message = messages[static_cast<std::size_t>(c)].emplace_back(count);
      for (std::size_t i = 0; i < count; ++i) message[i] = static_cast<std::int32_t>(1000 * c + 100 * r) + static_cast<std::int32_t>(i);
    }
    for (int r = 0; r < ranks; ++r) {
      OneLaunchCall& call = all.emplace_back();
      std::copy(places.begin(), places.end(), call.place);
      call.rank = r, call.ranks = ranks;
      call.message = messages[static_cast<std::size_t>(c)][static_cast<std::size_t>(r)].data();
      call.count = count;
      call.capacity_bytes = capacity * sizeof(std::int32_t);
      machine.enqueue(r, [&call, shots](FiberBlock& block, unsigned number) {
        OneLaunch<std::int32_t, FiberBlock>(block, call, number).template run<ReduceOp::sum>(shots, [](std::int32_t sum) { return sum; });
      });
    }
  }
  if (!machine.run()) return "some block never comes to its end";
  for (int c = 0; c < calls; ++c)
    for (int r = 0; r < ranks; ++r) {
      const auto& message = messages[static_cast<std::size_t>(c)][static_cast<std::size_t>(r)];
      for (std::size_t i = 0; i < message.size(); ++i) {
        const int expected = ranks * 1000 * c + 100 * ranks * (ranks - 1) / 2 + ranks * static_cast<int>(i);
        if (message[i] != expected) return fmt::format("call {}, rank {}, element {} is {}, not {}", c, r, i, message[i], expected);
      }
    }
  return {};
}

}  // namespace

TEST_CASE("one launch: sums are right in whatever order blocks run, call after call on the same memory") {
  for (const int ranks : {1, 2, 3, 5, 8})
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CAPTURE(ranks);
      CAPTURE(seed);
      CHECK(several_calls(ranks, seed) == "");
    }
}

TEST_CASE("one launch: where a rank is lost the others wait until they have given up, and end") {
  constexpr int ranks = 3;
  constexpr std::size_t count = 100;
  std::vector<std::vector<std::byte>> staging(ranks);
  std::vector<std::vector<std::uint32_t>> flags(ranks);
  std::vector<std::vector<std::int32_t>> messages(ranks);
  std::uint32_t given_up = 0;
  std::vector<OneLaunchCall> calls(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    staging[r].resize(one_launch_staging_bytes(count * sizeof(std::int32_t)));
    flags[r].resize(one_launch_flags);
    messages[r].resize(count);
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    OneLaunchCall& call = calls[r];
    for (std::size_t other = 0; other < ranks; ++other) call.place[other] = {staging[other].data(), flags[other].data()};
    call.rank = static_cast<int>(r), call.ranks = ranks;
    call.message = messages[r].data();
    call.count = count;
    call.capacity_bytes = count * sizeof(std::int32_t);
    call.given_up = &given_up;
  }
  for (const Shots shots : {Shots::one, Shots::two}) {
    given_up = 0;
    const auto enqueue_all_but_the_last = [&](Machine& machine) {
      for (int r = 0; r + 1 < ranks; ++r)
        machine.enqueue(r, [&calls, r, shots](FiberBlock& block, unsigned number) {
          OneLaunch<std::int32_t, FiberBlock>(block, calls[static_cast<std::size_t>(r)], number)
              .template run<ReduceOp::sum>(shots, [](std::int32_t sum) { return sum; });
        });
    };
    Machine waiting(1);
    enqueue_all_but_the_last(waiting);
    CHECK_FALSE(waiting.run(20'000));
    given_up = 1;
    CHECK(waiting.run());
  }
}
