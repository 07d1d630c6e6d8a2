#include "kernels/cuda/check.hpp"
#include "kernels/cuda/sort_keys.hpp"

#include <cub/device/device_radix_sort.cuh>

namespace weft::cuda {

void sort_keys_descending(const std::uint64_t* from, std::uint64_t* to, std::size_t count, KeyBits bits, Stream stream) {
  if (count == 0) return;
  std::size_t scratch_bytes = 0;
  const auto sort = [&](void* scratch) {
    check_cuda(cub::DeviceRadixSort::SortKeysDescending(scratch, scratch_bytes, from, to, count, bits.first, bits.end, stream),
               "cub::DeviceRadixSort::SortKeysDescending");
  };
  sort(nullptr);
  const Scratch scratch(scratch_bytes, stream);
  sort(scratch.as<void>());
}

}  // namespace weft::cuda
