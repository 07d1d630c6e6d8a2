// Every algorithm of the registry on the device: several ranks share each GPU.
#include "collectives/transports/cuda/executor.hpp"

#include "collectives/executors/reference.hpp"
#include "collectives/registry/registry.hpp"
#include "kernels/testing/gpu.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::vector<int> devices(int ranks) { return cuda::devices_of_ranks(ranks, cuda::device_count()); }

StreamPlan plan(const cuda::Executor& executor, const Schedule& s, const Buffer& buffer, ReduceOp op, bool marks = false) {
  return plan_streams(s, {.elements = buffer.layout.elements,
                          .dtype = buffer.dtype,
                          .op = op,
                          .reads = [&](Rank reader, Rank owner) { return executor.reads(reader, owner); },
                          .marks = marks});
}

// The collective's data on the device, and what a run makes of it.
class Case {
 public:
  Case(cuda::Executor& executor, const Schedule& s, std::int64_t elements, DType dtype, ReduceOp op)
      : executor_(executor),
        s_(s),
        op_(op),
        memory_(buffer_bytes(s, elements, dtype)),
        buffer_{{elements, s.chunks}, dtype, memory_.data()} {}

  const Buffer& buffer() const { return buffer_; }
  void prepare(bool marks = false) { executor_.prepare(plan(executor_, s_, buffer_, op_, marks)); }
  void fill_all() {
    for (Rank r = 0; r < s_.ranks; ++r) fill(s_, op_, {}, r, buffer_), executor_.write(r, memory_);
  }
  std::string fault() {
    for (Rank r = 0; r < s_.ranks; ++r) {
      executor_.read(r, memory_);
      const RankResult result{r, buffer_};
      if (const Verdict v = verify(s_, op_, {}, std::span(&result, 1)); v.wrong > 0) return v.first_wrong;
    }
    return {};
  }

 private:
  cuda::Executor& executor_;
  const Schedule& s_;
  const ReduceOp op_;
  std::vector<std::byte> memory_;
  const Buffer buffer_;
};

std::vector<Request> requests(int ranks) {
  std::vector<Request> all;
  for (const Algorithm& a : algorithms()) {
    Request q{.collective = a.collective, .algorithm = std::string(a.name), .ranks = ranks, .root = ranks - 1};
    if (a.takes_group) q.settings.group = ranks;
    if (a.can_be_cut) q.settings.channels = 2;
    if (!constraints(q).empty()) continue;
    all.push_back(q);
    if (a.takes_servers) q.settings.servers = 2, q.settings.server_hosts = ServerHosts::extra, all.push_back(q);
  }
  return all;
}

}  // namespace

TEST_CASE("cuda: ranks are spread over the devices in blocks") {
  CHECK(cuda::devices_of_ranks(4, 1) == std::vector<int>{0, 0, 0, 0});
  CHECK(cuda::devices_of_ranks(4, 2) == std::vector<int>{0, 0, 1, 1});
  CHECK(cuda::devices_of_ranks(3, 2) == std::vector<int>{0, 0, 1});
  CHECK(cuda::devices_of_ranks(2, 8) == std::vector<int>{0, 1});
}

TEST_CASE("cuda: every algorithm leaves the right data on the device, enqueued and replayed") {
  if (test::no_gpu()) return;
  constexpr DType types[] = {DType::float32, DType::bfloat16, DType::int64, DType::uint8};
  int cases = 0;
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const Request& q : requests(ranks)) {
      const Schedule s = build(q);
      cuda::Executor executor({.devices = devices(s.ranks)});
      const std::int64_t elements = q.collective == Collective::barrier    ? 0
                                    : q.collective == Collective::alltoall ? 333 * s.chunks
                                                                           : 10'007;
      Case c(executor, s, elements, types[cases % 4], cases % 3 == 0 ? ReduceOp::avg : ReduceOp::sum);
      CAPTURE(q.algorithm);
      CAPTURE(ranks);
      ++cases;
      c.prepare();
      c.fill_all();
      CHECK(executor.run() > 0);
      CHECK(c.fault() == "");
      executor.capture();
      c.fill_all();
      CHECK(executor.run() > 0);
      CHECK(c.fault() == "");
    }
}

TEST_CASE("cuda: one executor runs plans of all sizes") {
  if (test::no_gpu()) return;
  const Schedule s = build({.algorithm = "ring", .ranks = 3});
  cuda::Executor executor({.devices = devices(3)});
  for (const std::int64_t elements : {1, 1'000'003, 5, 0, 3'000'000}) {
    CAPTURE(elements);
    Case c(executor, s, elements, DType::float32, ReduceOp::sum);
    c.prepare();
    c.fill_all();
    executor.run();
    CHECK(c.fault() == "");
  }
}

TEST_CASE("cuda: many runs back to back leave what each leaves, and their time is that of one") {
  if (test::no_gpu()) return;
  const Schedule s = build({.algorithm = "recursive_doubling", .ranks = 4});
  cuda::Executor executor({.devices = devices(4)});
  Case c(executor, s, 1'003, DType::int32, ReduceOp::max);  // a maximum of maxima is the same
  c.prepare();
  for (const bool graph : {false, true})
    for (const std::int64_t count : {1, 2, 100}) {
      CAPTURE(graph);
      CAPTURE(count);
      c.fill_all();
      const double one = executor.run();
      if (graph) executor.capture();
      const double mean = executor.run(count);
      CHECK(mean > 0);
      if (count == 100 && !graph) CHECK(mean < 20 * one);
      CHECK(c.fault() == "");
    }
}

TEST_CASE("cuda: marks are in order, replayed too") {
  if (test::no_gpu()) return;
  const Schedule s = build({.algorithm = "recursive_doubling", .ranks = 4});
  cuda::Executor executor({.devices = devices(4)});
  Case c(executor, s, 100'000, DType::float32, ReduceOp::sum);
  c.prepare(true);
  c.fill_all();
  const StreamPlan marked = plan(executor, s, c.buffer(), ReduceOp::sum, true);
  for (const bool graph : {false, true}) {
    CAPTURE(graph);
    if (graph) executor.capture();
    executor.run();
    const std::vector<double> times = executor.marks_us();
    for (const MarkedOperation& m : marked.marked)
      CHECK(times[static_cast<std::size_t>(m.start)] <= times[static_cast<std::size_t>(m.end)]);
  }
  CHECK(executor.clocks().size() == 4);
  CHECK(executor.clocks()[0].error_us == 0);
}
