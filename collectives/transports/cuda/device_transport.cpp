#include "collectives/transports/cuda/device_transport.hpp"

#include "collectives/transports/cuda/device_side.hpp"
#include "collectives/transports/cuda/pinned_memory.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace weft::cuda {
namespace {

constexpr std::size_t alignment = 256;
std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// A message of the step that is under way.
struct Message {
  Rank peer;
  Tag tag;
  std::byte* data;  // on the device; what is sent is only read
  std::size_t size;
  std::optional<Reduction> reduction = {};
  std::size_t offset = 0;  // of its piece in either half of the staging memory
};

}  // namespace

class DeviceTransport::Staging {
 public:
  Staging(Transport& inner, DeviceCarriage carriage) : inner_(inner), carriage_(carriage), side_(carriage.device) {
    check(carriage.piece_bytes > 0 && carriage.piece_bytes % alignment == 0, "pieces of {} bytes", carriage.piece_bytes);
    use_device(carriage_.device);
    out_ = make_stream();
    for (OwnedEvent& e : landed_) e = make_event(Timing::off);
  }

  bool direct() const { return carriage_.carriage == Carriage::direct; }
  int device() const { return carriage_.device; }
  Stream stream() {
    unfinished_ = true;  // what the caller enqueues on it
    return side_.stream().get();
  }

  void receive(Rank from, Tag tag, ByteSpan into, std::optional<Reduction> reduction) {
    if (direct()) return finish(), inner_.receive(from, tag, into);
    receives_.push_back({from, tag, into.data(), into.size(), reduction});
  }
  void send(Rank to, Tag tag, ByteView bytes) {
    if (direct()) return finish(), inner_.send(to, tag, bytes);
    sends_.push_back({to, tag, const_cast<std::byte*>(bytes.data()), bytes.size()});
  }

  // Round k: the k-th pieces that are sent have been copied to the host, those of the next round are on their way there, and those that
  // came in the round before on their way to the device.
  void wait() {
    if (direct()) return inner_.wait();
    finish();  // what is sent may be the result of it
    const std::size_t rounds = lay_out();
    if (rounds > 0) copy_out(0);
    for (std::size_t k = 0; k < rounds; ++k) {
      synchronise(out_.get());
      if (k + 1 < rounds) copy_out(k + 1);
      if (k >= 2) check_cuda(cudaEventSynchronize(landed_[k % 2].get()), "cudaEventSynchronize");
      for_pieces(receives_, k, [&](const Message& m, ByteSpan piece, std::size_t) { inner_.receive(m.peer, m.tag, piece); });
      for_pieces(sends_, k, [&](const Message& m, ByteSpan piece, std::size_t) { inner_.send(m.peer, m.tag, piece); });
      inner_.wait();
      land(k);
    }
    finish();
    receives_.clear();
    sends_.clear();
  }

  void reduce(DType dtype, ReduceOp op, void* into, const void* from, std::size_t bytes) {
    side_.reduce(dtype, op, into, from, bytes);
    unfinished_ = true;
  }
  void copy(void* into, const void* from, std::size_t bytes) {
    side_.copy(into, from, bytes);
    unfinished_ = true;
  }
  void finish() {
    use_device(carriage_.device);
    if (std::exchange(unfinished_, false)) synchronise(side_.stream().get());
  }
  std::byte* aside(std::size_t bytes) {
    return side_.aside(bytes, [this] { finish(); });
  }

 private:
  std::size_t pieces_of(const Message& m) const { return m.size == 0 ? 1 : (m.size + carriage_.piece_bytes - 1) / carriage_.piece_bytes; }
  // Gives every message its place in the staging memory. Returns the rounds of the longest.
  std::size_t lay_out() {
    std::size_t rounds = 0, half = 0;
    for (std::vector<Message>* all : {&receives_, &sends_})
      for (Message& m : *all) {
        m.offset = half;
        half += rounded(std::min(m.size, carriage_.piece_bytes));
        rounds = std::max(rounds, pieces_of(m));
      }
    if (half > half_bytes_) {
      staging_ = {};  // before more is asked for
      staging_ = PinnedMemory(2 * half);
      half_bytes_ = half;
    }
    return rounds;
  }

  // Calls act(message, its k-th piece on the host, where that begins in the message) for those that have one.
  template <class Act>
  void for_pieces(const std::vector<Message>& messages, std::size_t k, Act act) const {
    for (const Message& m : messages) {
      if (k >= pieces_of(m)) continue;
      const std::size_t begin = k * carriage_.piece_bytes, size = std::min(carriage_.piece_bytes, m.size - begin);
      std::byte* const at = half_bytes_ == 0 ? nullptr : staging_.data() + (k % 2) * half_bytes_ + m.offset;
      act(m, ByteSpan(at, size), begin);
    }
  }
  void copy_out(std::size_t k) {
    for_pieces(sends_, k, [&](const Message& m, ByteSpan piece, std::size_t begin) {
      cuda::copy(piece.data(), m.data + begin, piece.size(), out_.get());
    });
  }
  void land(std::size_t k) {
    for_pieces(receives_, k, [&](const Message& m, ByteSpan piece, std::size_t begin) {
      if (m.reduction)
        reduce(m.reduction->dtype, m.reduction->op, m.data + begin, piece.data(), piece.size());
      else
        copy(m.data + begin, piece.data(), piece.size());
    });
    check_cuda(cudaEventRecord(landed_[k % 2].get(), side_.stream().get()), "cudaEventRecord");
  }

  Transport& inner_;
  const DeviceCarriage carriage_;
  DeviceSide side_;
  OwnedStream out_;
  std::array<OwnedEvent, 2> landed_;  // of each half: what came there has been taken in
  std::vector<Message> receives_, sends_;
  PinnedMemory staging_;  // two halves, for every other round
  std::size_t half_bytes_ = 0;
  bool unfinished_ = false;  // something on its stream that nobody has waited for
};

DeviceTransport::DeviceTransport(Transport& inner, DeviceCarriage carriage) {
  const KeptDevice callers;
  staging_ = std::make_unique<Staging>(inner, carriage);
}
DeviceTransport::~DeviceTransport() = default;

void DeviceTransport::receive(Rank from, Tag tag, ByteSpan into) {
  const KeptDevice callers;
  staging_->receive(from, tag, into, std::nullopt);
}
bool DeviceTransport::receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) {
  if (staging_->direct()) return false;
  staging_->receive(from, tag, into, Reduction{dtype, op});
  return true;
}
void DeviceTransport::send(Rank to, Tag tag, ByteView bytes) {
  const KeptDevice callers;
  staging_->send(to, tag, bytes);
}
void DeviceTransport::wait() {
  const KeptDevice callers;
  staging_->wait();
}
void DeviceTransport::reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) {
  const KeptDevice callers;
  staging_->reduce(dtype, op, into.data(), from.data(), into.size());
}
void DeviceTransport::copy(ByteSpan into, ByteView from) {
  const KeptDevice callers;
  staging_->copy(into.data(), from.data(), into.size());
}
std::byte* DeviceTransport::aside(std::size_t bytes) {
  const KeptDevice callers;
  return staging_->aside(bytes);
}
int DeviceTransport::device() const { return staging_->device(); }
Stream DeviceTransport::stream() { return staging_->stream(); }
void DeviceTransport::finish() {
  const KeptDevice callers;
  staging_->finish();
}

}  // namespace weft::cuda
