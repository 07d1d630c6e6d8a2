#include "collectives/transports/nccl/nccl_transport.hpp"

#include "collectives/transports/cuda/device_side.hpp"
#include "collectives/transports/cuda/waiting.hpp"

#include <vector>

namespace weft {

// NCCL tells messages of two ranks apart by their order, which is the same on both: that of the transfers of a step.
class NcclTransport::Work {
 public:
  Work(NcclWorld& world, Rank rank, int device, std::chrono::milliseconds patience)
      : world_(world), rank_(rank), waiting_{&world, patience}, side_(device) {
    cuda::use_device(device);
    done_ = cuda::make_event(cuda::Timing::off);
  }

  const cuda::DeviceSide& side() const { return side_; }

  // Of nothing there is no message.
  void receive(Rank from, ByteSpan into) {
    if (!into.empty()) receives_.push_back({from, into});
  }
  void send(Rank to, ByteView bytes) {
    if (!bytes.empty()) sends_.push_back({to, bytes});
  }
  void wait() {
    if (receives_.empty() && sends_.empty()) return;
    cuda::use_device(side_.device());
    world_.begin_group();
    for (const auto& [to, bytes] : sends_) world_.send(rank_, to, bytes.data(), bytes.size(), side_.stream().get());
    for (const auto& [from, into] : receives_) world_.receive(rank_, from, into.data(), into.size(), side_.stream().get());
    world_.end_group();
    receives_.clear();
    sends_.clear();
  }
  void finish() {
    cuda::use_device(side_.device());
    cuda::check_cuda(cudaEventRecord(done_.get(), side_.stream().get()), "cudaEventRecord");
    cuda::await(done_, waiting_, fmt::format("exchange {}", ++finished_));
  }
  std::byte* aside(std::size_t bytes) {
    return side_.aside(bytes, [this] { finish(); });
  }

 private:
  struct Receive {
    Rank from;
    ByteSpan into;
  };
  struct Send {
    Rank to;
    ByteView bytes;
  };

  NcclWorld& world_;
  const Rank rank_;
  const cuda::Waiting waiting_;
  cuda::DeviceSide side_;
  cuda::OwnedEvent done_;
  std::vector<Receive> receives_;  // of the step that is under way
  std::vector<Send> sends_;
  int finished_ = 0;
};

NcclTransport::NcclTransport(NcclWorld& world, Rank rank, int device, std::chrono::milliseconds patience) {
  const cuda::KeptDevice callers;
  work_ = std::make_unique<Work>(world, rank, device, patience);
}
NcclTransport::~NcclTransport() = default;

void NcclTransport::receive(Rank from, Tag, ByteSpan into) { work_->receive(from, into); }
void NcclTransport::send(Rank to, Tag, ByteView bytes) { work_->send(to, bytes); }
void NcclTransport::wait() {
  const cuda::KeptDevice callers;
  work_->wait();
}
void NcclTransport::reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) {
  const cuda::KeptDevice callers;
  work_->side().reduce(dtype, op, into.data(), from.data(), into.size());
}
void NcclTransport::copy(ByteSpan into, ByteView from) {
  const cuda::KeptDevice callers;
  work_->side().copy(into.data(), from.data(), into.size());
}
std::byte* NcclTransport::aside(std::size_t bytes) {
  const cuda::KeptDevice callers;
  return work_->aside(bytes);
}
int NcclTransport::device() const { return work_->side().device(); }
cuda::Stream NcclTransport::stream() { return work_->side().stream().get(); }
void NcclTransport::finish() {
  const cuda::KeptDevice callers;
  work_->finish();
}

}  // namespace weft
