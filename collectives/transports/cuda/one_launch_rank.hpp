// All-reduces of one launch where each rank has a process of its own on one machine, and a GPU. No CUDA header is needed to use it.
#pragma once

#include "collectives/transports/cuda/shared_memory.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/dtype.hpp"
#include "kernels/one_launch_ops.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace weft::cuda {

class OneLaunchRank {
 public:
  // As of SharedMemory.
  OneLaunchRank(Rank rank, int ranks, int device, Transport& host);
  ~OneLaunchRank();

  // All ranks call it together, before messages of so many bytes. Returns why they cannot: the same on all ranks, "" where they can.
  std::string make_room(std::size_t message_bytes);
  // Enqueues the all-reduce (sum or avg) of the rank's message; every rank makes the same calls in the same order.
  void enqueue(Shots, DType, ReduceOp, std::int64_t elements, void* message, Stream);
  // A rank is lost: kernels that wait for it end, and so do all that follow.
  void give_up();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace weft::cuda
