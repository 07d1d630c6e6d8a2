#include "validation/fit/fit.hpp"

#include "models/message_costs.hpp"
#include "validation/fit/large_calls.hpp"
#include "validation/fit/least_squares.hpp"
#include "validation/fit/objective.hpp"
#include "validation/fit/rounding.hpp"
#include "validation/fit/search.hpp"
#include "validation/fit/sized_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

namespace weft {
namespace {

// A parameter is determined when leaving it where it stays untold costs more than this in mean loss, of which errors of 5 %
// everywhere make 0.012.
constexpr double indifferent = 0.0005;

// Handshakes of NCCL's messages are taken for hops, or hops for them, where measurements are of trees: but a ring of many ranks waits for
// one in each of its steps. So they must explain so much of what is left without them.
constexpr double min_share_of_handshakes = 0.25;

double indifferent_to(const FitParameter& parameter, double loss_without) {
  return parameter.name == "rendezvous" ? std::max(indifferent, min_share_of_handshakes * loss_without) : indifferent;
}

std::vector<double> initial_values(const OpenScenario& open) {
  std::vector<double> out;
  for (const FitParameter& p : open.parameters()) out.push_back(p.initial);
  return out;
}

// Where a parameter stays that the points do not tell: as is usual, or at its initial value.
double untold(const Objective& objective, std::size_t parameter) {
  const FitParameter& p = objective.parameters()[parameter];
  const auto usual = objective.usual(parameter);
  return usual ? std::clamp(usual->value, p.low, p.high) : p.initial;
}

// Leaves out, one after the other, the parameters that the points do not need: fixed where it stays when nobody tells it, the others
// adapting where they have to, nothing is lost.
void drop_undetermined(Search& search, Objective& objective, Candidate& best, std::vector<FittedParameter>& fitted) {
  Moving moving(fitted.size(), true);
  const auto drop = [&](std::size_t i, const Candidate& without) {
    best = without;
    moving[i] = false;
    fitted[i].determined = false;
    if (const auto usual = objective.usual(i)) fitted[i].usual = usual->of;
  };
  // NCCL's channels do not cost as much as they may here: what looks as if they did grows with the calls for another reason, and would be
  // found again where there is none, within a server.
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    const FitParameter& p = objective.parameters()[i];
    if (!p.hardware || p.name != "nccl_channel" || best.values[i] < 0.999 * p.high) continue;
    Candidate without = best;
    without.values[i] = untold(objective, i);
    without.loss = objective.loss(without.values);
    Moving others = moving;
    others[i] = false;
    drop(i, search.scan(search.descend(without, others, 12), others));
  }
  for (;;) {
    std::vector<std::pair<std::size_t, Candidate>> worse;
    bool dropped = false;
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      if (!moving[i]) continue;
      Candidate without = best;
      without.values[i] = untold(objective, i);
      without.loss = objective.loss(without.values);
      fitted[i].objective_without = without.loss - best.loss;
      if (without.loss > best.loss + indifferent) {
        worse.emplace_back(i, without);
      } else {
        drop(i, without);
        dropped = true;
      }
    }
    if (dropped) continue;
    std::pair<std::size_t, Candidate> least{fitted.size(), {}};
    double min_beyond = std::numeric_limits<double>::infinity();
    for (auto& [i, without] : worse) {
      Moving others = moving;
      others[i] = false;
      without = search.descend(without, others, 4);
      fitted[i].objective_without = without.loss - best.loss;
      const double beyond = without.loss - best.loss - indifferent_to(objective.parameters()[i], without.loss);
      if (beyond < min_beyond) least = {i, without}, min_beyond = beyond;
    }
    if (min_beyond > 0) return;
    drop(least.first, least.second);
  }
}

// Values with the costs by size that they want, and the loss that these leave, as a fit counts it.
struct WithCosts {
  std::vector<double> values;
  std::vector<CostAtSize> costs = {};
  double loss = 0;
  bool too_slow = false;  // some call stays slower than it was measured
};
WithCosts with_costs(Objective& judge, std::vector<double> values, bool by_message) {
  constexpr double slower = 0.05;
  WithCosts out{.values = std::move(values)};
  out.costs = sized_costs(judge, out.values, by_message);
  std::vector<double> errors = judge.simulated(out.values, out.costs);
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = std::log(std::max(errors[i], 1e-6) / judge.points()[i]->wanted_us());
  out.loss = robust_loss(errors, error_knee);
  out.too_slow = std::ranges::max(errors) > slower;
  return out;
}

// Where messages of one size cost so different times in different calls that some call stays too slow, none of their costs may fit better.
WithCosts with_costs(Objective& judge, std::vector<double> values) {
  WithCosts out = with_costs(judge, std::move(values), true);
  const bool of_messages = std::ranges::any_of(out.costs, [](const CostAtSize& c) { return c.collective == name_of_message_costs; });
  if (!out.too_slow || !of_messages) return out;
  WithCosts without = with_costs(judge, out.values, false);
  return without.loss < out.loss - indifferent ? without : out;
}

// Costs by size make a call as slow as it was measured, but none faster than its links. Where a call stays slower, NCCL may have chosen
// otherwise: biases that fit worse by themselves may fit better with costs.
WithCosts within_reach(const Search& search, const Objective& objective, const Candidate& best) {
  constexpr std::size_t max_tried = 6;
  Objective judge = objective.with(Precision::told);
  WithCosts least = with_costs(judge, best.values);
  if (!least.too_slow) return least;
  for (Candidate& other : search.other_choices(best, max_tried)) {
    if (search.enough()) break;
    for (std::size_t i = 0; i < best.values.size(); ++i)
      if (other.values[i] != best.values[i]) other.values[i] = three_digits(other.values[i]);
    WithCosts here = with_costs(judge, std::move(other.values));
    if (here.loss < least.loss - indifferent) least = std::move(here);
  }
  return least;
}

// Of a call of MPI every profile has a time of its own. Calls of NCCL share theirs in the search (Simulator::about_us), and are simulated
// by themselves where its ratios, costs by size and the result are found.
std::int64_t max_messages_of_a_call(const OpenScenario& open, const std::vector<FitPoint>& points, std::int64_t budget) {
  constexpr std::int64_t of_mpi = 60, of_nccl = 3;
  Simulator simulator(open.scenario(initial_values(open)));
  std::vector<MessagesOfCall> calls;
  for (const FitPoint& p : points) {
    const std::int64_t messages = simulator.count_messages(p.setup, simulator.scenario().hardware);
    calls.push_back({messages, p.setup.algorithm.name == "nccl" ? of_nccl : of_mpi});
  }
  return max_messages_of_a_call(calls, budget / work_of_a_message);
}

std::vector<double> relative_errors(const std::vector<double>& simulated, const std::vector<const FitPoint*>& points) {
  std::vector<double> out;
  for (std::size_t i = 0; i < points.size(); ++i) out.push_back(simulated[i] / points[i]->measured.time_us - 1);
  return out;
}

// Hundreds of times a search asks for all points that it has: where all of them take too long for that, it has fewer.
Objective searched(Objective& objective, const FitOptions& options) {
  constexpr std::int64_t part_of_budget = 200;
  return objective.on(objective.thinned(options.budget / part_of_budget));
}

// The parameters as is usual, or at their initial values.
std::vector<double> untold_values(const Objective& objective) {
  std::vector<double> out;
  for (std::size_t i = 0; i < objective.parameters().size(); ++i) out.push_back(untold(objective, i));
  return out;
}

// Whether one slope, a simulation of each point for each parameter, is more than a fit may simulate. Calls of NCCL share their times
// (Simulator::about_us).
bool is_beyond_search(const OpenScenario& open, const Objective& searched, std::int64_t max_messages, const FitOptions& options) {
  std::vector<const FitPoint*> points;
  for (const FitPoint* p : searched.points())
    if (p->setup.algorithm.name != "nccl") points.push_back(p);
  const auto apart = std::make_shared<Simulators>(open, max_messages);
  Objective(open, std::move(points), apart, Precision::about).simulated(untold_values(searched));
  return std::ssize(open.parameters()) * apart->work() > options.budget;
}

// All but what a call costs before its first message, which is found without simulating it again and again, as they stay untold.
Candidate without_search(Search& search, Objective& objective, std::vector<FittedParameter>& fitted) {
  Candidate out{.values = untold_values(objective)};
  Moving moving;
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    moving.push_back(objective.parameters()[i].name == "call_overhead");
    fitted[i].determined = moving.back();
    const auto usual = objective.usual(i);
    if (!moving.back() && usual) fitted[i].usual = usual->of;
  }
  out.loss = objective.loss(out.values);
  return search.descend(out, moving, 12);
}

// Every point judged by a fit to the other folds, in which what does not move stays as it is in the whole fit, `fitted`.
ErrorSummary cross_validate(const OpenScenario& open, const Objective& whole, const std::vector<double>& fitted, const Moving& moving,
                            const FitOptions& options) {
  const std::vector<const FitPoint*>& points = whole.points();
  std::vector<double> errors, first = initial_values(open);
  for (std::size_t i = 0; i < moving.size(); ++i)
    if (!moving[i]) first[i] = fitted[i];
  for (int fold = 0; fold < options.folds; ++fold) {
    if (whole.work() >= options.budget) {  // some folds alone would be an error of some points
      if (options.say) options.say("cross-validation is left out: what a fit may simulate is spent");
      return {};
    }
    std::vector<const FitPoint*> training, tested;
    for (std::size_t i = 0; i < points.size(); ++i) (static_cast<int>(i) % options.folds == fold ? tested : training).push_back(points[i]);
    if (training.empty() || tested.empty()) continue;
    Objective to_all = whole.on(training), objective = searched(to_all, options);
    Search search(objective);
    search.allow(options.budget / 4 / options.folds);
    Candidate best = search.start(first, moving, options.seed, 0);
    search.center_sizes(best, moving);
    Objective judge = whole.on(tested).with(Precision::told);
    const WithCosts reached = open.fits_costs() ? within_reach(search, to_all, best) : WithCosts{.values = best.values};
    const auto judged = relative_errors(judge.simulated(reached.values, reached.costs), tested);
    errors.insert(errors.end(), judged.begin(), judged.end());
  }
  return summarise(std::move(errors));
}

std::optional<WaysBetweenServers> ways_of(const std::vector<const FitPoint*>& points, Simulator& simulator) {
  std::optional<WaysBetweenServers> out;
  std::set<std::tuple<int, int, int, int, int>> seen;
  for (const FitPoint* p : points) {
    const MeasuredSetup& e = p->setup;
    if (e.nodes == 1 || !seen.emplace(e.ranks, e.nodes, e.of_each_node, e.from, e.to).second) continue;
    const auto ways = simulator.switches_between_servers(e);
    if (out && ways) out->include(*ways);
    if (!out) out = ways;
  }
  return out;
}

ErrorSummary error_of(const std::vector<double>& simulated, const std::vector<const FitPoint*>& points, bool fitted) {
  std::vector<double> out;
  const auto errors = relative_errors(simulated, points);
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i]->fitted == fitted) out.push_back(errors[i]);
  return summarise(std::move(out));
}

// Which calls of the result were told, and how well the largest of them that may be simulated whole.
ToldCalls told_calls(Simulator& simulator, const std::vector<FitPoint>& points, const HardwareProfile& hardware) {
  constexpr std::int64_t max_checked = 1'000'000;  // messages: some half a second
  ToldCalls out;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MeasuredSetup& e = points[i].setup;
    if (!simulator.is_told(e, hardware)) continue;
    out.min_ranks = out.count > 0 ? std::min(out.min_ranks, e.ranks) : e.ranks;
    out.min_size = out.count > 0 ? std::min(out.min_size, e.size) : e.size;
    out.max_ranks = std::max(out.max_ranks, e.ranks);
    out.max_size = std::max(out.max_size, e.size);
    ++out.count;
    const std::int64_t messages = simulator.count_messages(e, hardware);
    if (messages > most && messages <= max_checked) most = messages, out.checked = i;
  }
  if (!out.checked) return out;
  const MeasuredSetup& e = points[*out.checked].setup;
  out.off = simulator.told_us(e, hardware) / simulator.time_us(e, hardware) - 1;
  return out;
}

SpreadOfStarts spread_of(const std::vector<ErrorSummary>& errors) {
  const auto [min_median, max_median] = std::ranges::minmax(errors, {}, &ErrorSummary::median);
  const auto [min_p95, max_p95] = std::ranges::minmax(errors, {}, &ErrorSummary::p95);
  return {static_cast<int>(errors.size()), min_median.median, max_median.median, min_p95.p95, max_p95.p95};
}

// The best of several starts, and the spread of what they came to.
Candidate best_start(const OpenScenario& open, Objective& objective, Objective& whole, Search& search, const FitOptions& options,
                     SpreadOfStarts& spread) {
  const std::int64_t for_starts = objective.work() + options.budget / 2;
  const std::vector<double> initial = initial_values(open);
  const Moving every(initial.size(), true);
  const bool holds_out = std::ranges::any_of(whole.points(), [](const FitPoint* p) { return !p->fitted; });
  Candidate best;
  std::vector<std::vector<double>> reached;
  for (int start = 0; start < options.starts; ++start) {
    const std::int64_t left = for_starts - objective.work();
    if (start > 0 && left <= 0) {
      if (options.say) options.say(fmt::format("starts after {} are left out: what a fit may simulate is spent", start));
      break;
    }
    search.allow(left);  // one start that comes to its end is better than several that do not
    Candidate here = search.start(initial, every, options.seed, start);
    reached.push_back(here.values);
    if (here.loss < best.loss) best = std::move(here);
    if (options.say) options.say(fmt::format("start {} of {}: mean loss {:.4f}", start + 1, options.starts, best.loss));
  }
  spread.starts = static_cast<int>(reached.size());
  if (reached.size() < 2) return best;
  std::vector<ErrorSummary> by_start;
  for (const std::vector<double>& values : reached) by_start.push_back(error_of(whole.simulated(values), whole.points(), !holds_out));
  spread = spread_of(by_start);
  return best;
}

}  // namespace

FitResult fit(const OpenScenario& open, const std::vector<FitPoint>& points, const FitOptions& options) {
  std::vector<const FitPoint*> all, training;
  for (const FitPoint& p : points) {
    all.push_back(&p);
    if (p.fitted) training.push_back(&p);
  }
  if (training.empty()) throw InputError("there is no measurement to fit to");

  FitResult result;
  for (const FitParameter& p : open.parameters()) result.parameters.push_back({p, p.initial});
  const std::int64_t max_messages = max_messages_of_a_call(open, points, options.budget);
  const auto simulators = std::make_shared<Simulators>(open, max_messages);
  Objective to_all(open, training, simulators, Precision::about);
  Objective whole = to_all.on(all), judge = whole.with(Precision::told);
  Objective objective = searched(to_all, options);
  Search search(objective);
  if (options.say) options.say(fmt::format("fits {} parameters to {} points", result.parameters.size(), training.size()));
  result.searched = !is_beyond_search(open, objective, max_messages, options);
  Candidate best;
  if (result.searched) {
    best = best_start(open, objective, whole, search, options, result.spread);
    search.allow(options.budget / 4);
    if (options.leaves_out) drop_undetermined(search, objective, best, result.parameters);
  } else {
    if (options.say)
      options.say(
          "search and cross-validation are left out: to simulate the calls once for each parameter is more than a fit may simulate");
    search.allow(options.budget);
    best = without_search(search, objective, result.parameters);
  }
  Moving moving;
  for (const FittedParameter& p : result.parameters) moving.push_back(p.determined);
  search.center_sizes(best, moving);
  for (std::size_t i = 0; i < moving.size(); ++i)
    if (moving[i]) best.values[i] = three_digits(best.values[i]);
  best.values = objective.physical(std::move(best.values));
  // Pipelines whose messages meet need many pieces until each of them takes as long as the next: what the parameters leave over, and the
  // result, is of larger calls than the search had time for.
  constexpr std::int64_t larger_at_last = 4;
  const bool is_of_mpi = std::ranges::none_of(points, [](const FitPoint& p) { return p.setup.algorithm.name == "nccl"; });
  if (result.searched && is_of_mpi && max_messages <= std::numeric_limits<std::int64_t>::max() / larger_at_last)
    simulators->tell_beyond(larger_at_last * max_messages);
  if (open.fits_costs()) {
    Objective told = to_all.with(Precision::told);
    WithCosts reached = result.searched ? within_reach(search, to_all, best) : with_costs(told, best.values, false);
    for (std::size_t i = 0; i < moving.size(); ++i)
      if (reached.values[i] != best.values[i]) result.parameters[i].determined = true;
    best.values = std::move(reached.values);
    result.cost_by_size = std::move(reached.costs);
  }
  for (std::size_t i = 0; i < result.parameters.size(); ++i) {
    FittedParameter& p = result.parameters[i];
    p.value = best.values[i];
    p.at_bound = p.determined && objective.parameters()[i].is_at_bound(p.value);
  }
  result.simulated_us = judge.simulated(best.values);
  result.fitted_without_costs = error_of(result.simulated_us, all, true);
  result.held_out_without_costs = error_of(result.simulated_us, all, false);
  if (!result.cost_by_size.empty()) result.simulated_us = judge.simulated(best.values, result.cost_by_size);
  result.fitted = error_of(result.simulated_us, all, true);
  result.held_out = error_of(result.simulated_us, all, false);
  HardwareProfile hardware = open.hardware(best.values);
  hardware.cost_by_size = result.cost_by_size;
  Simulator& simulator = simulators->at(best.values);
  result.told = told_calls(simulator, points, hardware);
  for (const FitPoint& p : points)
    if (const auto regime = simulator.nccl_regime(p.setup, hardware)) result.patterns.insert(regime->pattern);
  result.ways = ways_of(training, simulator);
  result.evaluations = objective.evaluations();
  simulators->tell_beyond(max_messages);
  if (result.searched && options.folds > 1) result.cross_validated = cross_validate(open, objective, best.values, moving, options);
  return result;
}

}  // namespace weft
