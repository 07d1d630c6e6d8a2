// All-reduces of one launch a rank, on the GPUs of this process. No CUDA header is needed to use it.
#pragma once

#include "collectives/transports/cuda/executor.hpp"
#include "kernels/dtype.hpp"
#include "kernels/one_launch_ops.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::cuda {

class OneLaunchWorld {
 public:
  // Why these ranks cannot: each must read and write the memory of all. "" where they can.
  static std::string obstacle(const std::vector<int>& devices, const Executor&);

  // Rank r runs on devices[r]. For messages of at most so many bytes.
  OneLaunchWorld(std::vector<int> devices, std::size_t capacity_bytes);

  // Enqueues the all-reduce (sum or avg) of every rank's message on its first stream, as Executor::replace() takes it.
  void enqueue(Shots, DType, ReduceOp, std::int64_t elements, const Executor&);

 private:
  const std::vector<int> devices_;
  const std::size_t capacity_bytes_;
  std::vector<DeviceMemory> memories_;
  std::vector<OneLaunchPlace> places_;
};

}  // namespace weft::cuda
