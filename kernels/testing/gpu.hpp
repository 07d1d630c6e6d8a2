// For tests that need a GPU: left out where there is none, unless WEFT_GPU=required says that one must be there.
#pragma once

#include "kernels/cuda/runtime.hpp"

#include <cstdlib>
#include <string_view>

#include <doctest/doctest.h>

namespace weft::test {

inline bool gpu_required() {
  const char* said = std::getenv("WEFT_GPU");
  return said != nullptr && std::string_view(said) == "required";
}

// Whether the test is left out.
inline bool no_gpu() {
  if (cuda::device_count() > 0) return false;
  if (gpu_required()) FAIL("WEFT_GPU=required, and there is no CUDA device");
  MESSAGE("skipped: no CUDA device");
  return true;
}

}  // namespace weft::test
