#include "collectives/transports/tcp.hpp"

#include "collectives/transports/conformance.hpp"
#include "collectives/transports/tcp_mesh.hpp"
#include "collectives/transports/test_task.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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
  std::deque<TestTask> tasks;
  for (std::size_t r = 0; r < ranks.size(); ++r) tasks.emplace_back([&, r] { ranks[r](addresses, listeners[r]); });
  for (std::size_t r = 0; r < ranks.size(); ++r) errors[r] = tasks[r].error();
  return errors;
}

auto meeting_with(Rank rank, TcpSettings settings) {
  settings.meeting = 2s;
  return [=](const std::vector<std::string>& addresses, const TcpListener& own) { TcpWorld world(rank, addresses, own, settings); };
}

// A connection with both of its ends in this process.
struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    ours = Socket(ends[0]), theirs = Socket(ends[1]);
  }
  Socket ours, theirs;
};

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

TEST_CASE("tcp: what a finished rank has sent over one connection may come after its other connections have ended") {
  constexpr std::size_t size = 256 * 1024, half = size / 2;
  struct Frame {
    Tag tag;
    std::uint64_t size;
  };
  const Frame frame{.tag = 0, .size = size};
  const std::vector<std::byte> bytes(half, std::byte{7});
  const auto send_half = [&](const Socket& to) {
    const Deadline soon = std::chrono::steady_clock::now() + 10s;
    CHECK(to.write_all(std::as_bytes(std::span(&frame, 1)), soon));
    CHECK(to.write_all(bytes, soon));
  };
  for (const bool all_comes : {true, false}) {
    CAPTURE(all_comes);
    // The peer is played by hand: rank 0 has sent, has said farewell, and only one of its two connections is read to its end so far.
    Pair control, first, second;
    send_half(second.theirs);
    second.theirs.close();
    CHECK(control.theirs.write_all(std::vector<std::byte>(4), std::chrono::steady_clock::now() + 10s));
    const TestTask rest_of_the_peer([&] {
      std::this_thread::sleep_for(100ms);
      if (all_comes) send_half(first.theirs);
      first.theirs.close();
    });

    TcpMesh mesh;
    mesh.control.push_back(std::move(control.ours));
    mesh.control.emplace_back();
    mesh.data.resize(1);
    mesh.data[0].resize(2);
    mesh.data[0][0].push_back(std::move(first.ours));
    mesh.data[0][0].push_back(std::move(second.ours));
    mesh.data[0][1].resize(2);
    TcpWorld world(1, std::move(mesh), {.connections = 2, .patience = 10s});
    std::vector<std::byte> in(size);
    world.at().receive(0, 0, in);
    if (all_comes) {
      world.at().wait();
      CHECK(std::ranges::count(in, std::byte{7}) == size);
    } else {
      CHECK_THROWS_WITH_AS(world.at().wait(), "rank 0 has finished, but rank 1 waits for 262144 bytes from rank 0 (step 0, message 0)",
                           RunError);
    }
  }
}

TEST_CASE("tcp: receives may be posted between a test() and a wait(), while a message arrives") {
  constexpr std::size_t large = 16 << 20;
  constexpr int small = 100;
  const auto errors = errors_of({[](const auto& addresses, const auto& own) {
                                   TcpWorld world(0, addresses, own);
                                   std::vector<std::byte> first(large);
                                   std::array<std::byte, small> rest{};
                                   world.at().receive(1, 0, first);
                                   for (int i = 0; i < 50 && !world.test(); ++i) std::this_thread::sleep_for(1ms);
                                   for (int i = 0; i < small; ++i)
                                     world.at().receive(1, static_cast<Tag>(1 + i), ByteSpan(rest).subspan(static_cast<std::size_t>(i), 1));
                                   world.at().wait();
                                   for (const std::byte b : rest) conformance::expect(b == std::byte{7}, "a small message is wrong");
                                   for (const std::byte b : first) conformance::expect(b == std::byte{9}, "the large message is wrong");
                                 },
                                 [](const auto& addresses, const auto& own) {
                                   TcpWorld world(1, addresses, own);
                                   const std::vector<std::byte> first(large, std::byte{9});
                                   const std::byte seven{7};
                                   world.at().send(0, 0, first);
                                   for (int i = 0; i < small; ++i) world.at().send(0, static_cast<Tag>(1 + i), ByteView(&seven, 1));
                                   world.at().wait();
                                 }});
  CHECK(errors[0] == "");
  CHECK(errors[1] == "");
}

namespace {

// A limit of this process, as long as this lives.
class Limited {
 public:
  Limited(__rlimit_resource what, rlim_t to) : what_(what) {
    ::getrlimit(what_, &before_);
    const rlimit now{.rlim_cur = to, .rlim_max = before_.rlim_max};
    ::setrlimit(what_, &now);
  }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
  ~Limited() { ::setrlimit(what_, &before_); }

 private:
  __rlimit_resource what_;
  rlimit before_{};
};

// Of this thread: the superuser may pin what he likes.
void obey_limits_on_pinned_memory() {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &head, data.data()) != 0) return;
  data[0].effective &= ~(1u << CAP_IPC_LOCK);
  ::syscall(SYS_capset, &head, data.data());
}

}  // namespace

TEST_CASE("tcp: without copies, where memory may not be pinned, it is copied") {
  const Limited pinned(RLIMIT_MEMLOCK, 4096);
  constexpr std::size_t size = 4 << 20;
  const auto exchange = [](Rank me) {
    return [me](const std::vector<std::string>& addresses, const TcpListener& own) {
      obey_limits_on_pinned_memory();
      TcpWorld world(me, addresses, own, {.zero_copy = true, .patience = 5s});
      std::vector<std::byte> in(size);
      const std::vector<std::byte> out(size, static_cast<std::byte>(me + 1));
      world.at().receive(1 - me, 0, in);
      world.at().send(1 - me, 0, out);
      world.at().wait();
      for (const std::byte b : in) conformance::expect(b == static_cast<std::byte>(2 - me), "wrong data");
    };
  };
  const auto errors = errors_of({exchange(0), exchange(1)});
  CHECK(errors[0] == "");
  CHECK(errors[1] == "");
}

TEST_CASE("tcp: a connection held to a rate takes its time for a message") {
  constexpr std::size_t size = 1 << 20;
  static constexpr BitsPerSecond rate = 100_Mbps;
  const double wire_s = static_cast<double>(size) / rate.bytes_per_second();  // 84 ms
  std::array<double, 2> took{};
  const auto exchange = [&](Rank me) {
    return [&took, me](const std::vector<std::string>& addresses, const TcpListener& own) {
      TcpWorld world(me, addresses, own, {.stream_rate = rate, .patience = 5s});
      std::vector<std::byte> in(size);
      const std::vector<std::byte> out(size);
      const auto begin = std::chrono::steady_clock::now();
      world.at().receive(1 - me, 0, in);
      world.at().send(1 - me, 0, out);
      world.at().wait();
      took[static_cast<std::size_t>(me)] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
  };
  const auto errors = errors_of({exchange(0), exchange(1)});
  CHECK(errors[0] == "");
  CHECK(errors[1] == "");
  // The first packets leave at once, and on the loopback they hold 64 KiB each.
  for (const double seconds : took) CHECK(seconds > wire_s / 4);
}

TEST_CASE("tcp: a process that may open nothing more says so at once") {
  const TcpListener own("127.0.0.1:0");
  const auto later = std::chrono::steady_clock::now() + 60s;
  const Socket called = tcp_connect(own.address(), later);
  const int next = ::dup(0);
  ::close(next);
  const Limited files(RLIMIT_NOFILE, static_cast<rlim_t>(next));
  const std::string why = fmt::format("Too many open files (this process may have {}, ulimit -n)", next);
  CHECK_THROWS_WITH_AS(own.accept(), fmt::format("cannot accept a connection at {}: {}", own.address(), why).c_str(), RunError);
  CHECK_THROWS_WITH_AS(TcpWorld(0, {own.address(), "127.0.0.1:1"}, own, {.meeting = 60s}),
                       fmt::format("cannot accept a connection at {}: {}", own.address(), why).c_str(), RunError);
  const int room = (next - 1) / 2;
  CHECK_THROWS_WITH_AS(TcpWorld(0, {own.address(), "127.0.0.1:1", "127.0.0.1:2"}, own, {.connections = room, .meeting = 60s}),
                       fmt::format("rank 0 needs {} connections, {} to each other rank, and a process may have {} open files (ulimit -n)",
                                   2 * (1 + room), 1 + room, next)
                           .c_str(),
                       RunError);
  CHECK_THROWS_WITH_AS(tcp_connect("127.0.0.1:1", later), ("cannot connect to 127.0.0.1:1: " + why).c_str(), RunError);
}

TEST_CASE("tcp: of a rank that hangs the others say that it does not wait, and who waits for whom") {
  const TcpSettings settings{.patience = 400ms};
  const auto waits_for = [&](Rank me, Rank from) {
    return [=](const std::vector<std::string>& addresses, const TcpListener& own) {
      TcpWorld world(me, addresses, own, settings);
      std::array<std::byte, 4> in{};
      world.at().receive(from, tag_of({.step = 1}), in);
      world.at().wait();
    };
  };
  const auto until_told = [](TcpWorld& world) {
    std::this_thread::sleep_for(600ms);
    for (int looks = 0; looks < 1000; ++looks) world.test(), std::this_thread::sleep_for(10ms);
  };
  const auto hangs = [&](const std::vector<std::string>& addresses, const TcpListener& own) {
    TcpWorld world(2, addresses, own, settings);
    until_told(world);
  };
  const auto busy = [&](const std::vector<std::string>& addresses, const TcpListener& own) {
    TcpWorld world(3, addresses, own, settings);
    world.tell_waiting("its disk");
    until_told(world);
  };
  for (const std::string& e : errors_of({waits_for(0, 1), waits_for(1, 2), hangs, busy})) {
    CAPTURE(e);
    CHECK(e.starts_with("no progress for 400 ms\n"));
    CHECK(e.find("rank 0 waits for 4 bytes from rank 1 (step 1, message 0)") != std::string::npos);
    CHECK(e.find("rank 1 waits for 4 bytes from rank 2 (step 1, message 0)") != std::string::npos);
    CHECK(e.find("rank 2 does not say that it waits: it has not come so far, or hangs") != std::string::npos);
    CHECK(e.find("rank 3 waits for its disk") != std::string::npos);
  }
}

TEST_CASE("tcp: addresses that are none are refused") {
  CHECK_THROWS_WITH_AS(TcpListener("nowhere"), "address \"nowhere\" must be written host:port", InputError);
  for (const char* address : {"127.0.0.1:99999", "127.0.0.1:http", "127.0.0.1:-1", "127.0.0.1:80x"})
    CHECK_THROWS_WITH_AS(TcpListener{address}, fmt::format("address \"{}\": the port must be a number from 0 to 65535", address).c_str(),
                         InputError);
  CHECK_THROWS_WITH_AS(TcpListener("127.0.0.1:1:5000"), doctest::Contains("address \"127.0.0.1:1:5000\": "), RunError);
}
