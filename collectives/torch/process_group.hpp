// The c10d backend "weft": PyTorch's collectives on CPU tensors, in the order in which they are called, by a thread of the
// group's own. What cannot be carried is refused by the call itself; what goes wrong later is thrown by wait().
#pragma once

#include "collectives/compression/compressor.hpp"
#include "collectives/torch/communicator.hpp"
#include "collectives/torch/job_thread.hpp"
#include "collectives/torch/key_store.hpp"
#include "collectives/torch/peer_links.hpp"
#include "collectives/torch/torch_compat.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// A collective as it was run, on the clock of Python's time.monotonic_ns().
struct RecordedCollective {
  std::string group;
  std::string op;
  std::int64_t bytes = 0;  // of the whole message
  std::string algorithm;
  std::int64_t start_ns = 0, end_ns = 0;
};
void record_collectives(bool on);  // off forgets what has not been taken
std::vector<RecordedCollective> take_recorded_collectives();

struct ProcessGroupSettings {
  GroupSettings group;
  std::string id;         // tells groups apart in records
  std::string algorithm;  // as GroupAlgorithms reads it
};

class ProcessGroupWeft final : public TorchBackend {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Started = c10::intrusive_ptr<c10d::Work>;
  // What runs on the group's thread.
  using Job = std::function<void(Communicator&)>;

  ProcessGroupWeft(c10::intrusive_ptr<c10d::Store> store, ProcessGroupSettings settings);
  ~ProcessGroupWeft() override;

  // Finishes what was started and says farewell to the other ranks. Nothing can be started afterwards.
  void finish();
  // The same for all groups of this process, as at its exit.
  static void finish_all();
  // "tcp" or "shared_memory".
  std::string carrier() const { return std::string(communicator_->carrier()); }

  // The tensor becomes the sum of what all ranks sent of theirs. Contiguous, float32, of the compressor's size.
  Started compressed_allreduce(std::shared_ptr<Compressor> compressor, const at::Tensor& gradient);
  // From the next such call on.
  Started set_k(std::shared_ptr<Compressor> compressor, Amount k);

  const std::string getBackendName() const override { return "weft"; }
  Started broadcast(Tensors& tensors, const c10d::BroadcastOptions& o) override;
  Started allreduce(Tensors& tensors, const c10d::AllreduceOptions& o) override;
  Started allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& o) override;
  Started reduce(Tensors& tensors, const c10d::ReduceOptions& o) override;
  Started allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& o) override;
  Started _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& o) override;
  Started gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& o) override;
  Started scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& o) override;
  Started reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& o) override;
  Started _reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& o) override;
  Started alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                        std::vector<std::int64_t>& input_splits, const c10d::AllToAllOptions& o) override;
  Started alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& o) override;
  Started send(Tensors& tensors, int to, int tag) override;
  Started recv(Tensors& tensors, int from, int tag) override;
  Started barrier(const c10d::BarrierOptions& o) override;

 private:
  Started start(c10d::OpType type, const char* title, const Tensors& tensors, c10::IValue result, Job job);
  void run(Communicator&, const CollectiveCall&, std::byte* data);
  Started exchange_blocks(c10d::OpType type, const char* title, const Tensors& outputs, const Tensors& inputs, c10::IValue result);

  ProcessGroupSettings settings_;
  std::unique_ptr<KeyStore> store_;
  std::unique_ptr<Communicator> communicator_;
  std::string ended_;  // why nothing more can be run; of the group's thread
  std::unique_ptr<PeerLinks> links_;
  std::unique_ptr<JobThread> thread_;
};

}  // namespace weft
