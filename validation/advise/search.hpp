// The search for who is first where: few sizes for all candidates, then sizes between for those that can be first there.
#pragma once

#include "validation/advise/advise.hpp"
#include "validation/advise/simulations.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weft {

// What is known of one candidate, and what it takes at least, or about, at a size in between or beyond.
class AdviseCurve {
 public:
  void add(Bytes size, SimTime time, SimTime busy);
  bool knows(Bytes size) const { return points_.contains(size); }
  bool empty() const { return points_.empty(); }
  // Between two sizes on the line through both, as latency and bytes add up; beyond the last, by what its busiest link needs
  // for the bytes in addition, which is least; before the first, the first.
  double expected_ps(Bytes size) const;
  // What it takes at least: what it took at the size before, and what its busiest link needs for the bytes in addition. Between two sizes
  // times may jump, as where handshakes begin.
  double at_least_ps(Bytes size) const;

 private:
  struct Point {
    double time_ps, busy_ps;
  };
  double busy_ps_per_byte() const;
  std::map<Bytes, Point> points_;
};

class AdviseSearch {
 public:
  using Simulate = std::function<std::vector<AdviseOutcome>(const std::vector<AdviseTask>&)>;
  using Own = std::function<bool(std::size_t)>;  // of the candidates that the first is told of separately too
  AdviseSearch(std::size_t candidates, std::int64_t element_bytes, Own own, Simulate simulate);

  // Sizes in ascending order, at least one.
  void run(const std::vector<Bytes>& sizes);

  const AdviseTimes& times() const { return times_; }
  std::size_t points() const { return points_; }
  const std::map<std::size_t, std::string>& failures() const { return failures_; }  // the first of each candidate

 private:
  struct Wanted {
    std::size_t candidate;
    Bytes size;
  };
  void all_at(const std::vector<Bytes>& sizes, const Own& counts);
  void likely_at(Bytes size);
  void between(const std::vector<Bytes>& sizes);
  void refine();
  void simulate(std::vector<Wanted> wanted);
  // Those not yet simulated there that are expected within `near` times the first: of all, and of its own.
  double min_ps(Bytes size, bool only_own) const;  // that was simulated there, or else is expected
  void want_near(Bytes size, double near, std::vector<Wanted>& wanted) const;
  void want_possible(Bytes size, std::vector<Wanted>& wanted) const;  // who may be first for all that is known, jumps included
  void want_least(Bytes size, std::vector<Wanted>& wanted) const;     // the two that are expected first: of all, and of its own

  std::vector<AdviseCurve> curves_;  // by candidate
  std::int64_t element_bytes_;
  Own own_;
  Simulate simulate_;
  AdviseTimes times_;
  std::size_t points_ = 0;
  std::map<std::size_t, std::string> failures_;
};

}  // namespace weft
