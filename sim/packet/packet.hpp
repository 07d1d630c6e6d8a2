// What lies in queues and on links: sixteen bytes a packet, in rings that keep the size they once needed.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace weft {

enum class PacketKind : std::uint8_t {
  data,
  acknowledgement,  // sequence: the next packet the receiver wants
  negative,         // the same, and the sender must go back to it
  notification,     // DCQCN: a marked packet has arrived
  datagram,         // of an agent; flow: its record
};

struct Packet {
  std::uint32_t flow;
  std::uint32_t sequence;
  std::uint32_t hop;         // the link it is on or waits for, as an index into the network's hops
  std::uint32_t bytes : 24;  // on the wire
  std::uint32_t kind : 3;
  std::uint32_t marked : 1;
  std::uint32_t corrupt : 1;

  PacketKind is() const { return static_cast<PacketKind>(kind); }
};
static_assert(sizeof(Packet) == 16);

struct PacketOnWire {
  Packet packet;
  std::int64_t date;  // when the far end takes notice of it
};

// First in, first out. Grows by doubling and never shrinks, so memory follows the most that was ever in it.
template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  const T& front() const { return data_[head_]; }
  const T& operator[](std::uint32_t i) const { return data_[(head_ + i) & (capacity_ - 1)]; }
  // The place of the new last one.
  T& add() {
    if (size_ == capacity_) grow();
    return data_[(head_ + size_++) & (capacity_ - 1)];
  }
  T pop() {
    const T value = data_[head_];
    head_ = (head_ + 1) & (capacity_ - 1);
    if (--size_ == 0) head_ = 0;  // the same few places again, which are in a cache
    return value;
  }

 private:
  void grow() {
    const std::uint32_t wider = capacity_ == 0 ? 8 : 2 * capacity_;
    auto data = std::make_unique<T[]>(wider);
    for (std::uint32_t i = 0; i < size_; ++i) data[i] = (*this)[i];
    data_ = std::move(data);
    head_ = 0;
    capacity_ = wider;
  }

  std::unique_ptr<T[]> data_;
  std::uint32_t head_ = 0, size_ = 0, capacity_ = 0;
};

}  // namespace weft
