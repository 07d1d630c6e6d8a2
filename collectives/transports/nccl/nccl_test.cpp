// Schedules over NCCL, and NCCL's own collectives: as many ranks as there are GPUs.
#include "collectives/transports/nccl/nccl.hpp"

#include "collectives/executors/reference.hpp"
#include "collectives/registry/registry.hpp"
#include "kernels/testing/gpu.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

bool no_nccl() {
  try {
    static_cast<void>(NcclWorld::version());
    return false;
  } catch (const RunError& e) {
    MESSAGE("skipped: " << e.what());
    return true;
  }
}

std::string fault(cuda::Executor& executor, const Schedule& s, const Buffer& buffer, ReduceOp op) {
  const std::size_t bytes = buffer_bytes(s, buffer.layout.elements, buffer.dtype);
  for (Rank r = 0; r < s.ranks; ++r) {
    fill(s, op, {}, r, buffer);
    executor.write(r, {buffer.data, bytes});
  }
  executor.run();
  for (Rank r = 0; r < s.ranks; ++r) {
    executor.read(r, {buffer.data, bytes});
    const RankResult result{r, buffer};
    if (const Verdict v = verify(s, op, {}, std::span(&result, 1)); v.wrong > 0) return v.first_wrong;
  }
  return {};
}

StreamPlan plan(const Schedule& s, const Buffer& buffer, ReduceOp op) {
  return plan_streams(
      s, {.elements = buffer.layout.elements, .dtype = buffer.dtype, .op = op, .carriage = StreamPlanSettings::Carriage::messages});
}

}  // namespace

TEST_CASE("nccl: what it has of its own") {
  if (no_nccl()) return;
  CHECK(NcclWorld::has(Collective::allreduce, DType::bfloat16, ReduceOp::avg));
  CHECK(NcclWorld::has(Collective::allgather, DType::uint8, ReduceOp::band));
  CHECK(!NcclWorld::has(Collective::allreduce, DType::int32, ReduceOp::band));
  CHECK(!NcclWorld::has(Collective::barrier, DType::int32, ReduceOp::sum));
  CHECK(NcclWorld::version().find('.') != std::string::npos);
}

TEST_CASE("nccl: a library that is not there is named, with what the system says of it") {
  const char* const library = getenv("WEFT_NCCL_LIBRARY");
  if (library == nullptr || std::string(library) != "/nowhere/libnccl.so.2") return;  // ctest runs the tests like this too
  CHECK_THROWS_WITH_AS(NcclWorld::version(),
                       "nccl: its library cannot be loaded, and WEFT_NCCL_LIBRARY may name its file: /nowhere/libnccl.so.2: cannot open "
                       "shared object file: No such file or directory",
                       RunError);
}

TEST_CASE("nccl: schedules and NCCL's own collectives leave the right data, enqueued and replayed") {
  if (test::no_gpu() || no_nccl()) return;
  const int ranks = cuda::device_count();
  const std::vector<int> devices = cuda::devices_of_ranks(ranks, ranks);
  NcclWorld nccl(devices);
  cuda::Executor executor({.devices = devices, .messenger = &nccl});
  for (const Algorithm& a : algorithms()) {
    Request q{.collective = a.collective, .algorithm = std::string(a.name), .ranks = ranks};
    if (a.takes_group) q.settings.group = ranks;
    if (!constraints(q).empty() || a.collective == Collective::barrier) continue;
    CAPTURE(name_of(a.collective));
    CAPTURE(a.name);
    const Schedule s = build(q);
    std::vector<std::byte> memory(buffer_bytes(s, 1000 * s.chunks, DType::float32));
    const Buffer buffer{{.elements = 1000 * s.chunks, .chunks = s.chunks}, DType::float32, memory.data()};
    executor.prepare(plan(s, buffer, ReduceOp::sum));
    CHECK(fault(executor, s, buffer, ReduceOp::sum) == "");
    executor.capture();
    CHECK(fault(executor, s, buffer, ReduceOp::sum) == "");
    if (!NcclWorld::has(a.collective, DType::float32, ReduceOp::sum) || s.extra_chunks > ranks || s.chunks % ranks != 0) continue;
    executor.replace([&] { nccl.run(s, DType::float32, ReduceOp::sum, 1000 * s.chunks, executor); });
    CHECK(fault(executor, s, buffer, ReduceOp::sum) == "");
  }
}
