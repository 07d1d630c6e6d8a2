// NCCL: the messages of StreamPlans, and its own collectives to compare with. All ranks are in this process, one on each GPU.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "collectives/transports/cuda/executor.hpp"
#include "kernels/dtype.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

class NcclWorld final : public cuda::Messenger {
 public:
  // Rank r runs on devices[r]; no two may be the same, NCCL refuses that. Throws RunError for what NCCL refuses, and where its library
  // (libnccl.so.2, also in the toolkit, or the file that the environment's WEFT_NCCL_LIBRARY names) cannot be loaded.
  explicit NcclWorld(const std::vector<int>& devices);
  ~NcclWorld() override;

  void begin_group() override;
  void send(Rank from, Rank to, const void* data, std::size_t bytes, cuda::Stream) override;
  void receive(Rank at, Rank from, void* into, std::size_t bytes, cuda::Stream) override;
  void end_group() override;
  void look() override;  // an error of any rank aborts all communicators

  // Whether NCCL has such a collective itself.
  static bool has(Collective, DType, ReduceOp);
  // Enqueues it for all ranks, on the executor's memory; in place, as schedules run. The ranks' blocks must be equal.
  void run(const Schedule&, DType, ReduceOp, std::int64_t elements, const cuda::Executor&);

  static std::string version();  // "2.28.3"

 private:
  struct Communicators;
  std::unique_ptr<Communicators> communicators_;
};

}  // namespace weft
