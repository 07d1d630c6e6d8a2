// For tests: a library with NCCL's interface, over files in shared memory, on the streams of the fake CUDA runtime. Ranks may be in
// one process or in several. What NCCL forbids ends the program, or is the error that NCCL gives.
//   WEFT_STAND_IN_NCCL_FOLDER=f    where to keep what is under way, /dev/shm by default
//   WEFT_STAND_IN_NCCL_FAULT=k:r:n what rank r does from its n-th operation on (0: already while it meets the others):
//     silent    nothing, so that the others wait        error   ncclCommGetAsyncError reports ncclRemoteError
//     exit      its process ends
#include "kernels/reduce.hpp"
#include "kernels/testing/fake_cuda/runtime.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nccl.h>
#include <sched.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<char>;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "stand-in NCCL: %s\n", what);
  std::abort();
}

struct Fault {
  std::string kind = {};
  int rank = -1, from = 0;

  static Fault from_environment() {
    Fault f;
    const char* text = std::getenv("WEFT_STAND_IN_NCCL_FAULT");
    if (text == nullptr) return f;
    std::array<char, 16> kind{};
    require(std::sscanf(text, "%15[^:]:%d:%d", kind.data(), &f.rank, &f.from) == 3, "WEFT_STAND_IN_NCCL_FAULT is not kind:rank:n");
    f.kind = kind.data();
    return f;
  }
};

thread_local std::string last_error;

ncclResult_t refuse(ncclResult_t result, std::string why) {
  last_error = std::move(why);
  return result;
}

// Of nothing there may be no address.
void put(void* into, const Bytes& bytes) {
  if (!bytes.empty()) std::memcpy(into, bytes.data(), bytes.size());
}

// Appears in one piece: whoever sees it can read all of it.
void publish(const fs::path& file, const void* data, std::size_t bytes) {
  const fs::path unfinished = file.string() + ".unfinished";
  std::ofstream(unfinished, std::ios::binary).write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  fs::rename(unfinished, file);
}

}  // namespace

// One rank.
struct ncclComm {
  fs::path folder;
  int rank = 0, ranks = 1, device = 0;
  bool blocking = true;
  Fault fault = Fault::from_environment();
  int operations = 0;                           // so far
  std::map<int, int> sent = {}, received = {};  // messages to and from each rank
  bool met = false, aborted = false, failed = false;
  int busy = 0;  // questions that a call which does not block leaves unanswered

  bool does(const char* kind, int operation) const { return fault.kind == kind && fault.rank == rank && operation >= fault.from; }
  fs::path message(int from, int to, int number) const { return folder / fmt::format("{}.{}.{}", from, to, number); }
  fs::path hello(int of) const { return folder / fmt::format("hello.{}", of); }

  // Before anything of an operation.
  void begin() {
    ++operations;
    if (does("exit", operations)) ::_exit(9);
    failed = failed || does("error", operations);
  }
  void send(int to, const void* data, std::size_t bytes) {
    if (aborted || failed || does("silent", operations)) return;
    publish(message(rank, to, sent[to]++), data, bytes);
  }
  // Nothing while it has not come.
  std::optional<Bytes> receive(int from) {
    const fs::path file = message(from, rank, received[from]);
    if (!fs::exists(file)) return std::nullopt;
    ++received[from];
    Bytes bytes(fs::file_size(file));
    std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    fs::remove(file);
    return bytes;
  }

  void say_hello() {
    if (does("exit", 0)) ::_exit(9);
    if (!does("silent", 0)) publish(hello(rank), &device, sizeof device);
  }
  // Whether all have come; an error where two of them are on one device.
  std::optional<ncclResult_t> meet() {
    std::vector<int> devices;
    for (int r = 0; r < ranks; ++r) {
      if (!fs::exists(hello(r))) return std::nullopt;
      int theirs = 0;
      std::ifstream(hello(r), std::ios::binary).read(reinterpret_cast<char*>(&theirs), sizeof theirs);
      for (std::size_t other = 0; other < devices.size(); ++other)
        if (devices[other] == theirs)
          return refuse(ncclInvalidUsage,
                        fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {}", r, other, theirs));
      devices.push_back(theirs);
    }
    met = true;
    return ncclSuccess;
  }
  void leave() {
    std::error_code gone;  // with the last
    std::ofstream(folder / fmt::format("left.{}", rank));
    for (int r = 0; r < ranks; ++r)
      if (!fs::exists(folder / fmt::format("left.{}", r), gone)) return;
    fs::remove_all(folder, gone);
  }
};

namespace {

std::string new_folder() {
  const char* root = std::getenv("WEFT_STAND_IN_NCCL_FOLDER");
  std::string name = fmt::format("{}/nccl.XXXXXX", root != nullptr ? root : "/dev/shm");
  require(::mkdtemp(name.data()) != nullptr, "no folder for what is under way");
  return name;
}

// What one communicator does in a group: all is sent before anything is waited for.
struct Operation {
  std::shared_ptr<ncclComm> communicator;
  cudaStream_t stream;
  std::function<void(ncclComm&)> send;
  std::function<bool(ncclComm&)> receive;  // true when all has come
};

std::map<ncclComm_t, std::shared_ptr<ncclComm>> communicators;  // those that are not destroyed
int group_depth = 0;
std::vector<Operation> group;

std::shared_ptr<ncclComm> of(ncclComm_t communicator) {
  const auto found = communicators.find(communicator);
  require(found != communicators.end(), "a communicator that is none, or no more");
  return found->second;
}

void in_device(int device, const std::function<void()>& what) {
  int callers = 0;
  cudaGetDevice(&callers);
  cudaSetDevice(device);
  what();
  cudaSetDevice(callers);
}

ncclResult_t run_group() {
  const std::vector<Operation> all = std::exchange(group, {});
  for (const Operation& o : all)
    in_device(o.communicator->device,
              [&] { weft::fake_cuda::enqueue(o.stream, [o] { return o.communicator->begin(), o.send(*o.communicator), true; }); });
  bool blocking = true;
  for (const Operation& o : all) {
    in_device(o.communicator->device,
              [&] { weft::fake_cuda::enqueue(o.stream, [o] { return o.communicator->aborted || o.receive(*o.communicator); }); });
    if (o.communicator->blocking) continue;
    blocking = false;
    o.communicator->busy = 2;
  }
  return blocking ? ncclSuccess : ncclInProgress;
}

ncclResult_t add(ncclComm_t communicator, cudaStream_t stream, std::function<void(ncclComm&)> send,
                 std::function<bool(ncclComm&)> receive) {
  const auto c = of(communicator);
  require(c->met && c->busy == 0, "a call on a communicator that is still at work");
  group.push_back({c, stream, std::move(send), std::move(receive)});
  return group_depth > 0 ? ncclSuccess : run_group();
}

weft::DType dtype_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
      return weft::DType::float16;
    case ncclBfloat16:
      return weft::DType::bfloat16;
    case ncclFloat32:
      return weft::DType::float32;
    case ncclFloat64:
      return weft::DType::float64;
    case ncclInt32:
      return weft::DType::int32;
    case ncclInt64:
      return weft::DType::int64;
    default:
      require(type == ncclUint8, "a type that Weft has not");
      return weft::DType::uint8;
  }
}

std::size_t bytes_of(std::size_t count, ncclDataType_t type) { return count * weft::size_of(dtype_of(type)); }

weft::ReduceOp op_of(ncclRedOp_t op) {
  switch (op) {
    case ncclMin:
      return weft::ReduceOp::min;
    case ncclMax:
      return weft::ReduceOp::max;
    case ncclProd:
      return weft::ReduceOp::prod;
    default:
      return weft::ReduceOp::sum;  // ncclAvg too
  }
}

// What a rank sends to one; nothing, where it sends it nothing, which is not the same as no bytes.
using Part = std::optional<std::pair<const void*, std::size_t>>;

// Sends to every rank, itself among them, what `part` says.
std::function<void(ncclComm&)> to_all(std::function<Part(int to)> part) {
  return [part = std::move(part)](ncclComm& c) {
    for (int to = 0; to < c.ranks; ++to)
      if (const Part p = part(to)) c.send(to, p->first, p->second);
  };
}

// Takes in what all ranks have sent to this one, in the order of the ranks.
std::function<bool(ncclComm&)> from_all(std::function<void(int from, const Bytes&)> take) {
  return [take = std::move(take), next = 0](ncclComm& c) mutable {
    for (; next < c.ranks; ++next) {
      const auto bytes = c.receive(next);
      if (!bytes) return false;
      take(next, *bytes);
    }
    next = 0;  // for the next launch of the graph
    return true;
  };
}

// Of all ranks' parts, in their order, so that all ranks that reduce leave the same bits.
std::function<bool(ncclComm&)> reduced(void* into, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int ranks) {
  return from_all([=](int from, const Bytes& bytes) {
    require(bytes.size() == bytes_of(count, type), "ranks reduce messages of different sizes");
    if (from == 0)
      put(into, bytes);
    else
      weft::reduce(dtype_of(type), op_of(op), into, bytes.data(), count);
    if (op == ncclAvg && from == ranks - 1) weft::scale_average(dtype_of(type), into, count, ranks);
  });
}

const auto nothing = [](ncclComm&) { return true; };

ncclResult_t make(ncclComm_t* communicator, const fs::path& folder, int rank, int ranks, bool blocking) {
  auto made = std::make_shared<ncclComm>(ncclComm{.folder = folder, .rank = rank, .ranks = ranks, .blocking = blocking});
  cudaGetDevice(&made->device);
  made->say_hello();
  *communicator = made.get();
  communicators[made.get()] = made;
  return ncclInProgress;
}

ncclResult_t meet_blocking(const std::vector<ncclComm_t>& all) {
  for (const ncclComm_t communicator : all)
    for (;;) {
      const auto met = of(communicator)->meet();
      if (met && *met != ncclSuccess) return *met;
      if (met) break;
      ::sched_yield();
    }
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "an error of the stand-in";
  }
}
const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  const std::string folder = new_folder();
  require(folder.size() < sizeof id->internal, "the folder's name is too long");
  folder.copy(id->internal, folder.size());
  return ncclSuccess;
}
ncclResult_t ncclCommInitAll(ncclComm_t* made, int ranks, const int* devices) {
  const std::string folder = new_folder();
  std::vector<ncclComm_t> all(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) in_device(devices[r], [&] { make(&all[static_cast<std::size_t>(r)], folder, r, ranks, true); });
  const ncclResult_t result = meet_blocking(all);
  if (result == ncclSuccess) std::copy(all.begin(), all.end(), made);
  return result;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const bool blocking = config == nullptr || config->blocking != 0;
  const ncclResult_t result = make(made, id.internal, rank, ranks, blocking);
  return blocking ? meet_blocking({*made}) : result;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  const auto c = of(communicator);
  *error = ncclSuccess;
  if (c->failed)
    *error = ncclRemoteError;
  else if (!c->met)
    *error = c->meet().value_or(ncclInProgress);
  else if (c->busy > 0 && --c->busy > 0)
    *error = ncclInProgress;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  const auto c = of(communicator);
  require(c->met && c->busy == 0, "a communicator is finalized that is still at work");
  c->busy = 2;
  return c->blocking ? ncclSuccess : ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  of(communicator)->leave();
  communicators.erase(communicator);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  of(communicator)->aborted = true;
  return ncclCommDestroy(communicator);
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  require(group_depth > 0, "a group ends that has not begun");
  return --group_depth > 0 ? ncclSuccess : run_group();
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator, cudaStream_t stream) {
  return add(
      communicator, stream, [=](ncclComm& c) { c.send(peer, data, bytes_of(count, type)); }, nothing);
}
ncclResult_t ncclRecv(void* into, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator, cudaStream_t stream) {
  const auto receive = [=](ncclComm& c) {
    const auto bytes = c.receive(peer);
    if (!bytes) return false;
    require(bytes->size() == bytes_of(count, type), "a message is of another size than is expected");
    put(into, *bytes);
    return true;
  };
  return add(
      communicator, stream, [](ncclComm&) {}, receive);
}

ncclResult_t ncclAllReduce(const void* data, void* into, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t communicator,
                           cudaStream_t stream) {
  return add(communicator, stream, to_all([=](int) {
               return Part({data, bytes_of(count, type)});
             }),
             reduced(into, count, type, op, communicator->ranks));
}
ncclResult_t ncclReduce(const void* data, void* into, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t communicator,
                        cudaStream_t stream) {
  const auto to_root = to_all([=](int to) { return to == root ? Part({data, bytes_of(count, type)}) : std::nullopt; });
  if (communicator->rank != root) return add(communicator, stream, to_root, nothing);
  return add(communicator, stream, to_root, reduced(into, count, type, op, communicator->ranks));
}
ncclResult_t ncclBroadcast(const void* data, void* into, size_t count, ncclDataType_t type, int root, ncclComm_t communicator,
                           cudaStream_t stream) {
  const bool sends = communicator->rank == root;
  return add(communicator, stream, to_all([=](int) {
               return sends ? Part({data, bytes_of(count, type)}) : std::nullopt;
             }),
             [=](ncclComm& c) {
               const auto bytes = c.receive(root);
               if (bytes) put(into, *bytes);
               return bytes.has_value();
             });
}
ncclResult_t ncclReduceScatter(const void* data, void* into, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t communicator,
                               cudaStream_t stream) {
  const auto block = [=](int to) {
    const std::size_t bytes = bytes_of(count, type);
    return Part({static_cast<const char*>(data) + static_cast<std::size_t>(to) * bytes, bytes});
  };
  return add(communicator, stream, to_all(block), reduced(into, count, type, op, communicator->ranks));
}
ncclResult_t ncclAllGather(const void* data, void* into, size_t count, ncclDataType_t type, ncclComm_t communicator, cudaStream_t stream) {
  const auto place = [=](int from, const Bytes& bytes) {
    put(static_cast<char*>(into) + static_cast<std::size_t>(from) * bytes_of(count, type), bytes);
  };
  return add(communicator, stream, to_all([=](int) { return Part({data, bytes_of(count, type)}); }), from_all(place));
}
ncclResult_t ncclAlltoAll(const void* data, void* into, size_t count, ncclDataType_t type, ncclComm_t communicator, cudaStream_t stream) {
  const std::size_t block = bytes_of(count, type);
  const auto part = [=](int to) { return Part({static_cast<const char*>(data) + static_cast<std::size_t>(to) * block, block}); };
  const auto place = [=](int from, const Bytes& bytes) { put(static_cast<char*>(into) + static_cast<std::size_t>(from) * block, bytes); };
  return add(communicator, stream, to_all(part), from_all(place));
}

}  // extern "C"
