#include "kernels/simd.hpp"

#include "kernels/base/error.hpp"

namespace weft {
namespace {

constexpr std::array all_sets{InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512};

std::size_t detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return 3;
  if (__builtin_cpu_supports("avx2")) return 2;  // every processor with AVX2 has F16C, too
#endif
  return 1;
}

}  // namespace

std::string_view name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::baseline:
      return "baseline";
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::avx512:
      return "avx512";
  }
  check(false, "no instruction set has the value {}", static_cast<int>(set));
  return {};
}

std::span<const InstructionSet> instruction_sets() {
  static const std::size_t count = detect();
  return std::span(all_sets).first(count);
}

}  // namespace weft
