// The values a datagram carries: a fixed number of 32-bit integers in a pooled, counted buffer, so that a multicast shares
// one buffer and nothing is allocated per packet once a pool has reached its working size.
#pragma once

#include "kernels/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft {

class PayloadPool;

// A counted reference to a buffer of a pool; empty when default-made (a datagram without values, or a run of sizes only).
// Copies share the buffer. A pool and its payloads belong to one thread, and the pool outlives them.
class Payload {
 public:
  Payload() = default;
  Payload(const Payload& other) : block_(other.block_) {
    if (block_) ++block_->references;
  }
  Payload(Payload&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Payload& operator=(Payload other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Payload() {
    if (block_ && --block_->references == 0) give_back();
  }

  explicit operator bool() const { return block_ != nullptr; }
  std::span<const std::int32_t> values() const {
    return block_ ? std::span<const std::int32_t>(data(), block_->size) : std::span<const std::int32_t>();
  }
  // For writing. The buffer must not be shared: make_own() first where it may be.
  std::span<std::int32_t> mutable_values() {
    check(block_ && block_->references == 1, "a payload is written while {} datagrams share it", block_ ? block_->references : 0);
    return {data(), block_->size};
  }
  void make_own();  // afterwards nobody else holds this buffer; copies the values if somebody did

 private:
  friend class PayloadPool;
  struct Block {
    PayloadPool* pool;
    Block* next_free;
    std::uint32_t references;
    std::uint32_t size;  // in values, which follow
  };
  explicit Payload(Block* block) : block_(block) {}
  std::int32_t* data() const { return reinterpret_cast<std::int32_t*>(block_ + 1); }
  void give_back();

  Block* block_ = nullptr;
};

class PayloadPool {
 public:
  // Every payload of the pool holds `values` integers.
  explicit PayloadPool(int values) : values_(static_cast<std::uint32_t>(values)) {}
  PayloadPool(const PayloadPool&) = delete;
  PayloadPool& operator=(const PayloadPool&) = delete;

  Payload take();  // not shared; its values are undefined
  int values() const { return static_cast<int>(values_); }
  int in_use() const { return in_use_; }

 private:
  friend class Payload;
  static constexpr std::size_t blocks_per_slab = 256;
  void grow();

  std::uint32_t values_;
  int in_use_ = 0;
  Payload::Block* free_ = nullptr;
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
};

inline Payload PayloadPool::take() {
  if (!free_) grow();
  Payload::Block* block = free_;
  free_ = block->next_free;
  block->references = 1;
  ++in_use_;
  return Payload(block);
}

inline void Payload::give_back() {
  block_->next_free = block_->pool->free_;
  block_->pool->free_ = block_;
  --block_->pool->in_use_;
}

}  // namespace weft
