// The 64-bit mixer behind every hash and random stream: the same on every machine, CPU and GPU.
#pragma once

#include "kernels/base/host_device.hpp"

#include <cstdint>

namespace weft {

// 2^64 divided by the golden ratio, odd: multiples of it are spread evenly.
inline constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;

// The finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): a bijection in which every bit reaches every other.
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace weft
