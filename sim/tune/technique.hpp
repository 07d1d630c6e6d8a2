// One way to search: proposes points, and learns from what they cost.
#pragma once

#include "sim/tune/space.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string_view>

namespace weft {

// What all techniques of a tuner know: points that were asked for, and the cost of those that came back at full fidelity.
class History {
 public:
  struct Entry {
    Point point;
    std::optional<double> cost;  // infinite: the evaluation failed
  };
  void ask(const Point& point);
  void tell(const Point& point, double cost);
  bool asked(const Point& point) const { return at_.contains(point); }
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* best() const { return best_ ? &entries_[*best_] : nullptr; }

 private:
  std::vector<Entry> entries_;
  std::map<Point, std::size_t> at_;
  std::optional<std::size_t> best_;
};

struct Proposal {
  Point point;
  double fidelity = 1;  // the share of a full evaluation (of its iterations) that is enough
};

class Technique {
 public:
  virtual ~Technique() = default;
  virtual std::string_view name() const = 0;
  // Nothing: it has no more to propose, or waits for results.
  virtual std::optional<Proposal> propose(const History& history) = 0;
  // The cost of one of its own proposals.
  virtual void observe(const Proposal&, double /*cost*/) {}
};

// Every point of the grid once, in an order of which each beginning covers the space evenly.
std::unique_ptr<Technique> grid_search(const Space& space, std::uint64_t seed);
// Population-based training (Jaderberg et al. 2017) without weights to inherit: after eight random members, each further one takes
// the settings of a member of the best quarter and perturbs them. In an ensemble what others found belongs to the population.
std::unique_ptr<Technique> population_based_training(const Space& space, std::uint64_t seed);
// A Gaussian process (Matern 5/2) on the logarithm of costs; expected improvement chooses (Snoek et al. 2012). What is asked for
// and has not come back counts as if it had cost what the best did (Ginsbourger's constant liar).
std::unique_ptr<Technique> bayesian_optimisation(const Space& space, std::uint64_t seed);
// Hyperband (Li et al. 2018) with eta 3: brackets of successive halving, from many points at min_fidelity to few at 1. With
// min_fidelity 1 its brackets are of full evaluations, which is random search.
std::unique_ptr<Technique> hyperband(const Space& space, std::uint64_t seed, double min_fidelity);

// A point nobody has asked for, if that is soon found.
std::optional<Point> fresh_point(const Space& space, const History& history, TuneRandom& random);

}  // namespace weft
