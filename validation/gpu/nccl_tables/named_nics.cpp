// A network plugin of NCCL (NCCL_NET_PLUGIN=weft) whose NICs have names, WEFT_NICS ("nic0,nic1"), and a rate, WEFT_NIC_MBPS, and carry
// nothing; with WEFT_COLLNET its switches say that they add. Interface: version 8 of NCCL's plugins, NVIDIA/nccl ext-net/README.md.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Log = void (*)(int, unsigned long, const char*, int, const char*, ...);

struct Properties {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int pointers, registered_globally, mbps, port;
  float latency;
  int max_connections, max_receives, device_type, device_version;
};

std::vector<std::string> names;
char nothing = 0;

int begin(Log) {
  std::istringstream all(std::getenv("WEFT_NICS"));
  if (names.empty())
    for (std::string name; std::getline(all, name, ',');) names.push_back(name);
  return 0;
}

int begin_to_add(Log log) { return std::getenv("WEFT_COLLNET") ? begin(log) : 2; }

int count(int* out) {
  *out = static_cast<int>(names.size());
  return 0;
}

int properties(int nic, Properties* out) {
  constexpr int host_and_gpu = 3, plenty = 1 << 18;
  *out = {};
  out->name = names[static_cast<std::size_t>(nic)].data();
  out->guid = 0x1000 + static_cast<std::uint64_t>(nic);
  out->pointers = host_and_gpu;
  out->mbps = std::atoi(std::getenv("WEFT_NIC_MBPS"));
  out->port = 1;
  out->max_connections = plenty;
  out->max_receives = 1;
  return 0;
}

template <class... Rest>
int give_nothing(void** out, Rest...) {
  *out = &nothing;
  return 0;
}

int listen(int, void*, void** out) { return give_nothing(out); }
int connect(int, void*, void** out, void**) { return give_nothing(out); }
int accept(void*, void** out, void**) { return give_nothing(out); }
int connect_all(void**, int, int, void*, void** out) { return give_nothing(out); }
int know(void*, void*, std::size_t, int, void** out) { return give_nothing(out); }
int forget(void*, void*) { return 0; }
int close(void*) { return 0; }
int adds(int, int, int* out) {
  *out = 1;
  return 0;
}
int test(void*, int* done, int*) { return *done = 0; }

// What would send: NCCL asks for none of it before there is a call.
int no_send(void*, void*, int, int, void*, void** out) {
  *out = nullptr;
  return 0;
}
int no_receive(void*, int, void**, int*, int*, void**, void** out) {
  *out = nullptr;
  return 0;
}

}  // namespace

extern "C" {

struct Network {
  const char* name;
  int (*begin)(Log);
  int (*count)(int*);
  int (*properties)(int, Properties*);
  int (*listen)(int, void*, void**);
  int (*connect)(int, void*, void**, void**);
  int (*accept)(void*, void**, void**);
  int (*know)(void*, void*, std::size_t, int, void**);
  void* know_dma_buffer;
  int (*forget)(void*, void*);
  int (*send)(void*, void*, int, int, void*, void**);
  int (*receive)(void*, int, void**, int*, int*, void**, void**);
  void* flush;
  int (*test)(void*, int*, int*);
  int (*close_send)(void*);
  int (*close_receive)(void*);
  int (*close_listen)(void*);
  void* device_memory;
  void* consumed;
} ncclNetPlugin_v8 = {"IB",    begin,      count,   properties, listen, connect, accept, know,    nullptr, forget,
                      no_send, no_receive, nullptr, test,       close,  close,   close,  nullptr, nullptr};

struct Switches {
  const char* name;
  int (*begin)(Log);
  int (*count)(int*);
  int (*properties)(int, Properties*);
  int (*listen)(int, void*, void**);
  int (*connect)(void**, int, int, void*, void**);
  int (*adds)(int, int, int*);
  int (*know)(void*, void*, std::size_t, int, void**);
  void* know_dma_buffer;
  int (*forget)(void*, void*);
  void *allreduce, *allgather, *reduce_scatter, *flush;
  int (*test)(void*, int*, int*);
  int (*close_all)(void*);
  int (*close_listen)(void*);
} ncclCollNetPlugin_v8 = {"SHARP", begin_to_add, count,   properties, listen,  connect_all, adds,  know, nullptr,
                          forget,  nullptr,      nullptr, nullptr,    nullptr, test,        close, close};
}
