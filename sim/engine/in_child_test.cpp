#include "sim/engine/in_child.hpp"

#include "kernels/base/error.hpp"

#include <array>
#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;

TEST_CASE("in child: what the function returns comes back, long or empty, zero bytes included") {
  CHECK(in_child([] { return std::string(); }).empty());
  std::string bytes(3'000'000, 'x');
  bytes[17] = '\0';
  CHECK(in_child([&] { return bytes; }) == bytes);
}

TEST_CASE("in child: the function runs in a process of its own") {
  int here = 1;
  in_child([&] { return here = 2, std::string(); });
  CHECK(here == 1);
}

TEST_CASE("in child: errors keep their family and text") {
  CHECK_THROWS_WITH_AS(in_child([]() -> std::string { throw RunError("rank 1 waits"); }), "rank 1 waits", RunError);
  CHECK_THROWS_WITH_AS(in_child([]() -> std::string { throw std::length_error("odd"); }), "odd", std::logic_error);
  try {
    in_child([]() -> std::string { throw InputError(std::vector<std::string>{"/a: one", "/b: two"}); });
    FAIL("nothing thrown");
  } catch (const InputError& e) {
    CHECK(e.problems() == std::vector<std::string>{"/a: one", "/b: two"});
  }
}

TEST_CASE("in child: a process that dies is an error, not an empty result") {
  CHECK_THROWS_WITH_AS(in_child([] { return ::raise(SIGKILL), std::string(); }), "the simulating process died: Killed", RunError);
  CHECK_THROWS_WITH_AS(in_child([]() -> std::string { ::_exit(7); }), "the simulating process ended with status 7 and no result", RunError);
}

TEST_CASE("in child: the process ends with its parent, even if that is killed") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  // A parent whose child would sleep for a minute; the pipe is at its end when neither is left.
  const pid_t parent = ::fork();
  if (parent == 0) {
    const Child sleeper([&] { return ::write(ends[1], "s", 1), ::sleep(60), std::string(); });
    ::pause();
  }
  ::close(ends[1]);
  char started = 0;
  REQUIRE(::read(ends[0], &started, 1) == 1);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  pollfd gone{.fd = ends[0], .events = POLLIN, .revents = 0};
  constexpr int patience_ms = 20'000;
  CHECK(::poll(&gone, 1, patience_ms) == 1);
  CHECK(::read(ends[0], &started, 1) == 0);
  ::close(ends[0]);
}

TEST_CASE("in child: several run side by side") {
  Child a([] { return std::string("a"); });
  Child b([] { return std::string("b"); });
  CHECK(b.result() == "b");
  CHECK(a.result() == "a");
}
