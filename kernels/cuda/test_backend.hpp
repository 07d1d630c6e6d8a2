// The CUDA kernels on host memory, for tests: copies there, runs, copies back, waits.
#pragma once

#include "kernels/test_backend.hpp"

namespace weft::test {

Backend cuda_backend();

}  // namespace weft::test
