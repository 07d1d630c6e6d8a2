#include "kernels/finite.hpp"

#include "kernels/finite_ops.hpp"
#include "kernels/simd.hpp"

#include <algorithm>

namespace weft {

NonFinite count_nonfinite(DType type, const void* values, std::size_t count) {
  NonFinite found;
  with_type(type, [&]<class T>() {
    if constexpr (HalfFloat<T> || std::floating_point<T>) {
      using Word = typename FloatBits<T>::word;
      constexpr std::size_t block = 4096;  // counted in words as wide as the elements; 16 bits must do
      for (std::size_t begin = 0; begin < count; begin += block) {
        Word nans = 0, infinities = 0;
        vectorised([data = static_cast<const T*>(values) + begin, n = std::min(block, count - begin), nans = &nans,
                    infinities = &infinities]() WEFT_INLINE {
          Word above = 0, equal = 0;
          for (std::size_t i = 0; i < n; ++i) {
            const Word magnitude = magnitude_bits(data[i]);
            above = static_cast<Word>(above + (magnitude > FloatBits<T>::infinity ? 1 : 0));
            equal = static_cast<Word>(equal + (magnitude == FloatBits<T>::infinity ? 1 : 0));
          }
          *nans = above;
          *infinities = equal;
        });
        found.nans += nans;
        found.infinities += infinities;
      }
    }
  });
  return found;
}

}  // namespace weft
