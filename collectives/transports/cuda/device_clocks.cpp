#include "collectives/transports/cuda/device_clocks.hpp"

#include <chrono>

namespace weft::cuda {
namespace {

double host_us() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

DeviceClocks::DeviceClocks(const std::set<int>& devices) {
  for (const int d : devices) {
    use_device(d);
    of_device_[d].event = make_event(Timing::on);
  }
}

void DeviceClocks::compare(const std::function<const OwnedStream&(int device)>& stream_of,
                           const std::function<void(const OwnedEvent&)>& await) {
  for (auto& [device, began] : of_device_) {
    use_device(device);
    const double before = host_us();
    check_cuda(cudaEventRecord(began.event.get(), stream_of(device).get()), "cudaEventRecord");
    await(began.event);
    const double after = host_us();
    began.host_us = (before + after) / 2;
    began.error_us = (after - before) / 2;
  }
}

}  // namespace weft::cuda
