#include "collectives/transports/conformance.hpp"

#include "collectives/transports/faulty.hpp"
#include "collectives/transports/tcp.hpp"
#include "collectives/transports/test_task.hpp"
#include "collectives/transports/threads.hpp"

#include <memory>
#include <thread>

using namespace weft;
using namespace std::chrono_literals;

namespace {

class ThreadsRanks {
 public:
  ThreadsRanks(int ranks, conformance::Patience patience) : ranks_(ranks), world_(ranks, 1, {.patience = patience}) {}

  virtual ~ThreadsRanks() = default;

  std::vector<std::string> run(const conformance::Body& body) {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks_));
    std::vector<std::jthread> threads;
    for (Rank r = 0; r < ranks_; ++r)
      threads.emplace_back([&, r] {
        try {
          body(r, transport(r));
        } catch (const std::exception& e) {
          errors[static_cast<std::size_t>(r)] = e.what();
          world_.fail(e.what());
        }
      });
    threads.clear();
    return errors;
  }

 protected:
  virtual Transport& transport(Rank r) { return world_.at(r); }
  int ranks_;
  ThreadsWorld world_;
};

class FaultyRanks final : public ThreadsRanks {
 public:
  FaultyRanks(int ranks, conformance::Patience patience) : ThreadsRanks(ranks, patience) {
    for (Rank r = 0; r < ranks; ++r)
      faulty_.push_back(std::make_unique<FaultyTransport>(
          world_.at(r), TransportFaults{.seed = static_cast<std::uint64_t>(r), .longest_delay = 100us, .reorder = true}));
  }

 private:
  Transport& transport(Rank r) override { return *faulty_[static_cast<std::size_t>(r)]; }
  std::vector<std::unique_ptr<FaultyTransport>> faulty_;
};

// Every rank a thread with sockets of its own, as far apart as processes on one host.
template <int connections, bool zero_copy = false>
class TcpRanks {
 public:
  TcpRanks(int ranks, conformance::Patience patience)
      : settings_{.connections = connections, .zero_copy = zero_copy, .patience = patience} {
    for (Rank r = 0; r < ranks; ++r) {
      listeners_.emplace_back("127.0.0.1:0");
      addresses_.push_back(listeners_.back().address());
    }
  }

  std::vector<std::string> run(const conformance::Body& body) {
    std::vector<std::string> errors(addresses_.size());
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < addresses_.size(); ++r)
      threads.emplace_back([&, r] {
        try {
          TcpWorld world(static_cast<Rank>(r), addresses_, listeners_[r], settings_);
          try {
            body(static_cast<Rank>(r), world.at());
          } catch (const std::exception& e) {
            world.fail(e.what());
            throw;
          }
        } catch (const std::exception& e) {
          errors[r] = e.what();
        }
      });
    threads.clear();
    return errors;
  }

 private:
  TcpSettings settings_;
  std::vector<TcpListener> listeners_;
  std::vector<std::string> addresses_;
};

}  // namespace

TEST_CASE("conformance: threads carry messages") { conformance::carries_messages<ThreadsRanks>(); }
TEST_CASE("conformance: threads end in time") { conformance::ends_in_time<ThreadsRanks>(); }
TEST_CASE("conformance: a slow transport that reorders carries messages") { conformance::carries_messages<FaultyRanks>(); }
TEST_CASE("conformance: a slow transport that reorders ends in time") { conformance::ends_in_time<FaultyRanks>(); }
TEST_CASE("conformance: tcp carries messages") { conformance::carries_messages<TcpRanks<1>>(); }
TEST_CASE("conformance: tcp ends in time") { conformance::ends_in_time<TcpRanks<1>>(); }
TEST_CASE("conformance: tcp with several connections carries messages") { conformance::carries_messages<TcpRanks<3>>(); }
TEST_CASE("conformance: tcp with several connections ends in time") { conformance::ends_in_time<TcpRanks<3>>(); }
TEST_CASE("conformance: tcp without copies carries messages") { conformance::carries_messages<TcpRanks<2, true>>(); }
TEST_CASE("conformance: tcp without copies ends in time") { conformance::ends_in_time<TcpRanks<2, true>>(); }

TEST_CASE("faulty: a lost message is found, and who waits for it is said") {
  ThreadsWorld world(2, 1, {.patience = 500ms});
  FaultyTransport losing(world.at(0), {.lose = 1});
  const std::vector<std::byte> out(4);
  std::vector<std::byte> in(8);
  losing.send(1, tag_of({.step = 0}), out);
  losing.send(1, tag_of({.step = 1}), out);
  const TestTask sender([&] { losing.wait(); });
  world.at(1).receive(0, tag_of({.step = 0}), ByteSpan(in).first(4));
  world.at(1).receive(0, tag_of({.step = 1}), ByteSpan(in).last(4));
  CHECK_THROWS_WITH_AS(world.at(1).wait(), "no progress for 500 ms\nrank 1 waits for 4 bytes from rank 0 (step 1, message 0)", RunError);
}

TEST_CASE("faulty: a shortened message is refused") {
  ThreadsWorld world(2);
  FaultyTransport shortening(world.at(0), {.shorten = 0});
  const std::vector<std::byte> out(4);
  std::vector<std::byte> in(4);
  shortening.send(1, tag_of({.step = 3}), out);
  const TestTask sender([&] { shortening.wait(); });
  world.at(1).receive(0, tag_of({.step = 3}), in);
  CHECK_THROWS_WITH_AS(world.at(1).wait(), "rank 0 sent 3 bytes to rank 1 which expects 4 (step 3, message 0)", RunError);
}
