#include "validation/calibrate/fit_text.hpp"

#include "models/message_costs.hpp"
#include "validation/fit/left_over.hpp"
#include "validation/fit/sized_costs.hpp"
#include "validation/fit/without_model.hpp"

#include <algorithm>
#include <map>
#include <ostream>

namespace weft {
namespace {

std::string percent(double value) { return fmt::format("{:.1f} %", 100 * value); }

void print_errors(const char* what, const ErrorSummary& e, std::ostream& out) {
  if (e.points > 0)
    out << fmt::format("# {:<16} {:>4} points   median error {:>7}   95th percentile {:>7}\n", what, e.points, percent(e.median),
                       percent(e.p95));
}

std::string repeats_of(const Measurement& m) {
  if (m.repeats == 1) return {};
  const std::string others = m.runs_apart > 0 ? fmt::format(" of {} runs", m.repeats + m.runs_apart) : "";
  return fmt::format("  mean of {}{}, standard deviation {}", m.repeats, others, percent(m.spread_us / m.time_us));
}

// "allreduce of ring on 4 ranks at 8B, 16B" for each call whose factors went as far as they may.
std::vector<std::string> factors_at_bound(const std::vector<CostAtSize>& costs) {
  constexpr std::size_t max_sizes = 6;
  std::map<std::string, std::vector<std::string>> sizes;
  for (const CostAtSize& cost : costs)
    if (is_at_bound(cost))
      sizes[cost.collective == name_of_message_costs
                ? "messages"
                : fmt::format("{}{} on {} ranks", cost.collective, cost.algorithm == cost.collective ? "" : " of " + cost.algorithm,
                              cost.ranks)]
          .push_back(to_string(cost.size));
  std::vector<std::string> out;
  for (auto& [call, at] : sizes) {
    const std::size_t more = at.size() > max_sizes ? at.size() - max_sizes : 0;
    at.resize(at.size() - more);
    out.push_back(fmt::format("{} at {}{}", call, fmt::join(at, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  return out;
}

// Caches that cannot be, where the fit chose one of them.
std::string said_of_caches(const FitResult& result, const HardwareProfile& hardware, const Server& server) {
  const bool fitted = std::ranges::any_of(result.parameters, [](const FittedParameter& p) {
    return p.parameter.name == "reduce_cache" || p.parameter.name == "last_level_cache";
  });
  if (server.ranks > 0 || !fitted || hardware.last_level_cache.count == INT64_MAX || hardware.reduce_cache <= hardware.last_level_cache)
    return {};
  return fmt::format(
      "# reduce_cache ({}) is above last_level_cache ({}), which no host's caches are: the rate beyond reduce_cache counts for nothing, "
      "and "
      "the others may say little beyond the sizes measured\n",
      hardware.reduce_cache.count == INT64_MAX ? "never" : to_string(hardware.reduce_cache), to_string(hardware.last_level_cache));
}

// What was measured of a point, where it is not the same of all.
std::string elements_of(const Measurement& m, const std::vector<FitPoint>& points) {
  const bool same = std::ranges::all_of(points, [&](const FitPoint& p) { return p.measured.elements == m.elements; });
  return same || m.elements.empty() ? "" : "  " + m.elements;
}

// On how many nodes a point was measured, where as many ranks were on others, too.
std::string nodes_of(const MeasuredSetup& e, const std::vector<FitPoint>& points) {
  const bool same = std::ranges::all_of(points, [&](const FitPoint& p) { return p.setup.ranks != e.ranks || p.setup.nodes == e.nodes; });
  return same ? "" : fmt::format("  on {} node{}", e.nodes, e.nodes == 1 ? "" : "s");
}

// By point, whether the costs by size leave it out.
std::vector<bool> left_alone(const FitResult& result, const std::vector<FitPoint>& points) {
  std::vector<LeftOver> left_over;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (const MeasuredSetup& e = points[i].setup; points[i].fitted)
      left_over.push_back(left_over_of({e.collective, {}, e.ranks, e.size}, points[i], result.simulated_us[i]));
  const std::vector<bool> alone = standing_alone(left_over);
  std::vector<bool> out;
  auto next = alone.begin();
  for (const FitPoint& p : points) out.push_back(p.fitted && !result.cost_by_size.empty() && *next++);
  return out;
}

std::string_view said_of_bound(std::string_view name) {
  const bool goes_on_in_hops = name == "nccl_network" || name == "network_hops";
  return goes_on_in_hops ? "at its bound: nccl_hop is for what is beyond" : "at its bound: the fit would go further";
}

}  // namespace

void print_fit(const FitResult& result, const std::vector<FitPoint>& points, const HardwareProfile& hardware, const Server& server,
               std::ostream& out) {
  std::size_t longest = 26;
  for (const FittedParameter& p : result.parameters) longest = std::max(longest, p.parameter.name.size());
  out << fmt::format("# {:<{}} {:>14}\n", "parameter", longest, "value");
  const auto said_of = [&](const FittedParameter& p) -> std::string {
    if (p.determined) return std::string(p.at_bound ? said_of_bound(p.parameter.name) : "");
    const std::string where = p.usual.empty() ? "left as it was" : fmt::format("as is usual of {}", p.usual);
    return result.searched ? fmt::format("the data does not determine it: {}, the fit is as good", where) : "not searched: " + where;
  };
  for (const FittedParameter& p : result.parameters)
    out << fmt::format("  {:<{}} {:>14}   {}\n", p.parameter.name, longest, p.parameter.text(p.value), said_of(p));
  out << said_of_caches(result, hardware, server);
  out << fmt::format("#\n# {:<12} {:<26} {:>6} {:>12} {:>14} {:>14} {:>8}\n", "collective", "algorithm", "ranks", "size (B)",
                     "measured (us)", "simulated (us)", "error");
  const std::vector<bool> alone = left_alone(result, points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Measurement& m = points[i].measured;
    out << fmt::format("  {:<12} {:<26} {:>6} {:>12} {:>14.2f} {:>14.2f} {:>+7.1f} % {}{}{}{}\n", m.collective, what_ran(points[i]),
                       points[i].setup.ranks, m.size_bytes, m.time_us, result.simulated_us[i],
                       100 * (result.simulated_us[i] / m.time_us - 1),
                       alone[i]           ? "stands alone"
                       : points[i].fitted ? ""
                                          : "held out",
                       repeats_of(m), elements_of(m, points), nodes_of(points[i].setup, points));
  }
  out << "#\n";
  if (std::ranges::count(alone, true) > 0)
    out << "# what stands alone is far from both its neighbours, which agree with one another: it says nothing of other sizes\n";
  if (!result.cost_by_size.empty()) {
    for (const std::string& call : factors_at_bound(result.cost_by_size))
      out << fmt::format("# a factor at its bound, the fit would go further: {}\n", call);
    const auto [least, most] = std::ranges::minmax(result.cost_by_size, {}, &CostAtSize::factor);
    out << fmt::format("# costs by size: {} factors from {:.2f} to {:.2f}; by the parameters alone:\n", result.cost_by_size.size(),
                       least.factor, most.factor);
    print_errors("fitted", result.fitted_without_costs, out);
    print_errors("held out", result.held_out_without_costs, out);
    out << "# and with costs by size:\n";
  }
  print_errors("fitted", result.fitted, out);
  print_errors("held out", result.held_out, out);
  print_errors("interpolated", summarise(interpolation_errors(points)), out);
  print_errors("cross-validated", result.cross_validated, out);
  if (const ToldCalls& told = result.told; told.count > 0) {
    out << fmt::format("# {} calls of {} to {} ranks and {} to {} were told from smaller ones", told.count, told.min_ranks, told.max_ranks,
                       to_string(told.min_size), to_string(told.max_size));
    if (told.checked)
      out << fmt::format("; the largest that was simulated whole too, {} bytes among {} ranks, is told {:+.1f} % off",
                         points[*told.checked].setup.size.count, points[*told.checked].setup.ranks, 100 * told.off);
    out << "\n";
  }
  const SpreadOfStarts& s = result.spread;
  if (s.starts > 1)
    out << fmt::format("# {} starts by themselves: median error {} to {}, 95th percentile {} to {}\n", s.starts, percent(s.min_median),
                       percent(s.max_median), percent(s.min_p95), percent(s.max_p95));
}

std::string said_of_libraries(const std::vector<LibraryFit>& libraries) {
  std::vector<std::string> others;
  for (std::size_t i = 1; i < libraries.size(); ++i)
    others.push_back(fmt::format("{} {}", name_of(libraries[i].library), percent(libraries[i].error)));
  if (others.empty()) return {};
  constexpr double far_off = 0.4;
  return fmt::format(
      "# \"mpi\" runs by the rules of {}, {} off (mean, by parameters alone; {}){}; if you know which library ran, name it: "
      "{{\"name\": \"mpi\", \"library\": ...}}\n",
      name_of(libraries.front().library), percent(libraries.front().error), fmt::join(others, ", "),
      libraries.front().error > far_off ? ", which no library's are close to: other code may have chosen, such as hcoll or ucc" : "");
}

}  // namespace weft
