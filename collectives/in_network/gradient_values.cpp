#include "collectives/in_network/gradient_values.hpp"

#include "kernels/base/error.hpp"
#include "kernels/compression/quantise_ops.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft {
namespace {

double wide_value(DType dtype, const std::byte* at) {
  double out = 0;
  with_float_type(dtype, [&]<class T>() {
    T value;
    std::memcpy(&value, at, sizeof value);
    out = static_cast<double>(widen(value));
  });
  return out;
}

}  // namespace

GradientValues::GradientValues(DType dtype, const void* gradients, void* sums, FixedPoint point, const Share& share)
    : dtype_(dtype),
      gradients_(static_cast<const std::byte*>(gradients)),
      sums_(static_cast<std::byte*>(sums)),
      point_(point),
      share_(share) {
  check(dtype != DType::int64 && dtype != DType::uint8, "packets carry 32-bit integers or fixed point, not {}", name_of(dtype));
}

GradientValues::Range GradientValues::range(std::uint32_t packet) const {
  const std::int64_t begin = static_cast<std::int64_t>(packet) * share_.each;
  return {begin, static_cast<std::size_t>(std::clamp<std::int64_t>(share_.elements - begin, 0, share_.each))};
}

void GradientValues::read(std::uint32_t packet, std::span<std::int32_t> values) {
  const Range r = range(packet);
  const std::span<std::int32_t> own = values.first(r.count);
  if (dtype_ == DType::int32)
    std::memcpy(own.data(), gradients_ + offset(r.begin), own.size_bytes());
  else if (saturated_ = quantise(dtype_, point_, gradients_ + offset(r.begin), own) > 0; saturated_ && unfit_value_.empty())
    name_unfit_value(r, own);
  std::ranges::fill(values.subspan(r.count), 0);
}

void GradientValues::read_floats(std::uint32_t packet, std::span<std::int32_t> words) {
  const Range r = range(packet);
  std::ranges::fill(words, 0);
  for (std::size_t i = 0; i < r.count; ++i)
    words[i] =
        std::bit_cast<std::int32_t>(static_cast<float>(wide_value(dtype_, gradients_ + offset(r.begin + static_cast<std::int64_t>(i)))));
}

void GradientValues::write_floats(std::uint32_t packet, std::span<const std::int32_t> words) {
  const Range r = range(packet);
  for (std::size_t i = 0; i < r.count; ++i)
    with_float_type(dtype_, [&]<class T>() {
      const T value = narrow<T>(static_cast<typename Computed<T>::type>(std::bit_cast<float>(words[i])));
      std::memcpy(sums_ + offset(r.begin + static_cast<std::int64_t>(i)), &value, sizeof value);
    });
}

void GradientValues::name_unfit_value(Range r, std::span<const std::int32_t> fixed) {
  for (std::size_t i = 0; i < r.count; ++i) {
    const std::int64_t element = r.begin + static_cast<std::int64_t>(i);
    std::int32_t one = fixed[i];
    if (quantise(dtype_, point_, gradients_ + offset(element), {&one, 1}) == 0) continue;
    unfit_value_ = fmt::format("worker {}, element {}: {:g} times the scale {:g} does not fit into 32 bits", share_.worker,
                               share_.first_element + element, wide_value(dtype_, gradients_ + offset(element)), point_.scale);
    return;
  }
}

void GradientValues::write(std::uint32_t packet, std::span<const std::int32_t> sums) {
  const Range r = range(packet);
  const std::span<const std::int32_t> own = sums.first(r.count);
  if (dtype_ == DType::int32)
    std::memcpy(sums_ + offset(r.begin), own.data(), own.size_bytes());
  else
    dequantise(dtype_, point_, own, sums_ + offset(r.begin));
  if (!limit_sum_.empty()) return;
  const auto limit = std::ranges::find_if(own, [](std::int32_t v) { return v == INT32_MAX || v == INT32_MIN; });
  if (limit != own.end())
    limit_sum_ = fmt::format("worker {}, element {}: the sum of all workers is at the limit of 32 bits, {}", share_.worker,
                             share_.first_element + r.begin + (limit - own.begin()), *limit);
}

}  // namespace weft
