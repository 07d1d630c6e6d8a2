#include "collectives/bench/worlds/compressed_device.hpp"

#include "collectives/bench/worlds/trace.hpp"
#include "collectives/executors/blocking.hpp"

#include <algorithm>

namespace weft::bench {

void CompressedOnDevice::prepare(const StreamJob& job) {
  const cuda::KeptDevice callers;
  cuda::use_device(transport_.device());
  compressor_.reset();  // before more memory is asked for
  memory_ = {};
  compressor_.emplace(*settings_.compression, std::vector<TensorShape>{{"gradient", job.elements}}, rank_,
                      request_of(settings_, std::string(job.algorithm)));
  memory_ = cuda::DeviceMemory(std::max(compressor_->gradient_bytes(), buffer_bytes(job.schedule, job.elements, job.dtype)));
}

double CompressedOnDevice::run(std::int64_t count) {
  check(count == 1, "{} compressed all-reduces of one gradient", count);
  const double start = now_us();
  compressor_->all_reduce(memory_.as<float>(), transport_, host_);
  transport_.finish();
  return now_us() - start;
}

void CompressedOnDevice::copy(void* to, const void* from, std::size_t bytes) const {
  const cuda::KeptDevice callers;
  cuda::use_device(transport_.device());
  cuda::copy(to, from, bytes);
  cuda::synchronise();
}

}  // namespace weft::bench
