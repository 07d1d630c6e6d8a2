// For tests: as much of the CUDA runtime as the executor and the kernels call, on the host. What is enqueued waits on its stream until the
// host asks how far the devices are; then the streams run in turn, each as far as it can. What CUDA forbids ends the program: work on
// another device's stream, an event recorded on another device, a wait for what was never recorded, a capture that streams join or leave
// the wrong way.
//   WEFT_FAKE_DEVICES=n   that many devices, 1 by default          WEFT_FAKE_PEERS=0   none can read another's memory
//   WEFT_FAKE_DRIVER=v    a driver that is too old, 0: none at all  WEFT_FAKE_STUCK=1   work never ends
//   WEFT_FAKE_GRAPHS=1    graphs are of one device only
//   WEFT_FAKE_PINNED=0    the host has no page-locked memory     WEFT_FAKE_GUARD=1   the host that touches device memory is ended
//   WEFT_FAKE_IPC=0       memory cannot be shared with other processes
// Processes that share memory are of one machine, whose devices they all see.
#include "kernels/testing/fake_cuda/runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <cuda_runtime.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using Work = weft::fake_cuda::Work;

int environment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

// Threads call at once; a device's work runs in whichever asks.
std::recursive_mutex everything;
using Lock = std::lock_guard<std::recursive_mutex>;

int device_count() { return environment("WEFT_FAKE_DEVICES", 1); }

thread_local int current_device = 0;
double now_us = 0;  // every operation takes 1 us

using Nodes = std::vector<std::size_t>;  // of a graph

struct FakeStream {
  int device = 0;
  bool captured = false;
  bool joined = true;  // within a capture: nothing was enqueued since the last event that leads back to the origin
  Nodes last = {};     // within a capture: what must have run before what is enqueued next
  std::deque<Work> work = {};
};
struct Event {
  int device = 0;
  int recorded = 0, reached = 0;  // how often it was enqueued, and how many of these have run
  double time_us = -1;
  FakeStream* captured_in = nullptr;
  Nodes captured_after = {};
  int polls = 0;
};
struct Node {
  Work work;
  Nodes after;
  int device;
};
struct Graph {
  std::vector<Node> nodes;
};

FakeStream legacy;
std::vector<FakeStream*> streams = {&legacy};
Graph* capturing = nullptr;
FakeStream* capture_origin = nullptr;

// Memory of devices in pages of its own, where it is large or guarded: then open only while a device works. What other processes may
// read, too, has a file.
struct Pages {
  std::size_t bytes = 0;
  int file = -1;
  bool of_another = false;  // process
};
constexpr std::size_t large = std::size_t{2} << 20;
std::map<void*, Pages> pages;
int working = 0;

bool guards() { return environment("WEFT_FAKE_GUARD", 0) != 0; }
int protection_now() { return guards() && working == 0 ? PROT_NONE : PROT_READ | PROT_WRITE; }
void protect_all() {
  if (!guards()) return;
  for (const auto& [data, of] : pages) ::mprotect(data, of.bytes, protection_now());
}
struct Working {
  Working() {
    if (working++ == 0) protect_all();
  }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;
  ~Working() {
    if (--working == 0) protect_all();
  }
};

void* allocate(std::size_t bytes) {
  const Lock lock(everything);
  if (!guards() && bytes < large) return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  constexpr std::size_t page = 4096;
  const std::size_t whole = (bytes / page + 1) * page;
  void* const data = ::mmap(nullptr, whole, protection_now(), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  pages[data] = {.bytes = whole};
  return data;
}
void release(void* data) {
  const Lock lock(everything);
  const auto found = pages.find(data);
  if (found == pages.end()) return std::free(data);
  ::munmap(data, found->second.bytes);
  if (found->second.file >= 0) ::close(found->second.file);
  pages.erase(found);
}

// What a handle says: by which file of which process the memory can be opened.
struct SharedPages {
  pid_t process;
  int file;
  std::size_t bytes;
};

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "fake CUDA runtime: %s\n", what);
  std::abort();
}

FakeStream* of(cudaStream_t s) { return s == nullptr ? &legacy : reinterpret_cast<FakeStream*>(s); }
Event* of(cudaEvent_t e) { return reinterpret_cast<Event*>(e); }

// Whether anything has ended.
bool advance(FakeStream& s) {
  const Lock lock(everything);
  const Working open;
  bool moved = false;
  while (!s.work.empty() && s.work.front()()) {
    s.work.pop_front();
    now_us += 1;
    moved = true;
  }
  return moved;
}

// Runs what can run now.
void advance_all() {
  bool moved = false;
  {
    const Lock lock(everything);
    for (bool again = true; again; moved |= again) {
      again = false;
      for (FakeStream* s : streams) again |= advance(*s);
    }
  }
  if (!moved) ::usleep(20);  // what is waited for is done by others, who are to have the processor
}

void enqueue_waiting(cudaStream_t stream, Work work) {
  const Lock lock(everything);
  FakeStream* s = of(stream);
  require(capturing == nullptr || s->captured, "work on a stream that is not part of the capture");
  s->joined = s == capture_origin;
  if (capturing == nullptr) return s->work.push_back(std::move(work));
  capturing->nodes.push_back({std::move(work), std::exchange(s->last, {capturing->nodes.size()}), s->device});
}

template <class Do>
void enqueue(cudaStream_t stream, Do what) {
  enqueue_waiting(stream, [what] { return what(), true; });
}

void not_in_capture() { require(capturing == nullptr, "a call that is not allowed during a capture"); }

}  // namespace

namespace weft::fake_cuda {

void enqueue(cudaStream_t stream, Work work) {
  require(of(stream)->device == current_device, "a kernel on a stream of another device");
  enqueue_waiting(stream, std::move(work));
}

}  // namespace weft::fake_cuda

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (std::getenv("WEFT_FAKE_DRIVER") != nullptr) return cudaErrorInsufficientDriver;
  *count = device_count();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  require(device >= 0 && device < device_count(), "there is no such device");
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "host");
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = environment("WEFT_FAKE_PEERS", 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  require(peer != current_device, "peer access to the device itself");
  return cudaErrorPeerAccessAlreadyEnabled;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = environment("WEFT_FAKE_DRIVER", 13000);
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the fake runtime"; }
const char* cudaGetErrorName(cudaError_t) { return "fake"; }

cudaError_t cudaMalloc(void** data, size_t bytes) {
  not_in_capture();
  *data = allocate(bytes);
  return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  not_in_capture();
  while (advance(legacy)) continue;
  release(data);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* place, int length, int device) {
  std::snprintf(place, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}
// The memory goes to a file, and stays where it is.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* data) {
  const Lock lock(everything);
  if (environment("WEFT_FAKE_IPC", 1) == 0) return cudaErrorNotSupported;
  const auto found = pages.find(data);
  require(found != pages.end() && !found->second.of_another, "a handle for memory that is no allocation of whole pages");
  Pages& own = found->second;
  if (own.file < 0) {
    const Working open;
    own.file = ::memfd_create("fake_cuda", MFD_CLOEXEC);
    require(own.file >= 0 && ::write(own.file, data, own.bytes) == static_cast<ssize_t>(own.bytes), "no file for memory of a device");
    require(::mmap(data, own.bytes, protection_now(), MAP_SHARED | MAP_FIXED, own.file, 0) == data, "memory cannot be shared");
  }
  const SharedPages shared{::getpid(), own.file, own.bytes};
  static_assert(sizeof shared <= sizeof *handle);
  std::memcpy(handle, &shared, sizeof shared);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** data, cudaIpcMemHandle_t handle, unsigned) {
  const Lock lock(everything);
  SharedPages shared{};
  std::memcpy(&shared, &handle, sizeof shared);
  require(shared.process != ::getpid(), "a process opens its own memory");
  if (environment("WEFT_FAKE_PEERS", 1) == 0) return cudaErrorPeerAccessUnsupported;
  const int file = ::open(fmt::format("/proc/{}/fd/{}", shared.process, shared.file).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return cudaErrorMapBufferObjectFailed;
  void* const place = ::mmap(nullptr, shared.bytes, protection_now(), MAP_SHARED, file, 0);
  ::close(file);
  if (place == MAP_FAILED) return cudaErrorMapBufferObjectFailed;
  pages[place] = {.bytes = shared.bytes, .of_another = true};
  *data = place;
  return cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void* data) {
  const Lock lock(everything);
  require(pages.contains(data) && pages[data].of_another, "memory is closed that was not opened");
  release(data);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  if (environment("WEFT_FAKE_PINNED", 1) == 0) return cudaErrorMemoryAllocation;
  not_in_capture();
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t) { return cudaMalloc(data, bytes); }
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  enqueue(stream, [=] { release(data); });
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t*, int) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  enqueue(stream, [=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(everything);
  auto* made = new FakeStream{.device = current_device};
  streams.push_back(made);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(everything);
  std::erase(streams, of(stream));
  delete of(stream);
  return cudaSuccess;
}
// It runs when the host asks how far the devices are: one that waits for the host does so for what the host does before.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  not_in_capture();
  enqueue(stream, [=] { function(data); });
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  not_in_capture();
  const auto idle = [&] {
    const Lock lock(everything);
    return of(stream)->work.empty();
  };
  while (!idle()) advance_all();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event{.device = current_device});
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  Event* e = of(event);
  require(e->device == of(stream)->device, "an event recorded on a stream of another device");
  if (capturing != nullptr && of(stream)->captured && flags == cudaEventRecordDefault) {
    e->captured_in = of(stream);
    e->captured_after = of(stream)->last;
    return cudaSuccess;
  }
  e->captured_in = nullptr;
  if (capturing == nullptr) ++e->recorded;
  enqueue(stream, [e] { ++e->reached, e->time_us = now_us, e->polls = 0; });
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  FakeStream* s = of(stream);
  if (capturing == nullptr) {
    require(of(event)->recorded > 0, "a wait for an event that was never recorded");
    enqueue_waiting(stream, [e = of(event), recorded = of(event)->recorded] { return e->reached >= recorded; });
    return cudaSuccess;
  }
  FakeStream* from = of(event)->captured_in;
  require(from != nullptr && from->captured, "a wait within a capture for an event outside of it");
  s->captured = true;
  s->last.insert(s->last.end(), of(event)->captured_after.begin(), of(event)->captured_after.end());
  if (s == capture_origin)
    from->joined = true;
  else
    s->joined = false;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  not_in_capture();
  require(of(event)->recorded > 0, "a question after an event that was never recorded");
  if (environment("WEFT_FAKE_STUCK", 0) != 0) return cudaErrorNotReady;
  advance_all();
  if (of(event)->reached < of(event)->recorded) return cudaErrorNotReady;
  return of(event)->polls++ == 0 ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  not_in_capture();
  require(of(event)->recorded > 0, "a wait for an event that was never recorded");
  while (of(event)->reached < of(event)->recorded) advance_all();
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  require(of(start)->device == of(end)->device, "a time between events of two devices");
  require(of(start)->time_us >= 0 && of(end)->time_us >= 0, "a time between events that were not both recorded");
  *milliseconds = static_cast<float>((of(end)->time_us - of(start)->time_us) / 1000);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  not_in_capture();
  capturing = new Graph;
  capture_origin = of(stream);
  capture_origin->captured = capture_origin->joined = true;
  capture_origin->last.clear();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  require(capturing != nullptr && of(stream) == capture_origin, "a capture ends where it did not begin");
  for (FakeStream* s : streams) {
    require(!s->captured || s->joined, "a stream has not joined the capture's origin at its end");
    s->captured = false;
    s->joined = true;
    s->last.clear();
  }
  *graph = reinterpret_cast<cudaGraph_t>(capturing);
  capturing = nullptr;
  capture_origin = nullptr;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  const std::vector<Node>& nodes = reinterpret_cast<Graph*>(graph)->nodes;
  const auto elsewhere = [&](const Node& node) { return node.device != nodes.front().device; };
  if (environment("WEFT_FAKE_GRAPHS", 0) != 0 && std::ranges::any_of(nodes, elsewhere)) return cudaErrorNotSupported;
  *executable = reinterpret_cast<cudaGraphExec_t>(new Graph{nodes});
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  // Whatever has no open node before it runs, as on a device that does all branches at once.
  enqueue_waiting(stream, [graph = reinterpret_cast<Graph*>(executable), ended = std::vector<bool>(), left = std::size_t{0}]() mutable {
    if (ended.empty()) ended.resize(left = graph->nodes.size());
    for (std::size_t i = 0; i < ended.size(); ++i) {
      const Node& node = graph->nodes[i];
      if (ended[i] || !std::ranges::all_of(node.after, [&](std::size_t before) { return ended[before]; }) || !node.work()) continue;
      ended[i] = true;
      --left;
      now_us += 1;
    }
    return left == 0;
  });
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<Graph*>(executable);
  return cudaSuccess;
}

}  // extern "C"
