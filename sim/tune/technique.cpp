#include "sim/tune/technique.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

void History::ask(const Point& point) {
  if (at_.emplace(point, entries_.size()).second) entries_.push_back({point, std::nullopt});
}

void History::tell(const Point& point, double cost) {
  ask(point);
  const std::size_t i = at_.at(point);
  entries_[i].cost = cost;
  if (std::isfinite(cost) && (!best_ || cost < *entries_[*best_].cost)) best_ = i;
}

std::optional<Point> fresh_point(const Space& space, const History& history, TuneRandom& random) {
  for (int tries = 0; tries < 50; ++tries)
    if (Point p = space.random(random); !history.asked(p)) return p;
  if (!space.finite() || space.size() > 1'000'000) return std::nullopt;
  const std::int64_t size = space.size(), start = static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(size));
  for (std::int64_t i = 0; i < size; ++i)
    if (Point p = space.at((start + i) % size); !history.asked(p)) return p;
  return std::nullopt;
}

namespace {

class Grid final : public Technique {
 public:
  Grid(const Space& space, std::uint64_t seed) : space_(space), size_(space.size()) {
    // A stride near the golden section of the size and without a common divisor visits every index, evenly at any time.
    stride_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(0.618033988749895 * static_cast<double>(size_)));
    while (std::gcd(stride_, size_) != 1) ++stride_;
    index_ = static_cast<std::int64_t>(TuneRandom(seed).next() % static_cast<std::uint64_t>(size_));
  }
  std::string_view name() const override { return "grid"; }
  std::optional<Proposal> propose(const History& history) override {
    while (visited_ < size_) {
      Point p = space_.at(index_);
      index_ = (index_ + stride_) % size_;
      ++visited_;
      if (!history.asked(p)) return Proposal{std::move(p)};
    }
    return std::nullopt;
  }

 private:
  const Space& space_;
  std::int64_t size_, stride_ = 1, index_ = 0, visited_ = 0;
};

class Population final : public Technique {
 public:
  Population(const Space& space, std::uint64_t seed) : space_(space), random_(seed) {}
  std::string_view name() const override { return "population"; }
  std::optional<Proposal> propose(const History& history) override {
    std::vector<const History::Entry*> known;
    for (const History::Entry& e : history.entries())
      if (e.cost && std::isfinite(*e.cost)) known.push_back(&e);
    if (started_ < size) {
      ++started_;
      return fresh(history);
    }
    if (known.empty()) return fresh(history);
    std::ranges::stable_sort(known, {}, [](const History::Entry* e) { return *e->cost; });
    const int best = std::min(static_cast<int>(known.size()), std::max(1, size / 4));
    for (int tries = 0; tries < 30; ++tries) {
      Point p = space_.neighbour(known[static_cast<std::size_t>(random_.below(best))]->point, random_);
      for (int further = tries / 10; further > 0; --further) p = space_.neighbour(p, random_);
      if (!history.asked(p)) return Proposal{std::move(p)};
    }
    return fresh(history);
  }

 private:
  static constexpr int size = 8;
  std::optional<Proposal> fresh(const History& history) {
    auto p = fresh_point(space_, history, random_);
    return p ? std::optional<Proposal>{{std::move(*p)}} : std::nullopt;
  }

  const Space& space_;
  TuneRandom random_;
  int started_ = 0;
};

class Hyperband final : public Technique {
 public:
  Hyperband(const Space& space, std::uint64_t seed, double least) : space_(space), random_(seed) {
    check(least > 0 && least <= 1, "a least fidelity of {}", least);
    // The most halvings that lead from the least fidelity to 1.
    while (std::pow(eta, -(most_ + 1)) >= least * (1 - 1e-9)) ++most_;
    bracket_ = most_ + 1;
  }
  std::string_view name() const override { return "hyperband"; }

  std::optional<Proposal> propose(const History& history) override {
    if (next_ == rung_.size()) {
      if (results_.size() < rung_.size()) return std::nullopt;
      if (!advance(history)) return std::nullopt;
    }
    return Proposal{rung_[next_++], fidelity()};
  }
  void observe(const Proposal& proposal, double cost) override { results_.emplace_back(cost, proposal.point); }

 private:
  static constexpr double eta = 3;
  double fidelity() const { return std::pow(eta, -left_); }

  bool advance(const History& history) {
    std::vector<Point> next;
    if (left_ > 0 && !results_.empty()) {
      --left_;
      std::ranges::stable_sort(results_, {}, [](const auto& r) { return r.first; });
      const auto keep = std::max<std::size_t>(1, results_.size() / static_cast<std::size_t>(eta));
      for (std::size_t i = 0; i < keep; ++i)
        if (left_ > 0 || !history.asked(results_[i].second)) next.push_back(results_[i].second);
    }
    if (next.empty()) {
      bracket_ = bracket_ > 0 ? bracket_ - 1 : most_;
      left_ = bracket_;
      const int n = static_cast<int>(std::ceil((most_ + 1.0) / (bracket_ + 1) * std::pow(eta, bracket_)));
      for (int i = 0; i < n; ++i)
        if (auto p = fresh_point(space_, history, random_); p && std::ranges::find(next, *p) == next.end()) next.push_back(std::move(*p));
    }
    rung_ = std::move(next);
    results_.clear();
    next_ = 0;
    return !rung_.empty();
  }

  const Space& space_;
  TuneRandom random_;
  int most_ = 0, bracket_ = 0, left_ = 0;  // halvings: at most, at the start of this bracket, to come
  std::vector<Point> rung_;
  std::size_t next_ = 0;
  std::vector<std::pair<double, Point>> results_;
};

}  // namespace

std::unique_ptr<Technique> grid_search(const Space& space, std::uint64_t seed) { return std::make_unique<Grid>(space, seed); }
std::unique_ptr<Technique> population_based_training(const Space& space, std::uint64_t seed) {
  return std::make_unique<Population>(space, seed);
}
std::unique_ptr<Technique> hyperband(const Space& space, std::uint64_t seed, double min_fidelity) {
  return std::make_unique<Hyperband>(space, seed, min_fidelity);
}

}  // namespace weft
