#include "kernels/testing/backend.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("the kernels' tests ran on the CPU, and on CUDA unless the reason is printed here") {
  CHECK(test::backends().front().name == "CPU");
  const std::string why = test::cuda_missing();
  CHECK(test::backends().size() == (why.empty() ? 2 : 1));
  if (!why.empty()) MESSAGE("skipped: the CUDA kernels: " << why);
}
