#include "collectives/tcp.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using namespace std::chrono_literals;

namespace {

using Ranks = std::vector<std::function<void(const std::vector<std::string>& addresses, const TcpListener& own)>>;

// What each of these ranks, a thread each, threw: "" for nothing.
std::vector<std::string> errors_of(const Ranks& ranks) {
  std::vector<TcpListener> listeners;
  std::vector<std::string> addresses, errors(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    listeners.emplace_back("127.0.0.1:0");
    addresses.push_back(listeners.back().address());
  }
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        ranks[r](addresses, listeners[r]);
      } catch (const std::exception& e) {
        errors[r] = e.what();
      }
    });
  for (auto& t : threads) t.join();
  return errors;
}

auto meeting_with(Rank rank, TcpSettings settings) {
  settings.meeting = 2s;
  return [=](const std::vector<std::string>& addresses, const TcpListener& own) { TcpWorld world(rank, addresses, own, settings); };
}

Deadline soon() { return std::chrono::steady_clock::now() + 2s; }

}  // namespace

TEST_CASE("tcp: ranks that do not run the same thing say so on both sides") {
  auto errors = errors_of({meeting_with(0, {.job = "allreduce ring"}), meeting_with(1, {.job = "allreduce hdrm"})});
  CHECK(errors[0] == "rank 1 runs allreduce hdrm, but rank 0 allreduce ring");
  CHECK(errors[1] == "rank 0 runs allreduce ring, but rank 1 allreduce hdrm");

  errors = errors_of({meeting_with(0, {.channels = 2}), meeting_with(1, {})});
  CHECK(errors[0] == "rank 1 runs the number of channels 1, but rank 0 2");

  const auto smaller_world = [](const std::vector<std::string>& addresses, const TcpListener& own) {
    TcpWorld world(1, {addresses.begin(), addresses.begin() + 2}, own, {.meeting = 2s});
  };
  errors = errors_of({meeting_with(0, {}), smaller_world, [](const auto&, const auto&) {}});
  CHECK(errors[0] == "rank 1 runs the number of ranks 2, but rank 0 3");
  CHECK(errors[1] == "rank 0 runs the number of ranks 3, but rank 1 2");
}

TEST_CASE("tcp: another version of the protocol is refused") {
  const auto errors = errors_of({meeting_with(0, {}), [](const auto& addresses, const auto&) {
                                   std::vector<std::byte> hello(232);
                                   const char* magic = "WEFT\7";  // version 7
                                   std::transform(magic, magic + 5, hello.begin(), [](char c) { return static_cast<std::byte>(c); });
                                   hello[8] = std::byte{1};
                                   const Socket caller = tcp_connect(addresses[0], soon());
                                   caller.write_all(hello, soon());
                                   caller.read_all(hello, soon());
                                 }});
  CHECK(errors[0] == "rank 1 speaks protocol version 7, but rank 0 1");
}

TEST_CASE("tcp: a stranger who calls is ignored") {
  const auto errors = errors_of({meeting_with(0, {}), [](const auto& addresses, const auto& own) {
                                   const std::vector<std::byte> noise(500, std::byte{'G'});
                                   tcp_connect(addresses[0], soon()).write_all(noise, soon());
                                   TcpWorld world(1, addresses, own, {});
                                 }});
  CHECK(errors[0] == "");
  CHECK(errors[1] == "");
}

TEST_CASE("tcp: a rank that never comes is named") {
  const TcpListener own("127.0.0.1:0");
  std::string nowhere;
  {
    const TcpListener gone("127.0.0.1:0");
    nowhere = gone.address();
  }
  CHECK_THROWS_WITH_AS(TcpWorld(0, {own.address(), nowhere}, own, {.meeting = 60ms}), "rank 0 has not heard of rank 1 for 60 ms", RunError);
  CHECK_THROWS_WITH_AS(TcpWorld(1, {nowhere, own.address()}, own, {.meeting = 60ms}),
                       ("rank 1 did not find rank 0: cannot connect to " + nowhere + ": Connection refused").c_str(), RunError);
}

TEST_CASE("tcp: a rank that dies ends all others with one message") {
  const auto waits_for = [](Rank me, Rank peer) {
    return [=](const std::vector<std::string>& addresses, const TcpListener& own) {
      TcpWorld world(me, addresses, own);
      std::byte b{};
      world.at().receive(peer, 0, ByteSpan(&b, 1));
      world.at().wait();
    };
  };
  const auto dies = [](const std::vector<std::string>& addresses, const TcpListener& own) {
    TcpWorld world(2, addresses, own);
    throw std::runtime_error("killed");  // nobody catches it where the world still lives: no farewell
  };
  const auto errors = errors_of({waits_for(0, 1), waits_for(1, 0), dies});
  CHECK(errors[0] == "rank 2 is gone: its connection ended without a farewell");
  CHECK(errors[1] == errors[0]);
}

TEST_CASE("tcp: waiting for a rank that has finished is an error, its last message is not lost") {
  const auto errors = errors_of({[](const auto& addresses, const auto& own) {
                                   TcpWorld world(0, addresses, own);
                                   std::byte b{};
                                   world.at().receive(1, tag_of({.step = 0}), ByteSpan(&b, 1));
                                   world.at().wait();
                                   world.at().receive(1, tag_of({.step = 1}), ByteSpan(&b, 1));
                                   world.at().wait();
                                 },
                                 [](const auto& addresses, const auto& own) {
                                   TcpWorld world(1, addresses, own);
                                   const std::byte b{};
                                   world.at().send(0, tag_of({.step = 0}), ByteView(&b, 1));
                                   world.at().wait();
                                 }});
  CHECK(errors[0] == "rank 1 has finished, but rank 0 waits for 1 bytes from rank 1 (step 1, message 0)");
  CHECK(errors[1] == "");
}

TEST_CASE("tcp: addresses that are none are refused") {
  CHECK_THROWS_WITH_AS(TcpListener("nowhere"), "address \"nowhere\" must be written host:port", InputError);
  for (const char* address : {"127.0.0.1:99999", "127.0.0.1:http", "127.0.0.1:-1", "127.0.0.1:80x"})
    CHECK_THROWS_WITH_AS(TcpListener{address}, fmt::format("address \"{}\": the port must be a number from 0 to 65535", address).c_str(),
                         InputError);
  CHECK_THROWS_WITH_AS(TcpListener("127.0.0.1:1:5000"), doctest::Contains("address \"127.0.0.1:1:5000\": "), RunError);
}
