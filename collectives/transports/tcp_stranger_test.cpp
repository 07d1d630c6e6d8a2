// Whoever else calls while the ranks meet: nobody is harmed or held up.
#include "collectives/transports/tcp.hpp"
#include "collectives/transports/tcp_hello.hpp"
#include "collectives/transports/test_task.hpp"
#include "kernels/base/error.hpp"

#include <functional>
#include <span>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using namespace std::chrono_literals;

namespace {

Deadline soon() { return std::chrono::steady_clock::now() + 20s; }

template <class T>
bool say(const Socket& to, const T& what) {
  return to.write_all(std::as_bytes(std::span(&what, 1)), soon());
}
template <class T>
bool hear(const Socket& from, T& what) {
  return from.read_all(std::as_writable_bytes(std::span(&what, 1)), soon());
}

const TcpSettings ours{.meeting = 20s, .job = "allreduce ring", .secret = "sesame"};

Hello good() {
  Hello h{.rank = 1, .ranks = 2};
  ours.job.copy(h.job.data(), h.job.size());
  return h;
}

// The strangers call rank 0 of 2, then rank 1 comes; until all have met the strangers hold on to what they have.
std::string error_of_meeting_with(const std::function<void(const std::string& address, std::vector<Socket>& held)>& strangers) {
  const std::vector<TcpListener> own = [] {
    std::vector<TcpListener> both;
    for (int i = 0; i < 2; ++i) both.emplace_back("127.0.0.1:0");
    return both;
  }();
  const std::vector<std::string> addresses = {own[0].address(), own[1].address()};
  TestTask rank_0([&] { TcpWorld world(0, addresses, own[0], ours); });
  std::vector<Socket> held;
  strangers(addresses[0], held);
  const auto begin = std::chrono::steady_clock::now();
  TestTask rank_1([&] { TcpWorld world(1, addresses, own[1], ours); });
  const std::string errors = rank_0.error() + rank_1.error();
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  return errors;
}

void changed(std::vector<Hello>& all, const std::function<void(Hello&)>& change) { change(all.emplace_back(good())); }

}  // namespace

TEST_CASE("tcp: no hello of a stranger harms the ranks that meet, whatever it says") {
  std::vector<Hello> all;
  changed(all, [](Hello& h) { h.magic = {'G', 'E', 'T', ' '}; });
  changed(all, [](Hello& h) { h.version = 1; });
  for (const int wrong : {-2, -1, 2, INT32_MIN, INT32_MAX}) {
    changed(all, [&](Hello& h) { h.rank = wrong; });
    changed(all, [&](Hello& h) { h.ranks = wrong; });
    changed(all, [&](Hello& h) { h.channels = wrong; });
    changed(all, [&](Hello& h) { h.channel = wrong; });
    changed(all, [&](Hello& h) { h.connections = wrong; });
    changed(all, [&](Hello& h) { h.connection = wrong; });
    changed(all, [&](Hello& h) { h.channel = 0, h.connection = wrong; });
  }
  changed(all, [](Hello& h) { h.rank = 0; });
  changed(all, [](Hello& h) { h.job = {"\x1b[2J"}; });
  changed(all, [](Hello& h) { h.job.fill('x'); });
  CHECK(error_of_meeting_with([&](const std::string& address, std::vector<Socket>& held) {
          for (const Hello& h : all) {
            held.push_back(tcp_connect(address, soon()));
            CHECK(say(held.back(), h));
            static_cast<void>(say(held.back(), Proof{}));
          }
        }) == "");
}

TEST_CASE("tcp: who says nothing, half of a hello or no proof holds up nobody") {
  CHECK(error_of_meeting_with([](const std::string& address, std::vector<Socket>& held) {
          for (int i = 0; i < 8; ++i) held.push_back(tcp_connect(address, soon()));
          held[1].write_all(std::as_bytes(std::span("WEFT", 4)), soon());
          say(held[2], good());
          say(held[3], good());
          held[3].write_all(std::as_bytes(std::span("half a proof")), soon());
          held[4].close();
          held[5].write_all(std::as_bytes(std::span("GET / HTTP/1.1\r\n\r\n")), soon());
        }) == "");
}

TEST_CASE("tcp: who does not know the secret is refused, and hears no proof that would be good elsewhere") {
  CHECK(error_of_meeting_with([](const std::string& address, std::vector<Socket>& held) {
          for (const char* guessed : {"", "Sesame", "sesam", "sesamee"}) {
            held.push_back(tcp_connect(address, soon()));
            Hello h = good(), answer;
            Proof theirs;
            say(held.back(), h);
            REQUIRE(hear(held.back(), answer));
            REQUIRE(hear(held.back(), theirs));
            CHECK(theirs == proof_of("sesame", Side::answerer, h, answer));
            CHECK(theirs != proof_of("sesame", Side::caller, h, answer));
            say(held.back(), proof_of(guessed, Side::caller, h, answer));
            std::byte more;
            CHECK_FALSE(hear(held.back(), more));  // it has hung up
          }
          // What was heard is no proof of one's own, neither as it is nor for another hello.
          held.push_back(tcp_connect(address, soon()));
          Hello answer;
          Proof theirs;
          say(held.back(), good());
          REQUIRE(hear(held.back(), answer));
          REQUIRE(hear(held.back(), theirs));
          say(held.back(), theirs);
        }) == "");
}

TEST_CASE("tcp: a hello is the same to the byte only where all of it is, and its proof with it") {
  const Proof p = proof_of("s", Side::caller, good(), good());
  Hello other = good();
  other.nonce[3] = std::byte{1};
  CHECK(p == proof_of("s", Side::caller, good(), good()));
  CHECK(p != proof_of("s", Side::caller, other, good()));
  CHECK(p != proof_of("s", Side::caller, good(), other));
  CHECK(good().contradiction() == "");
  CHECK(Hello{}.contradiction() == "");
}

TEST_CASE("tcp: ranks with different secrets do not meet, and a rank that gives up says whom it refused") {
  const TcpListener own("127.0.0.1:0"), others("127.0.0.1:0");
  const std::vector<std::string> addresses = {own.address(), others.address()};
  TestTask rank_0([&] { TcpWorld world(0, addresses, own, {.meeting = 2s, .secret = "a"}); });
  TestTask rank_1([&] { TcpWorld world(1, addresses, others, {.meeting = 2s, .secret = "b"}); });
  CHECK(rank_1.error() == fmt::format("rank 1 and what answers at rank 0's address, {}, do not have the same job's secret", addresses[0]));
  CHECK(rank_0.error() == "rank 0 has not heard of rank 1 for 2000 ms; refused 2 callers, the last from 127.0.0.1: it hung up");
}

TEST_CASE("tcp: another version of the protocol is refused, and said on both sides") {
  const TcpListener own("127.0.0.1:0");
  TestTask rank_0([&] { TcpWorld world(0, {own.address(), "127.0.0.1:1"}, own, {.meeting = 2s}); });
  const Socket caller = tcp_connect(own.address(), soon());
  Hello h{.version = 7, .rank = 1, .ranks = 2};
  say(caller, h);
  REQUIRE(hear(caller, h));
  CHECK(h.version == 2);
  CHECK(
      rank_0.error() ==
      "rank 0 has not heard of rank 1 for 2000 ms; refused 1 caller, the last from 127.0.0.1: it speaks protocol version 7, and this is 2");

  TestTask rank_1([&] { TcpWorld world(1, {own.address(), "127.0.0.1:1"}, own, {.meeting = 20s}); });
  std::optional<Socket> called;
  while (!called) called = own.accept();
  say(*called, Hello{.version = 7});
  CHECK(rank_1.error() == "rank 0 speaks protocol version 7, but rank 1 2");
}

TEST_CASE("tcp: what answers but is not weft, or says nothing, is named") {
  const TcpListener own("127.0.0.1:0"), web("127.0.0.1:0");
  const std::vector<std::string> addresses = {web.address(), own.address()};
  TestTask meets_web([&] { TcpWorld world(1, addresses, own, {.meeting = 20s}); });
  std::optional<Socket> called;
  while (!called) called = web.accept();
  called->write_all(std::as_bytes(std::span("HTTP/1.1 400 Bad Request\r\n")), soon());
  CHECK(meets_web.error() == fmt::format("what answers at rank 0's address, {}, is not weft", addresses[0]));
  CHECK_THROWS_WITH_AS(TcpWorld(1, addresses, own, {.meeting = 100ms}),
                       fmt::format("rank 1 has no answer from rank 0 ({}) for 100 ms", addresses[0]).c_str(), RunError);
}
