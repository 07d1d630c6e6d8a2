#include "validation/lab/compare.hpp"

#include <doctest/doctest.h>

namespace weft::lab {
namespace {

const std::vector<Compared> rows = {
    {"ring", 1_MiB, 100, 100, true}, {"direct", 1_MiB, 104, 90},  // 4 % apart: no pair with ring
    {"tree", 1_MiB, 150, 105},                                    // slower than both, and predicted so
    {"ring", 4_MiB, 400, 400, true}, {"tree", 4_MiB, 500, 380},   // slower, predicted faster
};

TEST_CASE("the error is the median over what was predicted, not over what was fitted") {
  // |90/104 - 1| = 13.5 %, |105/150 - 1| = 30 %, |380/500 - 1| = 24 %
  CHECK(errors_of(rows).points == 3);
  CHECK(errors_of(rows).median == doctest::Approx(0.24));
}

TEST_CASE("the order is judged where algorithms clearly differ at one size") {
  const Order order = order_of(rows);
  CHECK(order.pairs == 3);
  CHECK(order.wrong == std::vector<std::string>{"4MiB: ring is faster than tree by 25 %, predicted slower by 5 %"});
}

TEST_CASE("the table ends with the error, the order and every wrong pair") {
  const std::string text = to_table(rows);
  CHECK(text.find("  ring           1048576          100.0          100.0   +0.0 %  fitted\n") != std::string::npos);
  CHECK(text.find("# predicted: 3 points, median error 24.0 %, 95th percentile 30.0 %\n"
                  "# order: 2 of 3 pairs right that differ by more than 10 %\n"
                  "#   wrong at 4MiB: ring is faster than tree by 25 %, predicted slower by 5 %\n") != std::string::npos);
}

}  // namespace
}  // namespace weft::lab
