#include "kernels/testing/backend.hpp"

#include "kernels/reduce.hpp"

#include <vector>
#if WEFT_CUDA
#include "kernels/cuda/runtime.hpp"
#include "kernels/testing/cuda_backend.hpp"
#endif

namespace weft::test {

std::span<const Backend> backends() {
  static const std::vector<Backend> all = [] {
    std::vector<Backend> found{{.name = "CPU",
                                .reduce_into = &weft::reduce_into,
                                .reduce_many = &weft::reduce_many,
                                .scale_average = &weft::scale_average,
                                .quantise = &weft::quantise,
                                .dequantise = &weft::dequantise,
                                .add_saturating = &weft::add_saturating,
                                .pack = &weft::pack,
                                .unpack = &weft::unpack,
                                .bit_min = &weft::bit_min,
                                .count_nonfinite = &weft::count_nonfinite,
                                .sketch_insert = &weft::sketch_insert,
                                .sketch_estimate = &weft::sketch_estimate,
                                .top_k = &weft::top_k,
                                .sort_by_index = &weft::sort_by_index,
                                .gather = &weft::gather,
                                .scatter = &weft::scatter,
                                .scatter_add = &weft::scatter_add,
                                .merge_top_k = &weft::merge_top_k}};
#if WEFT_CUDA
    if (cuda_missing().empty()) found.push_back(cuda_backend());
#endif
    return found;
  }();
  return all;
}

std::string cuda_missing() {
#if WEFT_CUDA
  return cuda::device_count() > 0 ? "" : "no CUDA device";
#else
  return "built without CUDA";
#endif
}

}  // namespace weft::test
