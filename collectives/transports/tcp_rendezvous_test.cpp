#include "collectives/transports/tcp_rendezvous.hpp"

#include "kernels/base/error.hpp"

#include <future>

#include <doctest/doctest.h>

using namespace weft;
using namespace std::chrono_literals;

namespace {

// A port that nobody listens on.
std::string free_address() { return TcpListener("127.0.0.1:0").address(); }

// What a rank of a job says in the end: the sum of all ranks' numbers, or what went wrong.
std::string run(Rank rank, int ranks, const std::string& meeting, TcpSettings settings) {
  try {
    const Rendezvous found = tcp_rendezvous(rank, ranks, meeting, settings);
    TcpWorld world(rank, found.addresses, found.own, settings);
    int sum = rank;
    std::vector<int> theirs(static_cast<std::size_t>(ranks), 0);
    for (Rank other = 0; other < ranks; ++other) {
      if (other == rank) continue;
      world.at().send(other, 1, std::as_bytes(std::span(&rank, 1)));
      world.at().receive(other, 1, std::as_writable_bytes(std::span(&theirs[static_cast<std::size_t>(other)], 1)));
    }
    world.at().wait();
    for (const int t : theirs) sum += t;
    return std::to_string(sum);
  } catch (const RunError& e) {
    return e.what();
  }
}

std::future<std::string> start(Rank rank, int ranks, const std::string& meeting, const TcpSettings& settings) {
  return std::async(std::launch::async, [=] { return run(rank, ranks, meeting, settings); });
}

}  // namespace

TEST_CASE("tcp rendezvous: ranks that know one address find each other, in any order") {
  const std::string meeting = free_address();
  const TcpSettings settings{.job = "sums", .secret = "sesame"};
  std::vector<std::future<std::string>> all;
  for (const Rank r : {3, 1, 0, 2}) all.push_back(start(r, 4, meeting, settings));
  for (auto& a : all) CHECK(a.get() == "6");
}

TEST_CASE("tcp rendezvous: ranks that do not come are named") {
  const std::string meeting = free_address();
  const TcpSettings settings{.meeting = 300ms};
  auto one = start(1, 4, meeting, settings);
  CHECK(run(0, 4, meeting, settings) == "rank 0 has not heard of rank 2, rank 3 for 300 ms");
  CHECK(one.get().starts_with("rank 1 lost rank 0 (" + meeting));
  CHECK(run(1, 2, meeting, {.meeting = 50ms}).starts_with("rank 1 did not find rank 0: "));
}

TEST_CASE("tcp rendezvous: who does not know the secret is refused, and ranks of different jobs say so") {
  const std::string meeting = free_address();
  auto zero = start(0, 2, meeting, {.meeting = 5s, .job = "sums", .secret = "sesame"});
  CHECK(run(1, 2, meeting, {.meeting = 5s, .job = "sums", .secret = "guess"}) ==
        "rank 1 and what answers at rank 0's address, " + meeting + ", do not have the same job's secret");
  CHECK(run(1, 2, meeting, {.meeting = 5s, .job = "products", .secret = "sesame"}).starts_with("rank 1 lost rank 0"));
  CHECK(zero.get() == "rank 1 runs products, but rank 0 sums");
}
