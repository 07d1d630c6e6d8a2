#include "sim/cases/trace_check.hpp"

#include "models/traces/traced_job.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/ranks_by_server.hpp"

namespace weft {

AlgorithmChoice algorithm_for(const Scenario& scenario, const AlgorithmChoice& row, Collective collective, std::span<const int> seats) {
  Scenario alone = scenario;
  Workload& w = alone.workload;
  w.trace = {};
  w.collective = collective;
  w.ranks = static_cast<int>(seats.size());
  w.root = 0;
  alone.placement = listed(seats);
  const auto fits = [&](const AlgorithmChoice& choice) {
    return find_algorithm(collective, choice.name) && extra_servers(choice.settings) == 0 && choice.name != "hdrm" &&
           algorithm_problems(alone, choice, "").empty();
  };
  const AlgorithmChoice own = with_server_defaults(alone, without_server_defaults(scenario, row));
  if (fits(own)) return own;
  for (const std::string& name : algorithm_names(collective))
    if (const AlgorithmChoice other = with_server_defaults(alone, {.name = name}); fits(other)) return other;
  throw InputError(fmt::format("no algorithm does {} on {} ranks", name_of(collective), seats.size()));
}

std::vector<Problem> trace_problems(const Scenario& scenario) {
  const Workload& w = scenario.workload;
  std::vector<Problem> out;
  const auto problem = [&](std::string what) { out.push_back({"/workload/program", std::move(what)}); };
  if (!w.sizes.empty()) out.push_back({"/workload/size", "goes with one collective; the operations of a trace have their own sizes"});
  if (!traits_of(scenario.network).shared)
    problem(
        fmt::format("traces run on the networks {} only, got \"{}\"", networks_that(&NetworkTraits::shared), name_of(scenario.network)));
  if (!out.empty()) return out;
  for (const AlgorithmChoice& row : w.algorithms)
    if (is_in_network(row.name) || row.name == "hdrm" || extra_servers(row.settings) > 0)
      out.push_back({"/workload/algorithm",
                     fmt::format("{} places its ranks or servers itself, which a program does not: choose another", label(row))});
  try {
    const TracedJob job = traced_job(w.trace.program, ranks_of(scenario));
    std::vector<std::string> missing = w.trace.program->missing;
    missing.insert(missing.end(), job.missing.begin(), job.missing.end());
    if (missing.empty() || w.trace.lenient) return out;
    constexpr std::size_t most = 20;
    for (std::size_t i = 0; i < std::min(most, missing.size()); ++i) problem(missing[i]);
    if (missing.size() > most) problem(fmt::format("and {} more that the trace does not say", missing.size() - most));
    problem(
        "the trace does not say all that is needed: --lenient, or \"lenient\": true beside \"files\", simulates it with what is taken "
        "instead");
  } catch (const InputError& error) {
    for (const std::string& what : error.problems()) problem(what);
  }
  return out;
}

}  // namespace weft
