#include "sim/tune/technique.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <Eigen/Dense>

namespace weft {
namespace {

// Regression on standardised values, with a length scale for each feature that maximises the likelihood over a few choices.
class GaussianProcess {
 public:
  struct Prediction {
    double mean, deviation;
  };

  void fit(const std::vector<std::vector<double>>& x, const std::vector<double>& y, bool choose_scales) {
    x_ = x;
    const Eigen::Map<const Eigen::VectorXd> values(y.data(), static_cast<Eigen::Index>(y.size()));
    mean_ = values.mean();
    spread_ = std::max(1e-12, std::sqrt((values.array() - mean_).square().mean()));
    y_ = (values.array() - mean_) / spread_;
    if (scales_.size() != x.front().size()) scales_.assign(x.front().size(), 0.5);
    if (choose_scales) choose();
    factorise();
  }

  Prediction predict(const std::vector<double>& at) const {
    Eigen::VectorXd k(y_.size());
    for (Eigen::Index i = 0; i < k.size(); ++i) k[i] = kernel(x_[static_cast<std::size_t>(i)], at);
    const double variance = 1 - factor_.matrixL().solve(k).squaredNorm();
    return {mean_ + spread_ * k.dot(weights_), spread_ * std::sqrt(std::max(variance, 1e-12))};
  }

 private:
  static constexpr double noise = 1e-3;  // of the variance

  double kernel(const std::vector<double>& a, const std::vector<double>& b) const {
    double square = 0;
    for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]) / (scales_[i] * scales_[i]);
    const double d = std::sqrt(5 * square);
    return (1 + d + d * d / 3) * std::exp(-d);
  }

  void factorise() {
    const Eigen::Index n = y_.size();
    Eigen::MatrixXd k(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j <= i; ++j)
        k(i, j) = k(j, i) = kernel(x_[static_cast<std::size_t>(i)], x_[static_cast<std::size_t>(j)]) + (i == j ? noise : 0);
    factor_.compute(k);
    weights_ = factor_.solve(y_);
  }

  double likelihood() {
    factorise();
    return -0.5 * y_.dot(weights_) - factor_.matrixLLT().diagonal().array().log().sum();
  }

  void choose() {
    constexpr std::array<double, 5> choices{0.1, 0.25, 0.6, 1.5, 4};
    double best = likelihood();
    for (double& scale : scales_) {
      double kept = scale;
      for (const double tried : choices) {
        scale = tried;
        const double found = likelihood();
        if (found > best) best = found, kept = tried;
      }
      scale = kept;
    }
  }

  std::vector<std::vector<double>> x_;
  Eigen::VectorXd y_, weights_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  std::vector<double> scales_;
  double mean_ = 0, spread_ = 1;
};

double expected_improvement(const GaussianProcess::Prediction& p, double best) {
  const double z = (best - p.mean) / p.deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return (best - p.mean) * below + p.deviation * density;
}

class Bayesian final : public Technique {
 public:
  Bayesian(const Space& space, std::uint64_t seed) : space_(space), random_(seed) {}
  std::string_view name() const override { return "bayesian"; }

  std::optional<Proposal> propose(const History& history) override {
    const auto candidates = unasked(history);
    if (candidates.empty()) return std::nullopt;
    std::vector<std::vector<double>> x;
    std::vector<double> y;
    const std::size_t measured = collect(history, x, y);
    if (measured < std::min<std::size_t>(8, space_.axes().size() + 3))
      return Proposal{candidates[static_cast<std::size_t>(random_.below(static_cast<int>(candidates.size())))]};
    const bool choose_scales = measured >= fitted_ + std::max<std::size_t>(1, fitted_ / 8);
    if (choose_scales) fitted_ = measured;
    process_.fit(x, y, choose_scales);
    const double best = *std::ranges::min_element(y);
    std::size_t chosen = 0;
    double most = -1;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (const double e = expected_improvement(process_.predict(space_.features(candidates[i])), best); e > most) most = e, chosen = i;
    return Proposal{candidates[chosen]};
  }

 private:
  static constexpr std::size_t max_points = 200;  // of the process: solving grows with the cube
  static constexpr std::int64_t all_below = 1500;

  std::size_t collect(const History& history, std::vector<std::vector<double>>& x, std::vector<double>& y) const {
    double least = INFINITY, most = -INFINITY;
    std::size_t measured = 0;
    for (const History::Entry& e : history.entries())
      if (e.cost && std::isfinite(*e.cost)) {
        least = std::min(least, *e.cost);
        most = std::max(most, *e.cost);
        ++measured;
      }
    if (measured == 0) return 0;
    const bool positive = least > 0;
    const auto seen = [&](double cost) { return positive ? std::log(cost) : cost; };
    const auto& all = history.entries();
    for (std::size_t i = all.size() > max_points ? all.size() - max_points : 0; i < all.size(); ++i) {
      x.push_back(space_.features(all[i].point));
      y.push_back(seen(!all[i].cost ? least : std::isfinite(*all[i].cost) ? *all[i].cost : most));  // failed: as the worst
    }
    return measured;
  }

  std::vector<Point> unasked(const History& history) {
    std::vector<Point> points;
    const auto add = [&](Point p) {
      if (!history.asked(p)) points.push_back(std::move(p));
    };
    if (space_.finite() && space_.size() <= all_below) {
      for (std::int64_t i = 0; i < space_.size(); ++i) add(space_.at(i));
      return points;
    }
    for (int i = 0; i < 400; ++i) add(space_.random(random_));
    if (history.best())
      for (int i = 0; i < 100; ++i) add(space_.neighbour(history.best()->point, random_));
    return points;
  }

  const Space& space_;
  TuneRandom random_;
  GaussianProcess process_;
  std::size_t fitted_ = 0;
};

}  // namespace

std::unique_ptr<Technique> bayesian_optimisation(const Space& space, std::uint64_t seed) { return std::make_unique<Bayesian>(space, seed); }

}  // namespace weft
