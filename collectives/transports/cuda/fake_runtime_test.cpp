// What no GPU at hand would show: old drivers, callers with a device of their own, devices that never end.
#include "collectives/executors/reference.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/transports/cuda/executor.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

// A messenger that hears of a lost peer while the host waits.
class LosesPeer final : public cuda::Messenger {
 public:
  void begin_group() override {}
  void send(Rank, Rank, const void*, std::size_t, cuda::Stream) override {}
  void receive(Rank, Rank, void*, std::size_t, cuda::Stream) override {}
  void end_group() override {}
  void look() override { throw RunError("rank 1 is lost"); }
};

const Schedule ring = build({.algorithm = "ring", .ranks = 2});

void prepare(cuda::Executor& executor) {
  executor.prepare(plan_streams(ring, {.elements = 10, .reads = [&](Rank reader, Rank owner) { return executor.reads(reader, owner); }}));
}

}  // namespace

TEST_CASE("fake cuda: a driver that is too old is an error with both versions, and no driver is no GPU") {
  {
    const Variable old("WEFT_FAKE_DRIVER", "12020");
    CHECK_THROWS_WITH_AS(static_cast<void>(cuda::device_count()),
                         "cuda: the driver is for CUDA 12.2, and this program was built for CUDA 13.0: install a newer driver", RunError);
  }
  const Variable none("WEFT_FAKE_DRIVER", "0");
  CHECK(cuda::device_count() == 0);
}

TEST_CASE("fake cuda: the ranks' device is used, whatever device the caller uses, which it does afterwards") {
  if (cuda::device_count() < 2) return;
  const cuda::KeptDevice callers;
  cuda::use_device(1);  // the runtime refuses kernels of device 0 on streams of device 1
  cuda::Executor executor({.devices = {0, 0}});
  CHECK(cuda::current_device() == 1);
  prepare(executor);
  CHECK(executor.run() > 0);
  executor.capture();
  CHECK(executor.run() > 0);
  std::vector<std::byte> data(40);
  executor.write(0, data);
  executor.read(1, data);
  CHECK(cuda::current_device() == 1);
}

TEST_CASE("fake cuda: a graph's time is that of its work, 1 us an operation, and of nothing that the host does") {
  cuda::Executor executor({.devices = {0, 0}});
  prepare(executor);
  const double enqueued = executor.run();
  executor.capture();
  CHECK(executor.run() > 0);
  CHECK(executor.run() <= enqueued);
}

TEST_CASE("fake cuda: where a graph is of one device only, each device has its own, and the results are the same") {
  if (cuda::device_count() < 2) return;
  const Variable graphs("WEFT_FAKE_GRAPHS", "1");
  for (const char* algorithm : {"ring", "recursive_doubling", "halving_doubling", "direct"})
    for (const bool marks : {false, true}) {
      CAPTURE(algorithm);
      const Schedule s = build({.algorithm = algorithm, .ranks = 4});
      cuda::Executor executor({.devices = cuda::devices_of_ranks(4, cuda::device_count())});
      std::vector<std::byte> memory(buffer_bytes(s, 1003, DType::int32));
      const Buffer buffer{{.elements = 1003, .chunks = s.chunks}, DType::int32, memory.data()};
      executor.prepare(plan_streams(s, {.elements = 1003,
                                        .dtype = DType::int32,
                                        .reads = [&](Rank reader, Rank owner) { return executor.reads(reader, owner); },
                                        .marks = marks}));
      executor.run();
      executor.capture();
      for (int again = 0; again < 2; ++again) {
        for (Rank r = 0; r < 4; ++r) fill(s, ReduceOp::sum, {}, r, buffer), executor.write(r, memory);
        CHECK(executor.run() > 0);
        for (Rank r = 0; r < 4; ++r) {
          executor.read(r, memory);
          const RankResult result{r, buffer};
          CHECK(verify(s, ReduceOp::sum, {}, std::span(&result, 1)).first_wrong == "");
        }
      }
    }
}

TEST_CASE("fake cuda: what the messenger hears while devices hang ends the wait, and nothing that they use is freed") {
  const Variable hang("WEFT_FAKE_STUCK", "1");
  LosesPeer messenger;
  auto executor = std::make_unique<cuda::Executor>(cuda::ExecutorSettings{.devices = {0, 0}, .messenger = &messenger});
  prepare(*executor);
  CHECK_THROWS_WITH_AS(executor->run(), "rank 1 is lost", RunError);
  const auto* memory = static_cast<const std::byte*>(executor->message(0));
  executor.reset();
  CHECK(static_cast<int>(memory[0]) >= 0);  // the address sanitizer would see it freed
}

TEST_CASE("fake cuda: devices that hang without a word are given up after a while") {
  const Variable hang("WEFT_FAKE_STUCK", "1");
  cuda::Executor executor({.devices = {0, 0}, .patience = std::chrono::milliseconds(20)});
  prepare(executor);
  CHECK_THROWS_AS(executor.run(), cuda::StuckError);
}
