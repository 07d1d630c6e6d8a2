#include "kernels/half_block.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft {
namespace {

#if defined(__x86_64__)
// Each converts as many as fill its vectors and returns how many that were. The masks are full: the unmasked forms make
// GCC 12 warn of its own header.
[[gnu::target("avx512f")]] std::size_t to_floats_avx512(const float16* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
  return i;
}

[[gnu::target("avx512f")]] std::size_t to_float16s_avx512(const float* from, float16* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}

[[gnu::target("avx2,f16c")]] std::size_t to_floats_avx2(const float16* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}

[[gnu::target("avx2,f16c")]] std::size_t to_float16s_avx2(const float* from, float16* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
#endif

}  // namespace

void to_floats(InstructionSet set, const float16* from, float* to, std::size_t count) {
  std::size_t i = 0;
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) i = to_floats_avx512(from, to, count);
  if (set == InstructionSet::avx2) i = to_floats_avx2(from, to, count);
#else
  static_cast<void>(set);
#endif
  for (; i < count; ++i) to[i] = to_float(from[i]);
}

void to_float16s(InstructionSet set, const float* from, float16* to, std::size_t count) {
  std::size_t i = 0;
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) i = to_float16s_avx512(from, to, count);
  if (set == InstructionSet::avx2) i = to_float16s_avx2(from, to, count);
#else
  static_cast<void>(set);
#endif
  for (; i < count; ++i) to[i] = to_float16(from[i]);
}

}  // namespace weft
