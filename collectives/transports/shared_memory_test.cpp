#include "collectives/transports/shared_memory.hpp"

#include "collectives/transports/conformance.hpp"

#include <atomic>
#include <mutex>
#include <thread>

using namespace weft;
using namespace std::chrono_literals;

namespace {

// Every rank a thread with a mapping of its own, as far apart as processes.
class SharedMemoryRanks {
 public:
  SharedMemoryRanks(int ranks, conformance::Patience patience)
      : ranks_(ranks), patience_(patience), segment_(SharedSegment::create(shared_memory_bytes(ranks))) {}

  std::vector<std::string> run(const conformance::Body& body) {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks_));
    std::vector<std::thread> threads;
    for (Rank r = 0; r < ranks_; ++r)
      threads.emplace_back([&, r] {
        try {
          const SharedSegment mine = SharedSegment::open(segment_.name(), shared_memory_bytes(ranks_));
          body(r, *shared_memory_transport(mine, r, ranks_, {.patience = patience_, .look = [this](const auto&) { look(); }}));
        } catch (const std::exception& e) {
          errors[static_cast<std::size_t>(r)] = e.what();
          const std::lock_guard lock(mutex_);
          if (reason_.empty()) reason_ = e.what();
        }
      });
    for (std::thread& t : threads) t.join();
    return errors;
  }

 private:
  void look() {
    const std::lock_guard lock(mutex_);
    if (!reason_.empty()) throw RunError(reason_);
  }

  int ranks_;
  conformance::Patience patience_;
  SharedSegment segment_;
  std::mutex mutex_;
  std::string reason_;
};

}  // namespace

TEST_CASE("conformance: shared memory carries messages") { conformance::carries_messages<SharedMemoryRanks>(); }
TEST_CASE("conformance: shared memory ends in time") { conformance::ends_in_time<SharedMemoryRanks>(); }

TEST_CASE("shared memory: rings of many ranks are small, but carry long messages") {
  conformance::passes_on<SharedMemoryRanks>(40, {100'000, 5});
}

TEST_CASE("shared memory: a segment of another size, or none, is refused") {
  SharedSegment segment = SharedSegment::create(shared_memory_bytes(2));
  CHECK_THROWS_AS(SharedSegment::open(segment.name(), shared_memory_bytes(3)), RunError);
  const std::string name = segment.name();
  segment.remove_name();
  CHECK_THROWS_WITH_AS(SharedSegment::open(name, 1), ("cannot open the shared memory " + name + ": No such file or directory").c_str(),
                       RunError);
}

TEST_CASE("shared memory: a message that came before its turn is whole when it is asked for") {
  SharedMemoryRanks world(2, conformance::enough);
  conformance::expect_none(world.run([](Rank me, Transport& transport) {
    const std::size_t size = 3'000'000;  // longer than a ring
    const conformance::Data first = conformance::data(0, 1, size), second = conformance::data(0, 2, 10);
    if (me == 0) {
      transport.send(1, 1, first);
      transport.send(1, 2, second);
      return transport.wait();
    }
    conformance::Data a(size), b(10);
    transport.receive(0, 2, b);
    transport.wait();
    transport.receive(0, 1, a);
    transport.wait();
    conformance::expect(a == first && b == second, "tags were mixed up");
  }));
}
