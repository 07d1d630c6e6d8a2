#include "validation/fit/profile_text.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

FitPoint point_of(int ranks, std::int64_t size, bool fitted) {
  FitPoint out;
  out.measured = {.system = "made", .ranks = ranks, .collective = "allreduce", .size_bytes = size};
  out.setup = {"allreduce", {"ring"}, ranks, Bytes{size}};
  out.setup.nodes = ranks;
  out.fitted = fitted;
  return out;
}

}  // namespace

TEST_CASE("a profile is valid for the sizes between and beside those that it was fitted to, not for scales that were held out") {
  const Json range = valid_range({point_of(2, 1024, true), point_of(2, 4096, false), point_of(8, 1 << 20, false)}, {}, {});
  CHECK(range.at("ranks") == Json{2});
  CHECK(range.at("nodes") == Json{2});
  CHECK(range.at("size") == Json{"1KiB", "4KiB"});
}
