#include "validation/fit/least_squares.hpp"

#include <cmath>

#include <doctest/doctest.h>

using namespace weft;
using Vector = std::vector<double>;

TEST_CASE("least squares: a line through points, by hand") {
  // y = 3 + 2 x at x = 0, 1, 2
  const LeastSquares line{.residuals =
                              [](const Vector& p) {
                                return Vector{p[0] - 3, p[0] + p[1] - 5, p[0] + 2 * p[1] - 7};
                              },
                          .low = {0, 0},
                          .high = {10, 10},
                          .step = {1e-3, 1e-3}};
  const LeastSquaresResult found = minimise(line, {0, 10});
  CHECK(found.x[0] == doctest::Approx(3).epsilon(1e-3));
  CHECK(found.x[1] == doctest::Approx(2).epsilon(1e-3));
  CHECK(found.evaluations <= line.evaluations);
}

TEST_CASE("least squares: what would leave its bounds stays there, and the others adapt") {
  // Without bounds the slope would be -1; with slope 0 the best level is the mean of 3, 2 and 1.
  const LeastSquares line{.residuals =
                              [](const Vector& p) {
                                return Vector{p[0] - 3, p[0] + p[1] - 2, p[0] + 2 * p[1] - 1};
                              },
                          .low = {0, 0},
                          .high = {10, 10},
                          .step = {1e-3, 1e-3},
                          .knee = 100};
  const LeastSquaresResult found = minimise(line, {5, 5});
  CHECK(found.x[0] == doctest::Approx(2).epsilon(1e-3));
  CHECK(found.x[1] == 0);
}

TEST_CASE("least squares: one wild point of five does not decide") {
  const LeastSquares level{.residuals =
                               [](const Vector& p) {
                                 return Vector{p[0] - 1, p[0] - 1.01, p[0] - 0.99, p[0] - 1, p[0] - 9};
                               },
                           .low = {0},
                           .high = {10},
                           .step = {1e-3}};
  CHECK(minimise(level, {4}).x[0] == doctest::Approx(1).epsilon(0.05));
  CHECK(robust_loss({0.1}, 0.1) == doctest::Approx(0.1 * (std::sqrt(2.0) - 1)));
}

TEST_CASE("least squares: a maximum of lines, as times are, from far away") {
  // Times max(a, b s) of sizes s, as logarithms: a = 5, b = 0.1
  const LeastSquares kink{.residuals =
                              [](const Vector& p) {
                                Vector out;
                                for (double s = 1; s < 1e4; s *= 2)
                                  out.push_back(std::log(std::max(p[0], p[1] * s) / std::max(5.0, 0.1 * s)));
                                return out;
                              },
                          .low = {1e-3, 1e-4},
                          .high = {1e3, 1e3},
                          .step = {1e-3, 1e-4}};
  const LeastSquaresResult found = minimise(kink, {200, 0.002});
  CHECK(found.x[0] == doctest::Approx(5).epsilon(0.01));
  CHECK(found.x[1] == doctest::Approx(0.1).epsilon(0.01));
}

TEST_CASE("least squares: told that it is enough, it ends with the best that it has seen") {
  int asked = 0;
  LeastSquares far{.residuals =
                       [&](const Vector& p) {
                         ++asked;
                         return Vector{p[0] - 7, (p[0] - 7) * (p[0] - 7), 0.1 * p[1]};
                       },
                   .low = {0, 0},
                   .high = {1000, 1000},
                   .step = {1e-3, 1e-3}};
  const double at_start = robust_loss({993, 993 * 993, 100}, 0.1);
  CHECK(minimise(far, {1000, 1000}).evaluations > 12);
  for (const int most : {1, 3, 6, 12}) {
    asked = 0;
    far.enough = [&] { return asked >= most; };
    const LeastSquaresResult found = minimise(far, {1000, 1000});
    CHECK(asked <= std::max(most, 1));  // nobody knows a loss at the start without asking once
    CHECK(found.loss <= at_start);
    CHECK(found.loss == doctest::Approx(robust_loss(far.residuals(found.x), 0.1)));
  }
}
