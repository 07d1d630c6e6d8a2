#include "kernels/cuda/check.hpp"
#include "kernels/cuda/pack.hpp"

#include <cstdint>
#include <vector>

#include <cub/device/device_memcpy.cuh>

namespace weft::cuda {
namespace {

template <class T>
DeviceMemory on_device(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T));
  copy(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

// Tells the scratch memory it needs when `scratch` is null.
void gather(void* scratch, std::size_t& scratch_bytes, void** from, void** to, std::size_t* sizes, std::size_t count, Stream stream) {
  check_cuda(cub::DeviceMemcpy::Batched(scratch, scratch_bytes, from, to, sizes, static_cast<std::int64_t>(count), stream),
             "cub::DeviceMemcpy::Batched");
}

}  // namespace

PackPlan::PackPlan(std::span<const Piece> pieces, Piece buffer) {
  std::vector<void*> addresses, places;
  std::vector<std::size_t> sizes;
  std::size_t offset = 0;
  for (const Piece& piece : pieces) {
    if (piece.empty()) continue;
    addresses.push_back(piece.data());
    places.push_back(buffer.data() + offset);
    sizes.push_back(piece.size());
    offset += piece.size();
  }
  check(offset == buffer.size(), "pieces of {} B and a buffer of {} B", offset, buffer.size());
  count_ = sizes.size();
  if (count_ == 0) return;
  pieces_ = on_device(addresses);
  places_ = on_device(places);
  sizes_ = on_device(sizes);
  gather(nullptr, scratch_bytes_, pieces_.as<void*>(), places_.as<void*>(), sizes_.as<std::size_t>(), count_, nullptr);
  scratch_ = DeviceMemory(scratch_bytes_);
  synchronise();  // the vectors go
}

void PackPlan::pack(Stream stream) const {
  std::size_t bytes = scratch_bytes_;
  if (count_ > 0) gather(scratch_.data(), bytes, pieces_.as<void*>(), places_.as<void*>(), sizes_.as<std::size_t>(), count_, stream);
}

void PackPlan::unpack(Stream stream) const {
  std::size_t bytes = scratch_bytes_;
  if (count_ > 0) gather(scratch_.data(), bytes, places_.as<void*>(), pieces_.as<void*>(), sizes_.as<std::size_t>(), count_, stream);
}

}  // namespace weft::cuda
