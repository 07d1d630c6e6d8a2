#include "collectives/compression/nonfinite.hpp"

#include "kernels/base/error.hpp"

#include <string>

#include <fmt/format.h>

namespace weft {
namespace {

std::string counted(std::size_t count, const char* one, const char* many) { return fmt::format("{} {}", count, count == 1 ? one : many); }

}  // namespace

std::int64_t total_elements(const std::vector<TensorShape>& tensors) {
  std::int64_t elements = 0;
  for (const TensorShape& t : tensors) elements += t.elements;
  return elements;
}

void require_finite(const std::vector<TensorShape>& tensors, Rank rank,
                    const std::function<NonFinite(std::size_t begin, std::size_t size)>& count) {
  if (count(0, static_cast<std::size_t>(total_elements(tensors))) == NonFinite{}) return;
  std::size_t begin = 0;
  for (const TensorShape& tensor : tensors) {
    const auto size = static_cast<std::size_t>(tensor.elements);
    const NonFinite bad = count(begin, size);
    if (bad != NonFinite{})
      throw RunError(fmt::format("rank {}: tensor \"{}\" of the gradient has {} and {} among its {} elements", rank, tensor.name,
                                 counted(bad.nans, "NaN", "NaNs"), counted(bad.infinities, "infinity", "infinities"), size));
    begin += size;
  }
}

}  // namespace weft
