// Preloaded (LD_PRELOAD): NCCL, and CUDA's runtime in it, take the GPU for one at bus id WEFT_BUS_ID, of compute capability WEFT_SM ("90"),
// whose NVSwitch adds where WEFT_NVLS is set. Its multicast objects are plain memory then, which is enough to set NVLS up, not to use it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda.h>
#include <dlfcn.h>

namespace {

using Lookup = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
using OldLookup = CUresult (*)(const char*, void**, int, cuuint64_t);

Lookup lookup = nullptr;
OldLookup old_lookup = nullptr;
decltype(&cuDeviceGetPCIBusId) bus_id = nullptr;
decltype(&cuDeviceGetAttribute) attribute = nullptr;
decltype(&cuMemCreate) create = nullptr;
int (*nvml_by_index)(unsigned, void**) = nullptr;

constexpr std::size_t page = 2 << 20;

CUresult other_bus_id(char* text, int length, CUdevice device) {
  const CUresult result = bus_id(text, length, device);
  if (const char* other = std::getenv("WEFT_BUS_ID"); other && result == CUDA_SUCCESS)
    std::snprintf(text, static_cast<std::size_t>(length), "%s", other);
  return result;
}

CUresult other_attribute(int* value, CUdevice_attribute which, CUdevice device) {
  const CUresult result = attribute(value, which, device);
  if (result != CUDA_SUCCESS) return result;
  const char* sm = std::getenv("WEFT_SM");
  if (sm && which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = std::atoi(sm) / 10;
  if (sm && which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) *value = std::atoi(sm) % 10;
  if (which == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) *value = std::getenv("WEFT_NVLS") != nullptr;
  return result;
}

CUresult granularity(std::size_t* out, const CUmulticastObjectProp*, CUmulticastGranularity_flags) {
  *out = page;
  return CUDA_SUCCESS;
}

CUresult create_multicast(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* wanted) {
  CUmemAllocationProp plain = {};
  plain.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  plain.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(wanted->handleTypes);
  plain.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return create(handle, (wanted->size + page - 1) / page * page, &plain, 0);
}

CUresult add_device(CUmemGenericAllocationHandle, CUdevice) { return CUDA_SUCCESS; }
CUresult bind(CUmemGenericAllocationHandle, std::size_t, CUmemGenericAllocationHandle, std::size_t, std::size_t, unsigned long long) {
  return CUDA_SUCCESS;
}
CUresult unbind(CUmemGenericAllocationHandle, CUdevice, std::size_t, std::size_t) { return CUDA_SUCCESS; }

// The driver's function, or what stands for it here.
void* instead_of(const char* name, void* found) {
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  if (!found) return found;
  if (is("cuMemCreate")) create = reinterpret_cast<decltype(create)>(found);
  if (is("cuDeviceGetPCIBusId")) return bus_id = reinterpret_cast<decltype(bus_id)>(found), reinterpret_cast<void*>(other_bus_id);
  if (is("cuDeviceGetAttribute")) return attribute = reinterpret_cast<decltype(attribute)>(found), reinterpret_cast<void*>(other_attribute);
  if (!std::getenv("WEFT_NVLS")) return found;
  if (is("cuMulticastGetGranularity")) return reinterpret_cast<void*>(granularity);
  if (is("cuMulticastCreate")) return reinterpret_cast<void*>(create_multicast);
  if (is("cuMulticastAddDevice")) return reinterpret_cast<void*>(add_device);
  if (is("cuMulticastBindMem") || is("cuMulticastBindAddr")) return reinterpret_cast<void*>(bind);
  if (is("cuMulticastUnbind")) return reinterpret_cast<void*>(unbind);
  return found;
}

CUresult other_old_lookup(const char* name, void** out, int version, cuuint64_t flags) {
  const CUresult result = old_lookup(name, out, version, flags);
  if (result == CUDA_SUCCESS) *out = instead_of(name, *out);
  return result;
}

CUresult other_lookup(const char* name, void** out, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  const CUresult result = lookup(name, out, version, flags, status);
  if (result != CUDA_SUCCESS || !out || !*out) return result;
  if (std::strcmp(name, "cuGetProcAddress") != 0) {
    *out = instead_of(name, *out);
  } else if (version >= 12000) {
    lookup = reinterpret_cast<Lookup>(*out), *out = reinterpret_cast<void*>(other_lookup);
  } else {
    old_lookup = reinterpret_cast<OldLookup>(*out), *out = reinterpret_cast<void*>(other_old_lookup);
  }
  return result;
}

int nvml_by_bus_id(const char*, void** device) { return nvml_by_index(0, device); }
int nvml_peers(void*, void*, int, int* status) { return *status = 0; }

}  // namespace

extern "C" void* dlsym(void* handle, const char* name) {
  static const auto next = [] {
    void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return reinterpret_cast<void* (*)(void*, const char*)>(found ? found : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  }();
  void* found = next(handle, name);
  if (!found) return found;
  if (std::strcmp(name, "cuGetProcAddress_v2") == 0) return lookup = reinterpret_cast<Lookup>(found), reinterpret_cast<void*>(other_lookup);
  if (std::strcmp(name, "cuGetProcAddress") == 0)
    return old_lookup = reinterpret_cast<OldLookup>(found), reinterpret_cast<void*>(other_old_lookup);
  if (std::strncmp(name, "nvmlDeviceGetHandleByPciBusId", 29) == 0) {
    nvml_by_index = reinterpret_cast<decltype(nvml_by_index)>(next(handle, "nvmlDeviceGetHandleByIndex_v2"));
    return reinterpret_cast<void*>(nvml_by_bus_id);
  }
  if (std::strcmp(name, "nvmlDeviceGetP2PStatus") == 0) return reinterpret_cast<void*>(nvml_peers);
  return std::strncmp(name, "cu", 2) == 0 ? instead_of(name, found) : found;
}
