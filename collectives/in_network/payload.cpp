#include "collectives/in_network/payload.hpp"

#include <algorithm>
#include <new>

namespace weft {

void Payload::make_own() {
  if (!block_ || block_->references == 1) return;
  Payload own = block_->pool->take();
  std::copy_n(data(), block_->size, own.data());
  *this = std::move(own);
}

void PayloadPool::grow() {
  const std::size_t bytes = sizeof(Payload::Block) + values_ * sizeof(std::int32_t);
  const std::size_t stride = (bytes + alignof(Payload::Block) - 1) / alignof(Payload::Block) * alignof(Payload::Block);
  std::byte* at = slabs_.emplace_back(std::make_unique<std::byte[]>(stride * blocks_per_slab)).get();
  for (std::size_t i = 0; i < blocks_per_slab; ++i, at += stride) {
    free_ = new (at) Payload::Block{.pool = this, .next_free = free_, .references = 0, .size = values_};
    new (at + sizeof(Payload::Block)) std::int32_t[values_];
  }
}

}  // namespace weft
