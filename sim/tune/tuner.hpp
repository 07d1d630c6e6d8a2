// Chooses settings by trying them: grid search, population-based training, Bayesian optimisation, Hyperband, or all of them under
// a bandit that gives the next trial to the technique that has lately found improvements (AIACC, ICDCS 2022; OpenTuner, PACT 2014).
#pragma once

#include "sim/tune/technique.hpp"

#include <deque>
#include <functional>

namespace weft {

// Sliding-window multi-armed bandit with area-under-curve credit: chooses argmax AUC_t + C sqrt(2 log|H| / H_t).
// A use in the window that found a new best draws the curve of its technique one step up, any other draws it flat; AUC_t is the
// area under it, as a share of the largest possible (n (n + 1) / 2 for n uses). H_t: uses in the window, |H|: its length. A
// technique without a use in the window comes first.
class CreditBandit {
 public:
  CreditBandit(std::size_t techniques, std::size_t window, double exploration)
      : techniques_(techniques), window_(window), exploration_(exploration) {}
  // Techniques from the most promising on; ties go to the earlier. What is under way counts as used.
  std::vector<std::size_t> order(std::span<const int> under_way) const;
  void record(std::size_t technique, bool new_best);
  double area(std::size_t technique) const;

 private:
  struct Use {
    std::size_t technique;
    bool new_best;
  };
  std::size_t techniques_, window_;
  double exploration_;
  std::deque<Use> uses_;
};

struct TunerSettings {
  std::string method = "ensemble";  // or grid, population, bayesian, hyperband
  std::uint64_t seed = 1;
  std::size_t window = 50;   // uses that the bandit remembers
  double exploration = 0.2;  // C
  double min_fidelity = 1;   // share of a full evaluation that Hyperband may ask for
};
std::vector<std::string> tuning_methods();
std::vector<Problem> problems(const TunerSettings&);

struct Trial {
  int id = 0;
  Point point;
  double fidelity = 1;
  std::string technique;
};

// Ask for trials, evaluate them anywhere and at once, tell their costs: the lower the better, infinite where an evaluation failed.
// What is proposed follows from the seed and the sequence of asks and tells.
class Tuner {
 public:
  // Throws InputError for settings with problems.
  Tuner(Space space, const TunerSettings& settings);
  Tuner(const Tuner&) = delete;  // its techniques know its space
  Tuner& operator=(const Tuner&) = delete;

  // At most n trials. Fewer: results of earlier ones are needed first, or, when none is under way, the space is exhausted.
  std::vector<Trial> ask(int n);
  void tell(int trial, double cost);
  // A cost known from before, of a full evaluation (--resume, a cache of best settings).
  void remember(const Point& point, double cost) { history_.tell(point, cost); }

  const Space& space() const { return space_; }
  const History::Entry* best() const { return history_.best(); }  // of full evaluations
  int under_way() const { return static_cast<int>(open_.size()); }

 private:
  struct Open {
    std::size_t technique;
    Proposal proposal;
  };

  Space space_;
  TunerSettings settings_;
  History history_;
  std::vector<std::unique_ptr<Technique>> techniques_;
  CreditBandit bandit_;
  std::map<int, Open> open_;
  int next_ = 0;
};

struct Evaluated {
  Trial trial;
  double cost = 0;
};
struct TuneResult {
  Point best;
  double cost = 0;
  std::vector<Evaluated> evaluations;  // in the order of their ids
};
// Asks for `batch` trials at a time until `budget` have been evaluated or the space is exhausted. The function gets a batch and
// returns its costs in the same order. Throws InputError for a budget or batch below 1, RunError when no evaluation succeeds.
struct TuneBudget {
  int evaluations = 100;
  int batch = 1;
};
TuneResult minimise(Tuner& tuner, const TuneBudget& budget, const std::function<std::vector<double>(std::span<const Trial>)>& evaluate);

}  // namespace weft
