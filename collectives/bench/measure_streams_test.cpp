// The measurement on streams, with a host that plays the devices.
#include "collectives/bench/testing.hpp"
#include "collectives/bench/worlds/worlds.hpp"
#include "collectives/executors/stream/run_on_host.hpp"
#if WEFT_HAVE_CUDA
#include "kernels/cuda/runtime.hpp"
#endif

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::bench;

namespace {

// A run takes 1 us for each operation, or what a test says; rank r's clock shows 100 r us more than
// rank 0's.
class HostWorld final : public StreamWorld {
 public:
  explicit HostWorld(int ranks) : ranks_(ranks) {}

  int ranks() const override { return ranks_; }
  void prepare(const StreamJob& job) override {
    plan_ = plan_streams(job.schedule, {.elements = job.elements, .dtype = job.dtype, .op = job.op, .marks = job.marks});
    memory_.assign(static_cast<std::size_t>(ranks_), std::vector<std::byte>(static_cast<std::size_t>(plan_.memories[0])));
    captured = false;
    algorithm_ = job.algorithm;
    elements_ = job.elements;
  }
  void write(Rank r, ByteView bytes) override { std::memcpy(memory_[static_cast<std::size_t>(r)].data(), bytes.data(), bytes.size()); }
  void read(Rank r, ByteSpan bytes) const override { std::memcpy(bytes.data(), memory_[static_cast<std::size_t>(r)].data(), bytes.size()); }
  void capture() override { captured = true; }
  double run(std::int64_t count) override {
    counts.push_back(count);
    for (std::int64_t i = 0; i < count; ++i) run_once();
    return time_us ? time_us(algorithm_, elements_) : static_cast<double>(plan_.operations.size());
  }
  std::vector<MarkedOperation> marked() const override { return plan_.marked; }
  std::vector<double> marks_us() const override {
    std::vector<double> shown = marks_;
    for (const StreamOperation& o : plan_.operations)
      if (o.kind == StreamOperation::Kind::mark) shown[static_cast<std::size_t>(o.event)] += 100 * plan_.rank_of_stream(o.stream);
    return shown;
  }
  std::vector<ClockOffset> clocks() const override {
    std::vector<ClockOffset> all;
    for (Rank r = 0; r < ranks_; ++r) all.push_back({100.0 * r, r * 0.5});
    return all;
  }

  int enqueued = 0, replayed = 0;
  bool captured = false, spoil = false;
  std::function<double(const std::string& algorithm, std::int64_t elements)> time_us = {};
  std::vector<std::int64_t> counts;  // of runs back to back

 private:
  void run_once() {
    ++(captured ? replayed : enqueued);
    std::vector<std::byte*> messages;
    for (auto& m : memory_) messages.push_back(m.data());
    PlanOnHost host(plan_, messages);
    CHECK(host.run() == "");
    marks_ = {host.marks().begin(), host.marks().end()};
    if (spoil) memory_[1][4] ^= std::byte{1};
  }

  const int ranks_;
  StreamPlan plan_;
  std::string algorithm_;
  std::int64_t elements_ = 0;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<double> marks_;
};

}  // namespace

TEST_CASE("bench on streams: every algorithm and size becomes a row with right data") {
  HostWorld world(3);
  Heard heard;
  measure(
      world,
      settings_of({"-n", "3", "--algorithm", "ring,direct", "-b", "4", "-e", "1K", "-f", "16", "--iterations", "3", "-w", "2", "-I", "1"}),
      heard.hear());
  REQUIRE(heard.rows.size() == 6);
  for (const Row& r : heard.rows) {
    CHECK(r.wrong == 0);
    CHECK(r.times_us.size() == 3);
  }
  CHECK(heard.rows[1].size_bytes == 64);
  CHECK(heard.rows[5].algorithm == "direct");
  CHECK(world.enqueued == 6 * (2 + 3 + 1));
  CHECK(world.replayed == 0);
}

TEST_CASE("bench on streams: iterations are one run back to back, and -m makes each of several collectives") {
  HostWorld world(2);
  Heard heard;
  measure(world, settings_of({"-n", "2", "-b", "64", "--iterations", "5", "-w", "2", "-m", "3"}), heard.hear());
  REQUIRE(heard.rows.size() == 1);
  CHECK(heard.rows[0].times_us.size() == 1);
  CHECK(world.counts == std::vector<std::int64_t>{3, 3, 3 * 5, 1});
  world.counts.clear();
  measure(world, settings_of({"-n", "2", "-b", "64", "--iterations", "2", "-w", "0", "-m", "3", "-I", "1"}), heard.hear());
  CHECK(world.counts == std::vector<std::int64_t>{3, 3, 1});
}

TEST_CASE("bench on streams: auto takes for each size the fastest of all algorithms, and says so") {
  HostWorld world(4);
  // direct is faster up to 90 / (1/11 - 1/1024) = 1000.8 elements
  world.time_us = [](const std::string& algorithm, std::int64_t elements) {
    const auto count = static_cast<double>(elements);
    return algorithm == "ring" ? 100 + count / 1024 : algorithm == "direct" ? 10 + count / 11 : 1e6;
  };
  Settings settings = settings_of({"-n", "4", "-b", "1K", "-e", "16K", "-f", "2"});
  settings.algorithms = {"auto"};  // of GPUs, which not every build has
  Heard heard;
  measure(world, settings, heard.hear());
  REQUIRE(heard.rows.size() == 5);
  for (const Row& row : heard.rows) {
    CHECK(row.wrong == 0);
    CHECK(row.algorithm == (row.count < 1000 ? "direct" : "ring"));  // 256, 512; 1024, 2048, 4096
  }
  CHECK(heard.note == "auto: the fastest of 5 runs of each algorithm that can run: direct to 2048 B, ring to 16384 B");
}

TEST_CASE("bench on streams: wrong data are counted") {
  HostWorld world(3);
  world.spoil = true;
  Heard heard;
  measure(world, settings_of({"-n", "3", "-b", "64", "--iterations", "1"}), heard.hear());
  REQUIRE(heard.rows.size() == 1);
  CHECK(heard.rows[0].wrong == 1);
  CHECK(heard.rows[0].first_wrong.find("rank 1, element 1: ") == 0);
}

TEST_CASE("bench on streams: a graph is captured after one run, and replayed in all that count") {
  HostWorld world(2);
  Heard heard;
  // cuda is not a transport of every build
  Settings s = settings_of({"-n", "2", "-b", "64", "--iterations", "4", "-w", "1"});
  s.graph = true;
  measure(world, s, heard.hear());
  CHECK(world.enqueued == 1);
  CHECK(world.replayed == 1 + 4 + 1);
  CHECK(heard.rows.at(0).wrong == 0);
}

TEST_CASE("bench on streams: a trace is on rank 0's clock") {
  HostWorld world(2);
  Heard heard;
  measure(world, settings_of({"-n", "2", "-b", "1K", "--iterations", "1", "--trace", "unused.json"}), heard.hear());
  REQUIRE(heard.traces.size() == 1);
  REQUIRE(heard.clocks.size() == 2);
  CHECK(heard.clocks[1].offset_us == 0);
  CHECK(heard.clocks[1].error_us == 0.5);
  CHECK(heard.traces[0].records.size() == 8);  // 2 steps of 2 ranks, each a send and a receive
  for (const Record& r : heard.traces[0].records) {
    CHECK(r.bytes == 512);
    CHECK(r.peer == 1 - r.rank);
    CHECK(r.start_us < r.end_us);
    CHECK(r.end_us < 100);
  }
  CHECK(heard.traces[0].records[0].operation == Operation::receive_reduce);
}

TEST_CASE("bench on streams: without CUDA or without a device there is one message") {
  CHECK(problems_of({"--graph"}) == std::vector<std::string>{"--graph: only for --transport cuda and nccl"});
#if WEFT_HAVE_CUDA
  if (cuda::device_count() == 0)
    CHECK_THROWS_WITH_AS(cuda_world(settings_of({"--transport", "cuda"})), doctest::Contains("no CUDA device is visible: "), InputError);
#else
  CHECK(problems_of({"--transport", "cuda"}) ==
        std::vector<std::string>{"--transport cuda: this build has no CUDA: configure it again where nvcc 12 or newer is found"});
#endif
#if WEFT_HAVE_NCCL
  CHECK(problems_of({"--transport", "nccl", "--collective", "barrier", "--algorithm", "dissemination"}) ==
        std::vector<std::string>{"--collective barrier: carries no data, and NCCL nothing else"});
  if (const int devices = cuda::device_count(); devices > 0) {
    const std::string ranks = std::to_string(devices + 1);
    CHECK_THROWS_WITH_AS(nccl_world(settings_of({"--transport", "nccl", "-n", ranks})),
                         doctest::Contains("-n: NCCL takes one rank for each GPU"), InputError);
  }
#else
  CHECK(problems_of({"--transport", "nccl"}).at(0).find("this build has no ") != std::string::npos);
#endif
}
