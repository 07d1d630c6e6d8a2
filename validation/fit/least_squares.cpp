#include "validation/fit/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace weft {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;  // by row

class Descent {
 public:
  Descent(const LeastSquares& problem, Vector start) : p_(problem), x_(std::move(start)), n_(x_.size()) {
    for (std::size_t i = 0; i < n_; ++i) x_[i] = std::clamp(x_[i], p_.low[i], p_.high[i]);
    r_ = at(x_);
    loss_ = robust_loss(r_, p_.knee);
  }

  LeastSquaresResult run() {
    while (n_ > 0 && evaluations_ + static_cast<int>(n_) < p_.evaluations) {
      if (!fresh_ && !usable_) differences();
      if (enough()) break;
      const double before = loss_;
      if (improve()) {
        if (before - loss_ < p_.tolerance * before) {
          if (fresh_) break;
          usable_ = false;  // perhaps only the updated derivatives are at their end
        }
        fresh_ = false;
      } else if (fresh_) {
        break;
      } else {
        usable_ = false;
      }
    }
    return {x_, loss_, evaluations_};
  }

 private:
  bool enough() const { return p_.enough && p_.enough(); }

  Vector at(const Vector& x) {
    ++evaluations_;
    return p_.residuals(x);
  }

  void differences() {
    jacobian_.assign(r_.size(), Vector(n_));
    for (std::size_t i = 0; i < n_ && !enough(); ++i) {
      Vector x = x_;
      double h = p_.step[i] + 0.005 * std::abs(x_[i]);
      if (x[i] + h > p_.high[i]) h = -h;
      x[i] += h;
      const Vector r = at(x);
      for (std::size_t k = 0; k < r.size(); ++k) jacobian_[k][i] = (r[k] - r_[k]) / h;
    }
    fresh_ = usable_ = true;
  }

  // J changes so that it tells what the last move did (Broyden 1965).
  void update(const Vector& moved, const Vector& r) {
    double length = 0;
    for (std::size_t i = 0; i < n_; ++i) length += moved[i] * moved[i] * scale_[i];
    if (!(length > 0)) return;
    for (std::size_t k = 0; k < r.size(); ++k) {
      double told = 0;
      for (std::size_t i = 0; i < n_; ++i) told += jacobian_[k][i] * moved[i];
      const double missing = (r[k] - r_[k] - told) / length;
      for (std::size_t i = 0; i < n_; ++i) jacobian_[k][i] += missing * moved[i] * scale_[i];
    }
  }

  // One step that lowers the loss; false if there is none.
  bool improve() {
    Matrix normal(n_, Vector(n_));
    Vector gradient(n_);
    for (std::size_t k = 0; k < r_.size(); ++k) {
      const double weight = 1 / std::sqrt(1 + (r_[k] / p_.knee) * (r_[k] / p_.knee));
      for (std::size_t i = 0; i < n_; ++i) {
        gradient[i] += weight * jacobian_[k][i] * r_[k];
        for (std::size_t j = 0; j <= i; ++j) normal[i][j] += weight * jacobian_[k][i] * jacobian_[k][j];
      }
    }
    scale_.assign(n_, 0);
    for (std::size_t i = 0; i < n_; ++i) scale_[i] = std::max(normal[i][i], 1e-12);
    constexpr int max_tries = 6;
    for (int tries = 0; tries < max_tries && !enough(); ++tries, damping_ *= 6) {
      const auto x = step_from(normal, gradient);
      if (!x) continue;
      if (*x == x_) return false;
      Vector r = at(*x);
      const double loss = robust_loss(r, p_.knee);
      Vector moved(n_);
      for (std::size_t i = 0; i < n_; ++i) moved[i] = (*x)[i] - x_[i];
      if (!(loss < loss_)) {
        if (!fresh_) return false;
        continue;
      }
      update(moved, r);
      x_ = *x, r_ = std::move(r), loss_ = loss;
      damping_ = std::max(1e-8, damping_ / 8);
      return true;
    }
    damping_ = 1e-3;
    return false;
  }

  // Coordinates that stand at a bound and would leave it stay there.
  std::optional<Vector> step_from(const Matrix& normal, const Vector& gradient) const {
    std::vector<std::size_t> moving;
    for (std::size_t i = 0; i < n_; ++i) {
      const bool leaves = (x_[i] <= p_.low[i] && gradient[i] > 0) || (x_[i] >= p_.high[i] && gradient[i] < 0);
      if (!leaves && p_.low[i] < p_.high[i]) moving.push_back(i);
    }
    Vector x = x_;
    while (!moving.empty()) {
      const std::size_t m = moving.size();
      Matrix a(m, Vector(m));
      Vector b(m);
      for (std::size_t i = 0; i < m; ++i) {
        b[i] = -gradient[moving[i]];
        for (std::size_t j = 0; j <= i; ++j) a[i][j] = normal[moving[i]][moving[j]];
        a[i][i] += damping_ * scale_[moving[i]] + 1e-15;
      }
      const auto d = solve(std::move(a), std::move(b));
      if (!d) return {};
      std::vector<std::size_t> inside;
      x = x_;
      for (std::size_t i = 0; i < m; ++i) {
        const std::size_t at = moving[i];
        x[at] = std::clamp(x_[at] + (*d)[i], p_.low[at], p_.high[at]);
        const bool blocked = (x_[at] <= p_.low[at] && (*d)[i] < 0) || (x_[at] >= p_.high[at] && (*d)[i] > 0);
        if (!blocked) inside.push_back(at);
      }
      if (inside.size() == m) break;
      moving = std::move(inside);
    }
    return x;
  }

  const LeastSquares& p_;
  Vector x_;
  const std::size_t n_;
  Vector r_, scale_;
  Matrix jacobian_;
  double loss_ = 0, damping_ = 1e-3;
  int evaluations_ = 0;
  bool fresh_ = false, usable_ = false;
};

}  // namespace

double robust_loss(const std::vector<double>& residuals, double knee) {
  double sum = 0;
  for (const double r : residuals) sum += knee * (std::sqrt(1 + (r / knee) * (r / knee)) - 1);
  return residuals.empty() ? 0 : sum / static_cast<double>(residuals.size());
}

std::optional<Vector> solve(Matrix a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      if (i == j && !(sum > 0)) return {};
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

LeastSquaresResult minimise(const LeastSquares& problem, std::vector<double> start) { return Descent(problem, std::move(start)).run(); }

}  // namespace weft
