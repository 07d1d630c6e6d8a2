// The clocks of devices: each counts from an event of its own, of which the host knows when it came.
#pragma once

#include "collectives/transports/cuda/handles.hpp"

#include <functional>
#include <map>
#include <set>

namespace weft::cuda {

class DeviceClocks {
 public:
  explicit DeviceClocks(const std::set<int>& devices);

  // Records each device's event anew, on a stream of the device, and waits for it.
  void compare(const std::function<const OwnedStream&(int device)>& stream_of, const std::function<void(const OwnedEvent&)>& await);

  // When a device's clock began, by the host's steady clock, and by how much that may be wrong.
  struct Began {
    OwnedEvent event;
    double host_us = 0, error_us = 0;
  };
  const Began& of(int device) const { return of_device_.at(device); }

 private:
  std::map<int, Began> of_device_;
};

}  // namespace weft::cuda
