#include "kernels/testing/backend.hpp"

#include <cstdlib>
#include <string_view>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("the kernels' tests ran on the CPU, and on CUDA unless the reason is printed here") {
  CHECK(test::backends().front().name == "CPU");
  const std::string why = test::cuda_missing();
  CHECK(test::backends().size() == (why.empty() ? 2 : 1));
  if (why.empty()) return;
  const char* said = std::getenv("WEFT_GPU");
  if (said != nullptr && std::string_view(said) == "required") FAIL("WEFT_GPU=required: " << why);
  MESSAGE("skipped: the CUDA kernels: " << why);
}
