// The CUDA kernels on host memory, for tests: copies there, runs, copies back, waits.
#pragma once

#include "kernels/testing/backend.hpp"

namespace weft::test {

Backend cuda_backend();

}  // namespace weft::test
