// NCCL: the messages of StreamPlans, and its own collectives to compare with. One rank on each GPU: all of them in this process, or each
// in a process of its own.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "collectives/transports/cuda/executor.hpp"
#include "kernels/dtype.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft {

// One rank whose peers are in other processes.
struct NcclMember {
  Rank rank = 0;
  int ranks = 1;
  int device = 0;
  std::string id = {};                         // NcclWorld::make_id() of one rank, the same on all
  std::chrono::milliseconds patience{30'000};  // for each call of NCCL that needs the other ranks
  // Asked while NCCL works and, longer, when it has failed: throws RunError where a rank is lost, and names it, which NCCL does not.
  std::function<void()> look = [] {};
  // As of Messenger: what this rank waits for, and what the others do.
  std::function<void(const std::string&)> tell_waiting = [](const std::string&) {};
  std::function<std::string()> others = [] { return std::string(); };
};

class NcclWorld final : public cuda::Messenger {
 public:
  // Rank r runs on devices[r]; no two may be the same, NCCL refuses that. Throws RunError for what NCCL refuses, and where its library
  // (libnccl.so.2, also in the toolkit, or the file that the environment's WEFT_NCCL_LIBRARY names) cannot be loaded.
  explicit NcclWorld(const std::vector<int>& devices);
  // Returns when all ranks have come; none of its calls blocks for longer than patience. Throws RunError.
  explicit NcclWorld(NcclMember);
  ~NcclWorld() override;

  void begin_group() override;
  void send(Rank from, Rank to, const void* data, std::size_t bytes, cuda::Stream) override;
  void receive(Rank at, Rank from, void* into, std::size_t bytes, cuda::Stream) override;
  void end_group() override;
  void look() override;  // an error of any rank aborts all communicators
  void tell_waiting(const std::string& what) override;
  std::string others() override;
  // Ends what NCCL does on the devices, which may wait for a rank that is lost; the world is of no use afterwards.
  void abort();

  // Whether NCCL has such a collective itself.
  static bool has(Collective, DType, ReduceOp);
  // Enqueues it for the ranks of this process, on the executor's memory; in place, as schedules run. The ranks' blocks must be equal.
  void run(const Schedule&, DType, ReduceOp, std::int64_t elements, const cuda::Executor&);

  static std::string version();  // "2.28.3"
  static std::string make_id();  // by which the ranks of one world find each other
  static constexpr std::size_t id_bytes = 128;

 private:
  void settle(const char* what);

  struct Communicators;
  std::unique_ptr<Communicators> communicators_;
};

}  // namespace weft
