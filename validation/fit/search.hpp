// Where the objective is least: several starts of random draws, least squares from the best of them, and thresholds, at which the
// objective jumps, tried one by one.
#pragma once

#include "validation/fit/objective.hpp"

#include <limits>
#include <random>

namespace weft {

struct Candidate {
  std::vector<double> values;
  double loss = std::numeric_limits<double>::infinity();
};

// Which parameters move; the others keep their values.
using Moving = std::vector<bool>;

class Search {
 public:
  explicit Search(Objective& objective);

  // What follows may take so much to simulate (Simulator::work), about: then it ends where it is.
  void allow(std::int64_t work);
  bool enough() const { return enough(1); }

  // One start: the first looks at `base` too. Drawn from the seed and their number.
  Candidate start(const std::vector<double>& base, const Moving& moving, std::uint64_t seed, int number);

  // Least squares from where it is, over all points.
  Candidate descend(const Candidate& from, const Moving& moving, int rounds);

  // Thresholds again, each at every power of two, over all points.
  Candidate scan(Candidate best, const Moving& moving);

  // With other values of NCCL's biases, so that it chooses otherwise: those that fit best first, each with other times.
  std::vector<Candidate> other_choices(const Candidate& best, std::size_t most) const;

  // Where a threshold makes no difference to the fit it is put in the middle, by ratio, of all that does as well, at a power of two if
  // there is one: no point was asked about the sizes in between, and libraries have thresholds of powers of two.
  void center_sizes(Candidate& best, const Moving& moving);

 private:
  std::vector<double> draw(const std::vector<double>& base, const Moving& moving, std::mt19937_64& random) const;
  bool enough(double share) const;  // of what is allowed is spent
  Candidate descend_on(Objective& objective, const Candidate& from, const Moving& moving, int rounds) const;
  Candidate with_fewer_protocols(Objective& objective, Candidate best, const Moving& moving) const;
  Candidate scan_on(Objective& objective, Candidate best, const Moving& moving) const;
  std::vector<Candidate> with_threshold(Objective& objective, const Candidate& best, std::size_t i, const Moving& moving) const;
  double edge(const Candidate& best, std::size_t i, double ratio);

  Objective& objective_;
  Objective cheap_;  // points that cost a fifth of all
  std::int64_t allowed_ = 0, begin_ = 0;
  double share_ = 1;  // of what is allowed, that what goes on may spend
};

}  // namespace weft
