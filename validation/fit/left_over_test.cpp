#include "validation/fit/left_over.hpp"

#include <cmath>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("left over: some measurements that stand alone hide one another neither by their number nor behind a change of algorithm") {
  // Fourteen sizes, the first six on a tree: the last of these and two of the rest take several times as long.
  std::vector<LeftOver> left_over;
  for (int octave = 4; octave <= 30; octave += 2) {
    const double log_ratio = octave == 14 || octave == 20 || octave == 26 ? 2.0 : 0.02 * std::sin(octave);
    left_over.push_back({{"allreduce", octave <= 14 ? "nccl_tree_simple" : "nccl_ring_simple", 8, Bytes{std::int64_t{1} << octave}},
                         log_ratio,
                         3 + log_ratio});
  }
  const std::vector<bool> alone = standing_alone(left_over);
  for (std::size_t i = 0; i < left_over.size(); ++i) {
    CAPTURE(left_over[i].call.size.count);
    CHECK(alone[i] == (left_over[i].log_ratio > 1));
  }
}
