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
        Word nans = 0, nonfinites = 0;
        vectorised([data = static_cast<const T*>(values) + begin, n = std::min(block, count - begin), nans = &nans,
                    nonfinites = &nonfinites]() WEFT_INLINE {
          Word nan_sum = 0, sum = 0;
          for (std::size_t i = 0; i < n; ++i) {
            nan_sum = static_cast<Word>(nan_sum + nan_bit(data[i]));
            sum = static_cast<Word>(sum + nonfinite_bit(data[i]));
          }
          *nans = nan_sum;
          *nonfinites = sum;
        });
        found.nans += nans;
        found.infinities += static_cast<Word>(nonfinites - nans);
      }
    }
  });
  return found;
}

}  // namespace weft
