#include "collectives/transports/nccl/nccl.hpp"

#include "kernels/base/error.hpp"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds naming_time{2000};

// NCCL's functions, found in the library when they are first needed: a program built with NCCL runs where there is none, and what the
// library can do is decided by the one that is there.
class Library {
  void* handle_ = load();  // before what is found in it

 public:
  decltype(&ncclGetVersion) get_version = find<decltype(&ncclGetVersion)>("ncclGetVersion");
  decltype(&ncclGetErrorString) error_string = find<decltype(&ncclGetErrorString)>("ncclGetErrorString");
  decltype(&ncclGetLastError) last_error = find<decltype(&ncclGetLastError)>("ncclGetLastError");
  decltype(&ncclCommInitAll) init_all = find<decltype(&ncclCommInitAll)>("ncclCommInitAll");
  decltype(&ncclGetUniqueId) get_unique_id = find<decltype(&ncclGetUniqueId)>("ncclGetUniqueId");
  decltype(&ncclCommInitRankConfig) init_rank = find<decltype(&ncclCommInitRankConfig)>("ncclCommInitRankConfig");
  decltype(&ncclCommFinalize) finalize = find<decltype(&ncclCommFinalize)>("ncclCommFinalize");
  decltype(&ncclCommDestroy) destroy = find<decltype(&ncclCommDestroy)>("ncclCommDestroy");
  decltype(&ncclCommAbort) abort = find<decltype(&ncclCommAbort)>("ncclCommAbort");
  decltype(&ncclCommGetAsyncError) async_error = find<decltype(&ncclCommGetAsyncError)>("ncclCommGetAsyncError");
  decltype(&ncclGroupStart) group_start = find<decltype(&ncclGroupStart)>("ncclGroupStart");
  decltype(&ncclGroupEnd) group_end = find<decltype(&ncclGroupEnd)>("ncclGroupEnd");
  decltype(&ncclSend) send = find<decltype(&ncclSend)>("ncclSend");
  decltype(&ncclRecv) receive = find<decltype(&ncclRecv)>("ncclRecv");
  decltype(&ncclAllReduce) allreduce = find<decltype(&ncclAllReduce)>("ncclAllReduce");
  decltype(&ncclReduce) reduce = find<decltype(&ncclReduce)>("ncclReduce");
  decltype(&ncclBroadcast) broadcast = find<decltype(&ncclBroadcast)>("ncclBroadcast");
  decltype(&ncclReduceScatter) reduce_scatter = find<decltype(&ncclReduceScatter)>("ncclReduceScatter");
  decltype(&ncclAllGather) allgather = find<decltype(&ncclAllGather)>("ncclAllGather");
  // From 2.28 on; null before.
  using AllToAll = ncclResult_t (*)(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
  AllToAll alltoall = reinterpret_cast<AllToAll>(dlsym(handle_, "ncclAlltoAll"));

 private:
  static std::vector<std::string> files() {
    constexpr const char* name = "libnccl.so.2";
    if (const char* chosen = std::getenv("WEFT_NCCL_LIBRARY")) return {chosen};
    const char* toolkit = std::getenv("CUDA_HOME");
    const std::string root = toolkit != nullptr ? toolkit : "/usr/local/cuda";
    return {name, fmt::format("{}/lib64/{}", root, name), fmt::format("{}/lib/{}", root, name)};
  }
  static void* load() {
    std::vector<std::string> refusals;
    for (const std::string& file : files()) {
      if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
      const char* why = dlerror();
      refusals.emplace_back(why != nullptr ? why : file);
    }
    throw RunError(
        fmt::format("nccl: its library cannot be loaded, and WEFT_NCCL_LIBRARY may name its file: {}", fmt::join(refusals, "; ")));
  }

  template <class Function>
  Function find(const char* name) const {
    void* const found = dlsym(handle_, name);
    if (found == nullptr) throw RunError(fmt::format("nccl: the library has no {}: it is too old", name));
    return reinterpret_cast<Function>(found);
  }
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

// What works on in the background is no failure; look() and settle() hear how it ends.
void check_nccl(ncclResult_t result, const char* what) {
  if (result == ncclSuccess || result == ncclInProgress) [[likely]]
    return;
  const char* detail = library().last_error(nullptr);
  const bool says_more = detail != nullptr && *detail != '\0';
  throw RunError(fmt::format("nccl: {}: {}{}{}", what, library().error_string(result), says_more ? ": " : "", says_more ? detail : ""));
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
      return check_nccl(library().allreduce(c.data, c.data, all, c.type, c.op, c.communicator, c.stream), "ncclAllReduce");
    case Collective::reduce:
      return check_nccl(library().reduce(c.data, c.data, all, c.type, c.op, c.schedule.root, c.communicator, c.stream), "ncclReduce");
    case Collective::broadcast:
      return check_nccl(library().broadcast(c.data, c.data, all, c.type, c.schedule.root, c.communicator, c.stream), "ncclBroadcast");
    case Collective::reduce_scatter:
      return check_nccl(library().reduce_scatter(c.data, own, block, c.type, c.op, c.communicator, c.stream), "ncclReduceScatter");
    case Collective::allgather:
      return check_nccl(library().allgather(own, c.data, block, c.type, c.communicator, c.stream), "ncclAllGather");
    case Collective::alltoall:
      return check_nccl(library().alltoall(c.data, c.data + all * c.unit, block, c.type, c.communicator, c.stream), "ncclAlltoAll");
    case Collective::barrier:
      check(false, "NCCL was asked for a {}", name_of(c.schedule.collective));
  }
}

}  // namespace

struct NcclWorld::Communicators {
  std::vector<ncclComm_t> of_rank = {};   // null for ranks of other processes
  std::optional<NcclMember> member = {};  // where each rank has a process

  void abort() {
    for (ncclComm_t& c : of_rank)
      if (c != nullptr) static_cast<void>(library().abort(std::exchange(c, nullptr)));
  }
  // Of the rank that has its own process: what it is doing.
  ncclResult_t state() const {
    ncclResult_t state = ncclSuccess;
    const ncclComm_t own = of_rank[static_cast<std::size_t>(member->rank)];
    check(own != nullptr, "a communicator is used after its end");
    check_nccl(library().async_error(own, &state), "ncclCommGetAsyncError");
    return state;
  }
  // False where it is still working after so long.
  bool settled_within(std::chrono::milliseconds patience) const {
    const auto begin = Clock::now();
    bool told = false;
    while (state() == ncclInProgress) {
      member->look();
      if (!told && Clock::now() - begin >= patience / 2) member->tell_waiting("NCCL to reach the other ranks"), told = true;
      if (Clock::now() - begin >= patience) return false;
      std::this_thread::yield();
    }
    if (told) member->tell_waiting("");
    return true;
  }
  // NCCL hears of a rank's end as an error of the network; who it was the others may say a little later.
  void name_the_lost() const {
    for (const auto deadline = Clock::now() + naming_time; Clock::now() < deadline;) {
      member->look();
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }
  // Lets what is under way end, as far as all ranks take part.
  void finalize() {
    const ncclComm_t own = of_rank[static_cast<std::size_t>(member->rank)];
    if (own == nullptr) return;
    try {
      check_nccl(library().finalize(own), "ncclCommFinalize");
      if (settled_within(member->patience) && state() == ncclSuccess) return;
    } catch (const RunError&) {  // a rank is lost: there is nothing to wait for
    }
    abort();
  }

  ~Communicators() {
    if (member) finalize();
    for (const ncclComm_t c : of_rank)
      if (c != nullptr) static_cast<void>(library().destroy(c));  // fails only after another call has failed
  }
};

NcclWorld::NcclWorld(const std::vector<int>& devices) : communicators_(std::make_unique<Communicators>()) {
  communicators_->of_rank.resize(devices.size());
  check_nccl(library().init_all(communicators_->of_rank.data(), static_cast<int>(devices.size()), devices.data()), "ncclCommInitAll");
}

NcclWorld::NcclWorld(NcclMember member) : communicators_(std::make_unique<Communicators>()) {
  Communicators& all = *communicators_;
  all.of_rank.resize(static_cast<std::size_t>(member.ranks));
  ncclUniqueId id;
  static_assert(sizeof id == id_bytes);
  check(member.id.size() == sizeof id, "an NCCL id of {} bytes", member.id.size());
  std::memcpy(&id, member.id.data(), sizeof id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const cuda::KeptDevice callers;
  cuda::use_device(member.device);
  const Rank rank = member.rank;
  const int ranks = member.ranks;
  all.member = std::move(member);
  check_nccl(library().init_rank(&all.of_rank[static_cast<std::size_t>(rank)], ranks, id, rank, &config), "ncclCommInitRankConfig");
  settle("ncclCommInitRankConfig");
}

NcclWorld::~NcclWorld() = default;

void NcclWorld::abort() { communicators_->abort(); }

// Waits until a call that returned early has done its work on the host.
void NcclWorld::settle(const char* what) {
  Communicators& all = *communicators_;
  if (!all.member) return;
  try {
    if (!all.settled_within(all.member->patience))
      throw RunError(fmt::format("nccl: {}: rank {} has waited {} ms for the other ranks{}", what, all.member->rank,
                                 all.member->patience.count(), all.member->others()));
  } catch (...) {
    all.abort();
    throw;
  }
  look();
}

void NcclWorld::begin_group() { check_nccl(library().group_start(), "ncclGroupStart"); }

void NcclWorld::send(Rank from, Rank to, const void* data, std::size_t bytes, cuda::Stream stream) {
  check_nccl(library().send(data, bytes, ncclUint8, to, communicators_->of_rank[static_cast<std::size_t>(from)], stream), "ncclSend");
}

void NcclWorld::receive(Rank at, Rank from, void* into, std::size_t bytes, cuda::Stream stream) {
  check_nccl(library().receive(into, bytes, ncclUint8, from, communicators_->of_rank[static_cast<std::size_t>(at)], stream), "ncclRecv");
}

void NcclWorld::end_group() {
  check_nccl(library().group_end(), "ncclGroupEnd");
  settle("ncclGroupEnd");
}

void NcclWorld::tell_waiting(const std::string& what) {
  if (communicators_->member) communicators_->member->tell_waiting(what);
}
std::string NcclWorld::others() { return communicators_->member ? communicators_->member->others() : ""; }

void NcclWorld::look() {
  Communicators& all = *communicators_;
  try {
    if (all.member) all.member->look();
    for (std::size_t r = 0; r < all.of_rank.size(); ++r) {
      ncclResult_t error = ncclSuccess;
      if (all.of_rank[r] != nullptr) check_nccl(library().async_error(all.of_rank[r], &error), "ncclCommGetAsyncError");
      if (error == ncclSuccess || error == ncclInProgress) continue;
      if (all.member) all.name_the_lost();
      check_nccl(error, fmt::format("rank {}", r).c_str());
    }
  } catch (...) {
    all.abort();  // or kernels wait for ever for the rank that has failed
    throw;
  }
}

bool NcclWorld::has(Collective collective, DType, ReduceOp op) {
  if (collective == Collective::barrier || (collective == Collective::alltoall && library().alltoall == nullptr)) return false;
  const bool reduces = collective == Collective::allreduce || collective == Collective::reduce || collective == Collective::reduce_scatter;
  return !reduces || op_of(op) != ncclNumOps;
}

void NcclWorld::run(const Schedule& s, DType dtype, ReduceOp op, std::int64_t elements, const cuda::Executor& executor) {
  begin_group();
  for (Rank r = 0; r < s.ranks; ++r)
    if (communicators_->of_rank[static_cast<std::size_t>(r)] != nullptr)
      enqueue({s, r, static_cast<std::byte*>(executor.message(r)), elements, type_of(dtype), size_of(dtype), op_of(op),
               communicators_->of_rank[static_cast<std::size_t>(r)], executor.stream(r)});
  end_group();
}

std::string NcclWorld::version() {
  int v = 0;
  check_nccl(library().get_version(&v), "ncclGetVersion");
  return fmt::format("{}.{}.{}", v / 10000, v % 10000 / 100, v % 100);
}

std::string NcclWorld::make_id() {
  ncclUniqueId id;
  check_nccl(library().get_unique_id(&id), "ncclGetUniqueId");
  return {reinterpret_cast<const char*>(&id), sizeof id};
}

}  // namespace weft
