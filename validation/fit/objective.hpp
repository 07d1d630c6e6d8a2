// How far simulated times are from measured ones, as a function of the parameters' values.
#pragma once

#include "validation/fit/fit.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace weft {

// Errors of a tenth count quadratically, larger ones by their size.
constexpr double error_knee = 0.1;

// Simulators of a scenario, one for each setting of its pointers that was asked for last: what one objective has simulated the others on
// the same scenario need not.
class Simulators {
 public:
  // Calls of more than so many messages are told from smaller ones (Simulator::tell_beyond).
  explicit Simulators(const OpenScenario& open, std::int64_t max_messages = std::numeric_limits<std::int64_t>::max())
      : open_(&open), max_messages_(max_messages) {}
  Simulator& at(const std::vector<double>& values);
  void tell_beyond(std::int64_t messages);
  // What all of them simulated so far (Simulator::work), those that are gone too.
  std::int64_t work() const;

 private:
  const OpenScenario* open_;
  std::int64_t max_messages_;
  std::int64_t work_besides_ = 0;                                 // of those that are gone, and of building them
  std::vector<std::pair<std::vector<double>, Simulator>> known_;  // the newest at the end
};

enum class Precision { told, about };  // Simulator::told_us or about_us

class Objective {
 public:
  Objective(const OpenScenario& open, std::vector<const FitPoint*> points, std::shared_ptr<Simulators> simulators, Precision precision);
  // Of other points of the same scenario.
  Objective on(std::vector<const FitPoint*> points) const { return {open_, std::move(points), simulators_, precision_}; }
  Objective with(Precision precision) const { return {open_, points_, simulators_, precision}; }

  // Of all parameters; where the data sets narrower bounds than the parameter has, with those.
  const std::vector<FitParameter>& parameters() const { return parameters_; }
  const std::vector<const FitPoint*>& points() const { return points_; }

  // What is usual of a parameter; nothing where nobody knows. A call of NCCL is no call of MPI, whatever else is fitted with it, and a GPU
  // that ranks share no host.
  std::optional<Usual> usual(std::size_t parameter) const;
  // The values that are simulated for these: rates beyond a cache are not above those within.
  std::vector<double> physical(std::vector<double> values) const;

  // Microseconds by point; with these costs by size, if any.
  std::vector<double> simulated(const std::vector<double>& values, const std::vector<CostAtSize>& costs = {});
  // As if launches took no time, which a process of several GPUs makes one after the other; and what these take, by point.
  std::vector<double> simulated_besides_launches(const std::vector<double>& values, const std::vector<CostAtSize>& costs);
  std::vector<double> launched_us(const std::vector<double>& values) const;
  // The points as costs by size name them.
  std::vector<CostAtSize> calls(const std::vector<double>& values);
  // By point, how NCCL runs it; none of other libraries.
  std::vector<std::optional<Regime>> nccl_regimes(const std::vector<double>& values);
  // By point, the sizes of the messages that it sends, each once; none of calls of NCCL.
  std::vector<std::vector<std::int64_t>> message_sizes(const std::vector<double>& values);
  // log(simulated / measured) by point. Behind them what the factors of published values, the biases, the rates of hosts and the overhead
  // of NCCL's calls between servers add, so that they keep to what is published or usual where the points do not say otherwise, and how far
  // behind the best NCCL's choices would be.
  std::vector<double> errors(const std::vector<double>& values);
  double loss(const std::vector<double>& values);

  // Simulator::work: so far of all objectives on the same scenario, and of one simulation of each point.
  std::int64_t work() const { return simulators_->work(); }
  std::vector<std::int64_t> work_of_points();
  int evaluations() const { return evaluations_; }

  // The cheapest points that make up a share of what all take to simulate, at least `fewest` of them.
  std::vector<const FitPoint*> cheapest(double share, std::size_t fewest);
  // All points, where simulating each takes no more than this; else fewer sizes of the series that take most, evenly spaced.
  std::vector<const FitPoint*> thinned(std::int64_t max_work);

  double shortest_us() const;          // measured
  double fastest_ns_per_byte() const;  // measured time over size, the least; 0 if nothing was sent

 private:
  bool fits_nccl() const;
  bool all_between_servers() const;
  double regret(const std::vector<double>& values);  // of all points
  // NCCL's versions differ in when they change to a protocol or an algorithm, not in whether they take one at all that NCCL takes at none
  // of these sizes: no bias towards such a one.
  void keep_biases_to_what_is_taken();
  HardwareProfile hardware_at(const std::vector<double>& values) const;
  std::vector<double> simulated_with(HardwareProfile hardware, const std::vector<double>& values, const std::vector<CostAtSize>& costs);
  const OpenScenario& open_;
  std::vector<const FitPoint*> points_;
  std::vector<FitParameter> parameters_;
  std::shared_ptr<Simulators> simulators_;
  double numbers_of_ranks_ = 1;  // of one server, where all calls were in it
  Precision precision_;
  int evaluations_ = 0;
};

}  // namespace weft
