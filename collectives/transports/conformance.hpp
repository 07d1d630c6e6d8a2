// What every transport must do, as doctest cases that run on any: conforms<World>(). A World is made for a number of ranks
// and a patience; run(body) gives each rank of this process its transport and returns what each threw, "" for nothing.
#pragma once

#include "collectives/executors/transport.hpp"
#include "kernels/base/error.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace weft::conformance {

using Body = std::function<void(Rank, Transport&)>;
using Patience = std::chrono::milliseconds;
using Data = std::vector<std::byte>;
constexpr Patience enough{20'000};
constexpr Patience little{200};

inline Data data(Rank from, Rank to, std::size_t size) {
  Data d(size);
  for (std::size_t i = 0; i < size; ++i) d[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(from * 31 + to * 5));
  return d;
}

inline void expect(bool ok, const std::string& what) {
  if (!ok) throw RunError(what);
}

inline void expect_none(const std::vector<std::string>& errors) {
  for (const std::string& e : errors) CHECK(e == "");
}

// Every rank sends to its right neighbour, messages of each of these sizes.
template <class World>
void passes_on(int ranks, const std::vector<std::size_t>& sizes) {
  CAPTURE(ranks);
  World world(ranks, enough);
  expect_none(world.run([&](Rank me, Transport& transport) {
    const Rank right = mod(me + 1, ranks), left = mod(me - 1, ranks);
    std::vector<Data> in, out;
    for (const std::size_t size : sizes) in.emplace_back(size), out.push_back(data(me, right, size));
    for (std::size_t i = 0; i < sizes.size(); ++i) transport.receive(left, i, in[i]);
    for (std::size_t i = 0; i < sizes.size(); ++i) transport.send(right, i, out[i]);
    transport.wait();
    for (std::size_t i = 0; i < sizes.size(); ++i)
      expect(in[i] == data(left, me, sizes[i]), fmt::format("rank {}: wrong data of {} bytes from {}", me, sizes[i], left));
  }));
}

template <class World>
void keeps_the_order_of_equal_tags() {
  World world(2, enough);
  expect_none(world.run([](Rank me, Transport& transport) {
    const Rank peer = 1 - me;
    for (int round = 0; round < 3; ++round) {
      const Data first = data(me, 1, 100), second = data(me, 2, 100);
      Data in_first(100), in_second(100);
      transport.receive(peer, 9, in_first);
      transport.receive(peer, 9, in_second);
      transport.send(peer, 9, first);
      transport.send(peer, 9, second);
      transport.wait();
      expect(in_first == data(peer, 1, 100) && in_second == data(peer, 2, 100), "messages of one tag overtook each other");
    }
  }));
}

template <class World>
void holds_what_comes_early() {
  for (const std::size_t size : {std::size_t{10}, std::size_t{300'000}}) {
    World world(2, enough);
    expect_none(world.run([&](Rank me, Transport& transport) {
      if (me == 0) {
        const Data a = data(0, 1, size), b = data(0, 2, size);
        transport.send(1, 1, a);
        transport.send(1, 2, b);
        return transport.wait();
      }
      Data a(size), b(size);
      transport.receive(0, 2, b);
      transport.wait();
      transport.receive(0, 1, a);
      transport.wait();
      expect(a == data(0, 1, size) && b == data(0, 2, size), "tags were mixed up");
    }));
  }
}

template <class World>
void carries_all_to_all(int ranks) {
  World world(ranks, enough);
  expect_none(world.run([&](Rank me, Transport& transport) {
    const auto size = [](Rank from, Rank to) { return static_cast<std::size_t>(from * 1000 + to * 77); };
    std::vector<Data> in, out;
    for (Rank r = 0; r < ranks; ++r) in.emplace_back(size(r, me)), out.push_back(data(me, r, size(me, r)));
    for (int k = 1; k < ranks; ++k) {
      const Rank to = mod(me + k, ranks), from = mod(me - k, ranks);
      transport.receive(from, 3, in[static_cast<std::size_t>(from)]);
      transport.send(to, 3, out[static_cast<std::size_t>(to)]);
    }
    transport.wait();
    for (Rank r = 0; r < ranks; ++r)
      expect(r == me || in[static_cast<std::size_t>(r)] == data(r, me, size(r, me)), fmt::format("rank {}: wrong data from {}", me, r));
  }));
}

template <class World>
void goes_many_rounds(int ranks, int rounds) {
  World world(ranks, enough);
  expect_none(world.run([&](Rank me, Transport& transport) {
    std::int64_t token = me, got = -1;
    for (int round = 0; round < rounds; ++round) {
      transport.receive(mod(me - 1, ranks), static_cast<Tag>(round % 3), std::as_writable_bytes(std::span(&got, 1)));
      transport.send(mod(me + 1, ranks), static_cast<Tag>(round % 3), std::as_bytes(std::span(&token, 1)));
      transport.wait();
      token = got;
    }
    expect(token == mod(me - rounds, ranks), fmt::format("rank {} ends with {}", me, token));
  }));
}

// Reduced on arrival where the medium can, and by reduce() where not: the same either way.
template <class World>
void reduces(std::size_t elements) {
  CAPTURE(elements);
  World world(3, enough);
  expect_none(world.run([&](Rank me, Transport& transport) {
    std::vector<std::int32_t> mine(elements), aside(elements);
    std::iota(mine.begin(), mine.end(), me);
    const auto bytes = [](auto& v) { return std::as_writable_bytes(std::span(v)); };
    if (me == 0) {
      for (Rank r : {1, 2}) {
        const bool on_arrival = transport.receive_reduce(r, 4, DType::int32, ReduceOp::sum, bytes(mine));
        if (!on_arrival) transport.receive(r, 4, bytes(aside));
        transport.wait();
        if (!on_arrival) transport.reduce(DType::int32, ReduceOp::sum, bytes(mine), bytes(aside));
      }
      for (std::size_t i = 0; i < elements; ++i)
        expect(mine[i] == static_cast<std::int32_t>(3 * i + 3), fmt::format("element {} is {}", i, mine[i]));
    } else {
      transport.send(0, 4, bytes(mine));
      transport.wait();
    }
  }));
}

template <class World>
void refuses_a_wrong_size() {
  World world(2, enough);
  const auto errors = world.run([](Rank me, Transport& transport) {
    Data memory(12);
    if (me == 0)
      transport.receive(1, tag_of({.step = 6}), memory);
    else
      transport.send(0, tag_of({.step = 6}), ByteView(memory).first(8));
    transport.wait();
    Data more(1);  // so that rank 1 is there to hear of it
    if (me == 1) transport.receive(0, 0, more), transport.wait();
  });
  for (const std::string& e : errors) {
    CAPTURE(e);
    CHECK(e.find("rank 1 sent 8 bytes to rank 0 which expects 12 (step 6, message 0)") != std::string::npos);
  }
}

template <class World>
void does_not_wait_for_ever() {
  World world(3, little);
  const auto errors = world.run([](Rank me, Transport& transport) {
    Data memory(5);
    transport.receive(mod(me + 1, 3), tag_of({.step = 2}), memory);
    transport.wait();
  });
  for (const std::string& e : errors) {
    CAPTURE(e);
    CHECK(e.find("no progress for 200 ms") != std::string::npos);
    CHECK(e.find("waits for 5 bytes from rank") != std::string::npos);
  }
}

template <class World>
void tells_all_when_one_stops() {
  World world(3, enough);
  const auto start = std::chrono::steady_clock::now();
  const auto errors = world.run([](Rank me, Transport& transport) {
    if (me == 2) throw RunError("rank 2 fell over");
    Data memory(5);
    transport.receive(1 - me, 0, memory);  // nobody waits for rank 2 itself
    transport.wait();
  });
  CHECK(std::chrono::steady_clock::now() - start < enough);
  for (const std::string& e : errors) {
    CAPTURE(e);
    CHECK(e.find("rank 2 fell over") != std::string::npos);
  }
}

template <class World>
void carries_messages() {
  passes_on<World>(2, {1});
  passes_on<World>(3, {0, 1, 0, 1000});
  passes_on<World>(2, {(4 << 20) + 3, 70'000, 3});  // more than sockets hold, both ways at once
  keeps_the_order_of_equal_tags<World>();
  holds_what_comes_early<World>();
  carries_all_to_all<World>(5);
  goes_many_rounds<World>(4, 200);
  for (const std::size_t elements : {0, 1, 1000, 700'001}) reduces<World>(elements);
}

template <class World>
void ends_in_time() {
  refuses_a_wrong_size<World>();
  does_not_wait_for_ever<World>();
  tells_all_when_one_stops<World>();
}

}  // namespace weft::conformance
