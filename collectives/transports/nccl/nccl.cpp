#include "collectives/transports/nccl/nccl.hpp"

#include "kernels/base/error.hpp"

#include <fmt/format.h>
#include <nccl.h>

namespace weft {
namespace {

constexpr bool has_alltoall = NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0);

void check_nccl(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) [[likely]]
    return;
  const char* detail = ncclGetLastError(nullptr);
  const bool says_more = detail != nullptr && *detail != '\0';
  throw RunError(fmt::format("nccl: {}: {}{}{}", what, ncclGetErrorString(result), says_more ? ": " : "", says_more ? detail : ""));
}

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return ncclFloat16;
    case DType::bfloat16:
      return ncclBfloat16;
    case DType::float32:
      return ncclFloat32;
    case DType::float64:
      return ncclFloat64;
    case DType::int32:
      return ncclInt32;
    case DType::int64:
      return ncclInt64;
    case DType::uint8:
      return ncclUint8;
  }
  return ncclNumTypes;
}

// ncclNumOps where NCCL has none.
ncclRedOp_t op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return ncclSum;
    case ReduceOp::min:
      return ncclMin;
    case ReduceOp::max:
      return ncclMax;
    case ReduceOp::prod:
      return ncclProd;
    case ReduceOp::avg:
      return ncclAvg;
    default:
      return ncclNumOps;
  }
}

// One rank's part of a collective of NCCL.
struct Call {
  const Schedule& schedule;
  Rank rank;
  std::byte* data;
  std::int64_t elements;
  ncclDataType_t type;
  std::size_t unit;
  ncclRedOp_t op;
  ncclComm_t communicator;
  cuda::Stream stream;
};

void enqueue(const Call& c) {
  const auto all = static_cast<std::size_t>(c.elements), block = all / static_cast<std::size_t>(c.schedule.ranks);
  std::byte* const own = c.data + static_cast<std::size_t>(c.rank) * block * c.unit;
  switch (c.schedule.collective) {
    case Collective::allreduce:
      return check_nccl(ncclAllReduce(c.data, c.data, all, c.type, c.op, c.communicator, c.stream), "ncclAllReduce");
    case Collective::reduce:
      return check_nccl(ncclReduce(c.data, c.data, all, c.type, c.op, c.schedule.root, c.communicator, c.stream), "ncclReduce");
    case Collective::broadcast:
      return check_nccl(ncclBroadcast(c.data, c.data, all, c.type, c.schedule.root, c.communicator, c.stream), "ncclBroadcast");
    case Collective::reduce_scatter:
      return check_nccl(ncclReduceScatter(c.data, own, block, c.type, c.op, c.communicator, c.stream), "ncclReduceScatter");
    case Collective::allgather:
      return check_nccl(ncclAllGather(own, c.data, block, c.type, c.communicator, c.stream), "ncclAllGather");
    case Collective::alltoall:
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
      return check_nccl(ncclAlltoAll(c.data, c.data + all * c.unit, block, c.type, c.communicator, c.stream), "ncclAlltoAll");
#endif
    case Collective::barrier:
      check(false, "NCCL was asked for a {}", name_of(c.schedule.collective));
  }
}

}  // namespace

struct NcclWorld::Communicators {
  std::vector<ncclComm_t> of_rank;

  ~Communicators() {
    for (const ncclComm_t c : of_rank)
      if (c != nullptr) static_cast<void>(ncclCommDestroy(c));  // fails only after another call has failed
  }
};

NcclWorld::NcclWorld(const std::vector<int>& devices) : communicators_(std::make_unique<Communicators>()) {
  communicators_->of_rank.resize(devices.size());
  check_nccl(ncclCommInitAll(communicators_->of_rank.data(), static_cast<int>(devices.size()), devices.data()), "ncclCommInitAll");
}

NcclWorld::~NcclWorld() = default;

void NcclWorld::begin_group() { check_nccl(ncclGroupStart(), "ncclGroupStart"); }

void NcclWorld::send(Rank from, Rank to, const void* data, std::size_t bytes, cuda::Stream stream) {
  check_nccl(ncclSend(data, bytes, ncclUint8, to, communicators_->of_rank[static_cast<std::size_t>(from)], stream), "ncclSend");
}

void NcclWorld::receive(Rank at, Rank from, void* into, std::size_t bytes, cuda::Stream stream) {
  check_nccl(ncclRecv(into, bytes, ncclUint8, from, communicators_->of_rank[static_cast<std::size_t>(at)], stream), "ncclRecv");
}

void NcclWorld::end_group() { check_nccl(ncclGroupEnd(), "ncclGroupEnd"); }

void NcclWorld::look() {
  for (std::size_t r = 0; r < communicators_->of_rank.size(); ++r) {
    ncclResult_t error = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(communicators_->of_rank[r], &error), "ncclCommGetAsyncError");
    check_nccl(error, fmt::format("rank {}", r).c_str());
  }
}

bool NcclWorld::has(Collective collective, DType, ReduceOp op) {
  if (collective == Collective::barrier || (collective == Collective::alltoall && !has_alltoall)) return false;
  const bool reduces = collective == Collective::allreduce || collective == Collective::reduce || collective == Collective::reduce_scatter;
  return !reduces || op_of(op) != ncclNumOps;
}

void NcclWorld::run(const Schedule& s, DType dtype, ReduceOp op, std::int64_t elements, const cuda::Executor& executor) {
  begin_group();
  for (Rank r = 0; r < s.ranks; ++r)
    enqueue({s, r, static_cast<std::byte*>(executor.message(r)), elements, type_of(dtype), size_of(dtype), op_of(op),
             communicators_->of_rank[static_cast<std::size_t>(r)], executor.stream(r)});
  end_group();
}

std::string NcclWorld::version() {
  int v = 0;
  check_nccl(ncclGetVersion(&v), "ncclGetVersion");
  return fmt::format("{}.{}.{}", v / 10000, v % 10000 / 100, v % 100);
}

}  // namespace weft
