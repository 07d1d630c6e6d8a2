#include "collectives/transports/cuda/devices.hpp"

#include "kernels/cuda/check.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace weft::cuda {

std::vector<int> devices_of_ranks(int ranks, int devices) {
  std::vector<int> all;
  const int used = std::min(ranks, devices);
  for (int r = 0; r < ranks; ++r) all.push_back(static_cast<int>(static_cast<std::int64_t>(r) * used / ranks));
  return all;
}

std::set<int> devices_here(const std::vector<int>& of_ranks) {
  std::set<int> here(of_ranks.begin(), of_ranks.end());
  here.erase(elsewhere);
  return here;
}

std::string describe_devices(const std::vector<int>& devices) {
  std::map<std::string, std::set<int>> by_name;
  for (const int d : devices_here(devices)) by_name[device_name(d)].insert(d);
  std::vector<std::string> names;
  for (const auto& [name, of_name] : by_name) names.push_back(of_name.size() == 1 ? name : fmt::format("{} x {}", of_name.size(), name));
  int driver = 0, runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return fmt::format("{}, CUDA driver {}, runtime {}", fmt::join(names, ", "), version_text(driver), version_text(runtime));
}

PeerAccess::PeerAccess(const std::set<int>& devices) {
  for (const int reader : devices)
    for (const int owner : devices) {
      int can = 0;
      if (reader != owner) check_cuda(cudaDeviceCanAccessPeer(&can, reader, owner), "cudaDeviceCanAccessPeer");
      if (can == 0) continue;
      use_device(reader);
      const cudaError_t error = cudaDeviceEnablePeerAccess(owner, 0);
      if (error != cudaErrorPeerAccessAlreadyEnabled) check_cuda(error, "cudaDeviceEnablePeerAccess");
      static_cast<void>(cudaGetLastError());  // it would be reported by the next launch
      enabled_.emplace(reader, owner);
    }
}

}  // namespace weft::cuda
