// Robust least squares within bounds (Levenberg 1944, Marquardt 1963; Broyden's update of the derivatives between differences).
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace weft {

// Errors up to `knee` count quadratically, larger ones by their size (pseudo-Huber).
double robust_loss(const std::vector<double>& residuals, double knee);  // their mean

// The solution of a symmetric, positive definite system (Cholesky); nothing if it is not definite.
std::optional<std::vector<double>> solve(std::vector<std::vector<double>> a, std::vector<double> b);

struct LeastSquares {
  std::function<std::vector<double>(const std::vector<double>&)> residuals;
  std::vector<double> low, high;
  std::vector<double> step;  // of differences where a coordinate is 0; elsewhere a share of it is added
  double knee = 0.1;
  int evaluations = 200;              // at most; of differences too
  std::function<bool()> enough = {};  // asked before each evaluation: then it ends where it is
  double tolerance = 1e-4;            // it ends when a round improves the loss by less than this share of it
};

struct LeastSquaresResult {
  std::vector<double> x;
  double loss = 0;
  int evaluations = 0;
};

// From `start`, which is moved into the bounds. Deterministic; the loss never rises.
LeastSquaresResult minimise(const LeastSquares& problem, std::vector<double> start);

}  // namespace weft
