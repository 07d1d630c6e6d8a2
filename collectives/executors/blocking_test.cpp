#include "collectives/executors/blocking.hpp"

#include "collectives/transports/threads.hpp"

#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace weft;

namespace {

// Runs on real memory of one int32 a chunk; rank r starts with 10 * (r + 1) + c in chunk c.
std::vector<std::vector<std::int32_t>> run(const Schedule& s, ReduceOp op = ReduceOp::sum) {
  std::vector<std::vector<std::int32_t>> memory;
  std::vector<Buffer> buffers;
  for (Rank r = 0; r < s.ranks; ++r) {
    memory.emplace_back(buffer_bytes(s, s.chunks, DType::int32) / 4);
    std::iota(memory.back().begin(), memory.back().end(), 10 * (r + 1));
  }
  for (auto& m : memory)
    buffers.push_back({{.elements = s.chunks, .chunks = s.chunks}, DType::int32, reinterpret_cast<std::byte*>(m.data())});
  run_threads(s, op, buffers);
  return memory;
}

// Writes down what it is asked for.
class Recorder final : public Transport {
 public:
  void receive(Rank from, Tag tag, ByteSpan into) override { add("receive", from, tag, into.data(), into.size()); }
  void send(Rank to, Tag tag, ByteView bytes) override { add("send", to, tag, bytes.data(), bytes.size()); }
  void wait() override { calls.push_back("wait"); }
  void reduce(DType, ReduceOp op, ByteSpan into, ByteView from) override {
    calls.push_back(fmt::format("{} {}{}", name_of(op), into.size(), from.data() == nullptr ? " without data" : ""));
  }
  std::vector<std::string> calls;

 private:
  void add(const char* what, Rank peer, Tag tag, const std::byte* data, std::size_t size) {
    calls.push_back(fmt::format("{} {} {} of {}{}", what, peer, to_string(name_of(tag)), size, data == nullptr ? " without data" : ""));
  }
};

}  // namespace

TEST_CASE("blocking: reads of a step come before its writes") {
  Schedule s{.ranks = 2};
  Step& step = s.add_step();
  step.copy({.from = 0, .to = 1});
  step.copy({.from = 1, .to = 0});
  CHECK(run(s) == std::vector<std::vector<std::int32_t>>{{20}, {10}});

  Schedule both{.ranks = 2};
  Step& exchange = both.add_step();
  exchange.reduce({.from = 0, .to = 1});
  exchange.reduce({.from = 1, .to = 0});
  CHECK(run(both) == std::vector<std::vector<std::int32_t>>{{30}, {30}});
}

TEST_CASE("blocking: a local copy reads what was there before the step") {
  Schedule s{.ranks = 2, .chunks = 2, .extra_chunks = 1};
  Step& step = s.add_step();
  step.copy({.from = 0, .to = 1, .chunk = 0});             // 1's chunk 0 becomes 10
  step.copy({.from = 1, .to = 1, .chunk = 0, .into = 2});  // and chunk 2 what chunk 0 was: 20
  step.copy({.from = 1, .to = 1, .chunk = 2, .into = 1});  // and chunk 1 what chunk 2 was: 22
  CHECK(run(s)[1] == std::vector<std::int32_t>{10, 22, 20});
}

TEST_CASE("blocking: writes to one chunk happen in the order of the step") {
  Schedule s{.ranks = 3};
  Step& step = s.add_step();
  step.reduce({.from = 2, .to = 0});
  step.copy({.from = 1, .to = 0});
  CHECK(run(s)[0] == std::vector<std::int32_t>{20});

  Schedule other{.ranks = 3};
  Step& turned = other.add_step();
  turned.copy({.from = 1, .to = 0});
  turned.reduce({.from = 2, .to = 0});
  turned.reduce({.from = 0, .to = 0});
  CHECK(run(other)[0] == std::vector<std::int32_t>{20 + 30 + 10});

  Schedule local_first{.ranks = 2, .chunks = 2};
  Step& begun = local_first.add_step();
  begun.copy({.from = 0, .to = 0, .chunk = 1, .into = 0});
  begun.reduce({.from = 1, .to = 0, .chunk = 0});
  CHECK(run(local_first)[0] == std::vector<std::int32_t>{11 + 20, 11});
}

TEST_CASE("blocking: avg divides once, at the end") {
  Schedule s{.ranks = 2};
  Step& exchange = s.add_step();
  exchange.reduce({.from = 0, .to = 1});
  exchange.reduce({.from = 1, .to = 0});
  CHECK(run(s, ReduceOp::avg) == std::vector<std::vector<std::int32_t>>{{15}, {15}});
}

TEST_CASE("blocking: channels run side by side") {
  Schedule s{.ranks = 2, .chunks = 2};
  s.channels.resize(2);
  s.channels[0].add().copy({.from = 0, .to = 1, .chunk = 0});
  s.channels[1].add().copy({.from = 1, .to = 0, .chunk = 1});
  CHECK(run(s) == std::vector<std::vector<std::int32_t>>{{10, 21}, {10, 21}});
}

TEST_CASE("blocking: without data a transport sees the same messages, and their sizes") {
  Schedule s{.ranks = 2, .chunks = 3};
  Step& first = s.add_step();
  first.reduce({.from = 0, .to = 1, .chunk = 0});
  first.copy({.from = 1, .to = 0, .chunk = 1, .count = 2});
  s.add_step().reduce({.from = 1, .to = 1, .chunk = 2});

  StepWindow window(s.channels[0], 2);
  for (Rank r : {0, 1}) {
    CAPTURE(r);
    const Buffer sizes{{.elements = 10, .chunks = 3}, DType::float64, nullptr};
    Recorder filtered, windowed;
    FilteredSteps own(s.channels[0], r);
    run_blocking(own, 3, ReduceOp::avg, sizes, filtered);
    WindowedSteps shared(window, r);
    run_blocking(shared, 3, ReduceOp::avg, sizes, windowed);
    CHECK(filtered.calls == windowed.calls);
    if (r == 0)
      CHECK(filtered.calls == std::vector<std::string>{"receive 1 channel 3, step 0, message 1 of 56 without data",
                                                       "send 1 channel 3, step 0, message 0 of 24 without data", "wait", "wait"});
    else
      CHECK(filtered.calls == std::vector<std::string>{"receive 0 channel 3, step 0, message 0 of 24 without data",
                                                       "send 0 channel 3, step 0, message 1 of 56 without data", "wait",
                                                       "sum 24 without data", "wait", "sum 32 without data"});
  }
}

TEST_CASE("blocking: extra chunks lie behind the message and have its chunks' sizes") {
  const Schedule s{.ranks = 1, .chunks = 3, .extra_chunks = 4};
  std::vector<std::byte> memory(buffer_bytes(s, 10, DType::int32));
  CHECK(memory.size() == (10 + 10 + 3) * 4);
  const Buffer buffer{{.elements = 10, .chunks = 3}, DType::int32, memory.data()};
  for (int c = 0; c < 7; ++c) CHECK(buffer.chunks(c, 1).size() == buffer.chunks(c % 3, 1).size());
  CHECK(buffer.chunks(3, 1).data() == memory.data() + 40);
  CHECK(buffer.chunks(2, 2).size() == (4 + 3) * 4);
}

TEST_CASE("transport: a tag names channel, step and position, and says when they do not fit") {
  const MessageName m = name_of(tag_of({.channel = 4095, .step = (1 << 26) - 1, .position = 77}));
  CHECK(m.channel == 4095);
  CHECK(m.step == (1 << 26) - 1);
  CHECK(m.position == 77);
  CHECK(to_string(name_of(tag_of({.step = 2, .position = 5}))) == "step 2, message 5");
  CHECK_THROWS_WITH_AS(tag_of({.channel = 4096}), "internal error: channel 4096, step 0, position 0 do not fit a tag", std::logic_error);
}
