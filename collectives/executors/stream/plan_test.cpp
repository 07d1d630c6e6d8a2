#include "collectives/executors/stream/plan.hpp"

#include "collectives/executors/stream/run_on_host.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/transports/run_on_threads.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

using Kind = StreamOperation::Kind;
using Carriage = StreamPlanSettings::Carriage;

// The ways in which transfers can cross: everybody reads everybody's memory, only that of ranks of the same parity (two
// GPUs without peer access), or messages.
struct Way {
  const char* name;
  Carriage carriage;
  std::function<bool(Rank, Rank)> reads;
};
const std::vector<Way> ways = {{"pull", Carriage::pull, nullptr},
                               {"pull, staged between GPUs", Carriage::pull, [](Rank a, Rank b) { return a % 2 == b % 2; }},
                               {"messages", Carriage::messages, nullptr}};

StreamPlan plan_of(const Schedule& s, const Way& way, std::int64_t elements, bool marks = false, DType dtype = DType::float32,
                   ReduceOp op = ReduceOp::sum) {
  return plan_streams(s, {.elements = elements, .dtype = dtype, .op = op, .carriage = way.carriage, .reads = way.reads, .marks = marks});
}

std::vector<std::byte*> memories(TestBuffers& buffers, int ranks) {
  std::vector<std::byte*> all;
  for (Rank r = 0; r < ranks; ++r) all.push_back(buffers.data(r));
  return all;
}

// Empty if the plan has no race and leaves what the blocking executor leaves, to the bit.
std::string fault(const Schedule& s, const StreamPlan& plan, std::int64_t elements, DType dtype, ReduceOp op) {
  const TestData data{.values = Values::real};
  TestBuffers streams(s, op, dtype, elements, data), blocking(s, op, dtype, elements, data);
  if (const std::string f = PlanOnHost(plan, memories(streams, s.ranks)).run(); !f.empty()) return f;
  if (const Verdict v = verify(s, op, data, streams.results()); v.wrong > 0) return v.first_wrong;
  run_threads(s, op, blocking.buffers());
  for (Rank r = 0; r < s.ranks; ++r)
    if (const std::size_t bytes = buffer_bytes(s, elements, dtype); bytes > 0 && std::memcmp(streams.data(r), blocking.data(r), bytes) != 0)
      return fmt::format("rank {} holds other bits than the blocking executor leaves", r);
  return {};
}

// A request for every algorithm that runs on so many ranks, and is cut so.
std::vector<Request> requests(int ranks, int channels = 1, int pieces = 1) {
  std::vector<Request> all;
  for (const Algorithm& a : algorithms()) {
    Request q{.collective = a.collective, .algorithm = std::string(a.name), .ranks = ranks, .root = ranks * 2 / 3};
    q.settings.channels = channels;
    q.settings.pieces = pieces;
    for (int part = ranks == 1 ? 1 : 2; part <= ranks; ++part) {
      if (a.takes_group) q.settings.group = part;
      if (a.takes_servers) q.settings.servers = part;
      if (a.name == "hdrm") q.bigraph = BiGraphShape{.switches = part, .nodes_per_switch = ranks / part};
      if (!constraints(q).empty()) continue;
      all.push_back(q);
      if (a.takes_servers) q.settings.server_hosts = ServerHosts::extra, all.push_back(q);
      break;
    }
  }
  return all;
}

int check_all(const std::vector<Request>& all, std::vector<std::int64_t> sizes) {
  constexpr DType types[] = {DType::float32, DType::bfloat16, DType::uint8, DType::int64};
  constexpr ReduceOp ops[] = {ReduceOp::sum, ReduceOp::avg, ReduceOp::max};
  int cases = 0;
  for (const Request& q : all) {
    const Schedule s = build(q);
    for (std::int64_t elements : sizes)
      for (const Way& way : ways) {
        if (q.collective == Collective::barrier) elements = 0;
        if (q.collective == Collective::alltoall) elements -= elements % s.chunks;
        const DType dtype = types[cases % 4];
        const ReduceOp op = ops[cases / 4 % 3];
        CAPTURE(name_of(q.collective));
        CAPTURE(q.algorithm);
        CAPTURE(q.ranks);
        CAPTURE(elements);
        CAPTURE(way.name);
        CAPTURE(name_of(dtype));
        CAPTURE(name_of(op));
        CHECK(fault(s, plan_of(s, way, elements, cases % 2 == 0, dtype, op), elements, dtype, op) == "");
        ++cases;
      }
  }
  return cases;
}

Schedule ring(int ranks, int channels = 1) {
  Request q{.ranks = ranks};
  q.settings.channels = channels;
  return build(q);
}

std::string fault_without(const Schedule& s, StreamPlan plan, std::size_t operation) {
  plan.operations.erase(plan.operations.begin() + static_cast<std::ptrdiff_t>(operation));
  TestBuffers buffers(s, ReduceOp::sum, DType::float32, 100, {});
  return PlanOnHost(plan, memories(buffers, s.ranks)).run();
}

std::size_t count(const StreamPlan& plan, Kind kind) {
  return static_cast<std::size_t>(
      std::count_if(plan.operations.begin(), plan.operations.end(), [&](const StreamOperation& o) { return o.kind == kind; }));
}

}  // namespace

TEST_CASE("streams: every algorithm is free of races and gives the bits of the blocking executor, for 1 to 9 ranks") {
  int cases = 0;
  for (int ranks = 1; ranks <= 9; ++ranks) cases += check_all(requests(ranks), {1, 107});
  CHECK(cases > 9 * 15 * 6);
}

TEST_CASE("streams: cut into channels and pieces every algorithm is still right") {
  for (const int ranks : {4, 5}) {
    check_all(requests(ranks, 3, 1), {211});
    check_all(requests(ranks, 2, 3), {211});
  }
}

TEST_CASE("streams: a ring that pulls is one reduction or copy a transfer, and holds nothing aside") {
  const StreamPlan plan = plan_of(ring(4), ways[0], 64);
  CHECK(count(plan, Kind::reduce) == 3 * 4);
  CHECK(count(plan, Kind::copy) == 3 * 4);
  CHECK(count(plan, Kind::record) == 2 * 6 * 4);
  CHECK(count(plan, Kind::wait) == 2 * 6 * 4);
  for (std::size_t m = 4; m < plan.memories.size(); ++m) CHECK(plan.memories[m] == 0);
}

// Bytes read and written by copies and reductions, for each byte of the message.
double passes(const StreamPlan& plan) {
  std::int64_t bytes = 0;
  for (const StreamOperation& o : plan.operations) {
    if (o.kind == Kind::copy) bytes += 2 * o.bytes;
    if (o.kind == Kind::reduce) bytes += 3 * o.bytes;
    if (o.kind == Kind::reduce_many) bytes += (o.sources + 1) * o.bytes;
  }
  return static_cast<double>(bytes) / static_cast<double>(plan.memories.front());
}

TEST_CASE("streams: several receives into one chunk are one pass, and recursive doubling goes from one message to the other and back") {
  // Reduce-scatter: each of 4 ranks reads its own chunk and those of 3 others and writes one: 5 quarters. All-gather: 3 quarters, read
  // and written.
  const StreamPlan direct = plan_of(build({.algorithm = "direct", .ranks = 4}), ways[0], 64);
  CHECK(count(direct, Kind::reduce_many) == 4);
  CHECK(count(direct, Kind::reduce) == 0);
  CHECK(passes(direct) == 4 * (5 + 6) / 4.0);
  // Where nothing can be read, what lies aside is still summed in one pass.
  CHECK(count(plan_of(build({.algorithm = "direct", .ranks = 4}), ways[2], 64), Kind::reduce_many) == 4);
  // Two steps, there and back; in each 4 ranks read two messages and write one, and nothing is copied.
  const StreamPlan doubling = plan_of(build({.algorithm = "recursive_doubling", .ranks = 4}), ways[0], 64);
  CHECK(passes(doubling) == 2 * 4 * 3);
  CHECK(count(doubling, Kind::copy) == 0);
  // Three steps end in the other message: each of 8 ranks copies it back.
  CHECK(passes(plan_of(build({.algorithm = "recursive_doubling", .ranks = 8}), ways[0], 64)) == 8 * (3 * 3 + 2));
}

TEST_CASE("streams: what cannot be read is copied before it is reduced") {
  const StreamPlan plan = plan_of(ring(4), ways[1], 64);
  CHECK(count(plan, Kind::reduce) == 3 * 4);
  CHECK(count(plan, Kind::copy) == 2 * 3 * 4);
}

TEST_CASE("streams: what is held aside lies as its destination does, so that kernels find both aligned alike") {
  for (const StreamOperation& o : plan_of(ring(3), ways[2], 100).operations)
    if (o.kind == Kind::reduce) CHECK(o.from.offset % 16 == o.into.offset % 16);
}

TEST_CASE("streams: a step of messages is one group, with all channels in it") {
  CHECK(count(plan_of(ring(4), ways[2], 64), Kind::begin_group) == 6);
  const StreamPlan plan = plan_of(ring(4, 2), ways[2], 64);
  CHECK(count(plan, Kind::begin_group) == 6);
  CHECK(count(plan, Kind::send) == 2 * 6 * 4);
  CHECK(count(plan, Kind::wait) == 0);
  CHECK(plan.streams() == 4);
  CHECK(plan_of(ring(4, 2), ways[0], 64).streams() == 8);
}

TEST_CASE("streams: memories know their ranks") {
  const StreamPlan plan = plan_of(ring(3, 2), ways[0], 64);
  REQUIRE(plan.memories.size() == 12);  // a message, one for each of two channels, and a second message
  CHECK(plan.rank_of_memory(2) == 2);
  CHECK(plan.rank_of_memory(3) == 0);
  CHECK(plan.rank_of_memory(6) == 1);
  CHECK(plan.rank_of_memory(11) == 2);
}

TEST_CASE("streams: a wait that is missing is a race, and a record that is missing is noticed") {
  struct Case {
    Schedule schedule;
    int waits, needed;
  };
  // A ring needs to wait for what it reads, from the second step on; that it was read follows, after going around. Recursive doubling
  // writes to the other message: its second step needs what the first has written, and not to write what is still read in the first.
  for (const Case& c : {Case{ring(3), 24, 9}, Case{build({.algorithm = "recursive_doubling", .ranks = 4}), 16, 8}}) {
    const StreamPlan plan = plan_of(c.schedule, ways[0], 100);
    int waits = 0, races = 0;
    for (std::size_t i = 0; i < plan.operations.size(); ++i) {
      if (plan.operations[i].kind != Kind::record && plan.operations[i].kind != Kind::wait) continue;
      CAPTURE(i);
      const std::string f = fault_without(c.schedule, plan, i);
      if (plan.operations[i].kind == Kind::record) {
        CHECK(f.find("waits for an event that is not recorded yet") != std::string::npos);
        continue;
      }
      CHECK((f.empty() || f.find("some of them") != std::string::npos));
      ++waits;
      races += !f.empty();
    }
    CHECK(waits == c.waits);
    CHECK(races == c.needed);
  }
}

TEST_CASE("streams: marks enclose what a rank does in a step") {
  const Schedule s = ring(3, 2);
  for (const Way& way : ways) {
    CAPTURE(way.name);
    const StreamPlan plan = plan_of(s, way, 100, true);
    TestBuffers buffers(s, ReduceOp::sum, DType::float32, 100, {});
    PlanOnHost run(plan, memories(buffers, 3));
    REQUIRE(run.run() == "");
    int sends = 0, arrivals = 0, reductions = 0;
    for (const MarkedOperation& m : plan.marked) {
      CHECK(run.marks()[static_cast<std::size_t>(m.start)] < run.marks()[static_cast<std::size_t>(m.end)]);
      CHECK(m.bytes > 0);
      sends += m.what == MarkedOperation::What::send;
      reductions += m.what == MarkedOperation::What::reduce || m.what == MarkedOperation::What::receive_reduce;
      arrivals += m.what == MarkedOperation::What::receive || m.what == MarkedOperation::What::receive_reduce;
    }
    CHECK(sends == 2 * 4 * 3);
    CHECK(arrivals == sends);
    CHECK(reductions == sends / 2);
  }
  CHECK(plan_of(s, ways[0], 100).marks == 0);
}

TEST_CASE("streams: a transfer between chunks of different sizes is refused") {
  Schedule s{.ranks = 2, .chunks = 2};
  s.add_step().copy({.from = 0, .to = 1, .chunk = 0, .into = 1});
  CHECK_THROWS_WITH(plan_of(s, ways[0], 3), doctest::Contains("sends 4 bytes to where 8 belong"));
}
