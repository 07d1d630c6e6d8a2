#include "kernels/cuda/check.hpp"
#include "kernels/cuda/pack.hpp"
#include "kernels/pack_ops.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft::cuda {
namespace {

constexpr int threads = 256;
constexpr std::size_t tile = 64 * 1024;  // bytes of the buffer that a block moves
constexpr std::size_t max_blocks = 1u << 16;

template <class T>
DeviceMemory on_device(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T));
  copy(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

// Piece i lies at pieces[i] and at begins[i] in the buffer, which ends at begins[count].
template <bool packs>
__global__ void move(std::byte* const* pieces, const std::size_t* begins, std::size_t count, std::byte* buffer) {
  const std::size_t bytes = begins[count];
  for (std::size_t begin = blockIdx.x * tile; begin < bytes; begin += gridDim.x * tile) {
    const std::size_t end = begin + tile < bytes ? begin + tile : bytes;
    std::size_t low = 0, high = count;  // the last piece that begins at `begin` or before
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (begins[middle] <= begin ? low : high) = middle;
    }
    std::size_t at = begin;
    for (std::size_t i = low; at < end; ++i) {
      const std::size_t until = begins[i + 1] < end ? begins[i + 1] : end;
      std::byte* const piece = pieces[i] + (at - begins[i]);
      copy_bytes({threadIdx.x, blockDim.x}, packs ? buffer + at : piece, packs ? piece : buffer + at, until - at);
      at = until;
    }
  }
}

}  // namespace

PackPlan::PackPlan(std::span<const Piece> pieces, Piece buffer) : buffer_(buffer) {
  std::vector<std::byte*> addresses;
  std::vector<std::size_t> begins = {0};
  for (const Piece& piece : pieces) {
    if (piece.empty()) continue;
    addresses.push_back(piece.data());
    begins.push_back(begins.back() + piece.size());
  }
  check(begins.back() == buffer.size(), "pieces of {} B and a buffer of {} B", begins.back(), buffer.size());
  count_ = addresses.size();
  if (count_ == 0) return;
  pieces_ = on_device(addresses);
  begins_ = on_device(begins);
  synchronise();  // the vectors go
}

void PackPlan::pack(Stream stream) const { enqueue(true, stream); }
void PackPlan::unpack(Stream stream) const { enqueue(false, stream); }

void PackPlan::enqueue(bool packs, Stream stream) const {
  if (count_ == 0) return;
  const auto blocks = static_cast<unsigned>(std::min((buffer_.size() + tile - 1) / tile, max_blocks));
  const auto kernel = packs ? &move<true> : &move<false>;
  kernel<<<blocks, threads, 0, stream>>>(pieces_.as<std::byte*>(), begins_.as<std::size_t>(), count_, buffer_.data());
  check_launch("pack");
}

}  // namespace weft::cuda
