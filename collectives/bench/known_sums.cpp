#include "collectives/bench/known_sums.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/hash.hpp"
#include "kernels/reduce_ops.hpp"

#include <algorithm>
#include <cstring>

namespace weft::bench {
namespace {

constexpr std::int64_t period = 65'537;  // a prime
constexpr std::uint32_t stride = 7'919;  // from one round's beginning to the next's, a prime too

// One worker's values. All workers' together stay below 2^31, also after rounding to the shortest of the types.
void fill_table(DType dtype, FixedPoint point, int workers, int worker, void* into) {
  const std::int64_t most = 2'080'000'000 / workers;
  with_type(dtype, [&]<class T>() {
    T* const out = static_cast<T*>(into);
    for (std::int64_t i = 0; i < period; ++i) {
      const std::uint64_t random = mixed(static_cast<std::uint64_t>(i * 4096 + worker + 1) * golden_ratio);
      const std::int64_t v = static_cast<std::int64_t>(random % static_cast<std::uint64_t>(2 * most + 1)) - most;
      if constexpr (std::integral<T>)
        out[i] = static_cast<T>(v);
      else
        out[i] = narrow<T>(static_cast<typename Computed<T>::type>((static_cast<double>(v) + 0.37) / point.scale));
    }
  });
}

std::string text_of(DType dtype, const std::byte* at) {
  std::string out;
  with_type(dtype, [&]<class T>() {
    T value;
    std::memcpy(&value, at, sizeof value);
    out = fmt::format("{}", widen(value));
  });
  return out;
}

}  // namespace

KnownSums::KnownSums(DType dtype, FixedPoint point, int workers, int worker)
    : dtype_(dtype), worker_(worker), own_(period * size_of(dtype)), sums_(own_.size()) {
  std::vector<std::byte> table(own_.size());
  std::vector<std::int32_t> fixed(period);
  std::vector<std::int64_t> sums(period, 0);
  for (int w = 0; w < workers; ++w) {
    fill_table(dtype, point, workers, w, table.data());
    if (w == worker) own_ = table;
    if (dtype == DType::int32)
      std::memcpy(fixed.data(), table.data(), table.size());
    else
      check(quantise(dtype, point, table.data(), fixed) == 0, "a known value that does not fit at the scale {}", point.scale);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += fixed[i];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    check(sums[i] > INT32_MIN && sums[i] < INT32_MAX, "a known sum of {}", sums[i]);
    fixed[i] = static_cast<std::int32_t>(sums[i]);
  }
  if (dtype == DType::int32)
    std::memcpy(sums_.data(), fixed.data(), sums_.size());
  else
    dequantise(dtype, point, fixed, sums_.data());
}

template <class Do>
void KnownSums::stretches(std::uint32_t round, std::int64_t elements, Do act) const {
  const std::size_t unit = size_of(dtype_);
  std::int64_t at = static_cast<std::int64_t>(std::uint64_t{round} * stride % period);
  for (std::int64_t first = 0; first < elements;) {
    const std::int64_t count = std::min(period - at, elements - first);
    act(static_cast<std::size_t>(first) * unit, static_cast<std::size_t>(at) * unit, static_cast<std::size_t>(count) * unit);
    first += count;
    at = 0;
  }
}

void KnownSums::fill(std::uint32_t round, std::int64_t elements, void* gradients) const {
  stretches(round, elements, [&](std::size_t first, std::size_t at, std::size_t bytes) {
    std::memcpy(static_cast<std::byte*>(gradients) + first, own_.data() + at, bytes);
  });
}

KnownSums::Verdict KnownSums::compare(std::uint32_t round, std::int64_t elements, const void* sums) const {
  Verdict out;
  const std::size_t unit = size_of(dtype_);
  const auto* const have = static_cast<const std::byte*>(sums);
  stretches(round, elements, [&](std::size_t first, std::size_t at, std::size_t bytes) {
    if (std::memcmp(have + first, sums_.data() + at, bytes) == 0) return;
    for (std::size_t i = 0; i < bytes; i += unit) {
      if (std::memcmp(have + first + i, sums_.data() + at + i, unit) == 0) continue;
      if (out.wrong++ == 0)
        out.first_wrong = fmt::format("worker {}, element {}: is {}, should be {}", worker_, (first + i) / unit,
                                      text_of(dtype_, have + first + i), text_of(dtype_, sums_.data() + at + i));
    }
  });
  return out;
}

}  // namespace weft::bench
