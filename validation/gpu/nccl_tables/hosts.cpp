// hosts SERVERS GPUS NCCL_LIBRARY [BUS_ID...]: a process for each GPU of some servers, all of them on one real GPU. Each says that its host
// is another (NCCL_HOSTID) and at which bus id its GPU is (other_gpu.cpp), and makes a communicator, so that NCCL searches its channels and
// prints what it expects. Nothing is sent.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nccl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Meeting {
  std::atomic<bool> has_id = false;
  std::atomic<int> done = 0;
  ncclUniqueId id = {};
};

void check(int status, int rank, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "rank %d: %s: %d\n", rank, what, status);
  _exit(3);
}

template <class Until>
void wait_until(Until until) {
  constexpr int max_ms = 20'000;
  for (int ms = 0; ms < max_ms && !until(); ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

[[noreturn]] void be(int rank, int ranks, const char* library, Meeting& meeting) {
  void* nccl = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (!nccl) {
    std::fprintf(stderr, "%s\n", dlerror());
    _exit(2);
  }
  const auto get_id = reinterpret_cast<decltype(&ncclGetUniqueId)>(dlsym(nccl, "ncclGetUniqueId"));
  const auto init = reinterpret_cast<decltype(&ncclCommInitRank)>(dlsym(nccl, "ncclCommInitRank"));
  check(cudaSetDevice(0), rank, "cudaSetDevice");
  check(cudaFree(nullptr), rank, "cudaFree");
  if (rank == 0) {
    check(get_id(&meeting.id), rank, "ncclGetUniqueId");
    meeting.has_id = true;
  }
  wait_until([&] { return meeting.has_id.load(); });
  ncclComm_t communicator = nullptr;
  check(init(&communicator, ranks, meeting.id, rank), rank, "ncclCommInitRank");
  ++meeting.done;
  wait_until([&] { return meeting.done == ranks; });
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: hosts SERVERS GPUS NCCL_LIBRARY [BUS_ID...]\n"), 2;
  const int servers = std::atoi(argv[1]), gpus = std::atoi(argv[2]), ranks = servers * gpus;
  void* shared = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* meeting = new (shared) Meeting;
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    setenv("NCCL_HOSTID", ("host" + std::to_string(rank / gpus)).c_str(), 1);
    if (argc == 4 + gpus) setenv("WEFT_BUS_ID", argv[4 + rank % gpus], 1);
    if (rank != 0) setenv("NCCL_DEBUG", "WARN", 1);
    be(rank, ranks, argv[3], *meeting);
  }
  int failed = 0;
  for (int status = 0; wait(&status) > 0;) failed |= status;
  return failed != 0;
}
