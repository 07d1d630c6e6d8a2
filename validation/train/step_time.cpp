#include "validation/train/step_time.hpp"

#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"

namespace weft::train {
namespace {

// One collective of the plan on the scenario's cluster.
SimTime simulated(const Exchange& exchange, Scenario scenario) {
  const AlgorithmChoice algorithm{.name = exchange.request.algorithm, .settings = exchange.request.settings};
  scenario.workload = {.collective = exchange.request.collective,
                       .algorithms = {algorithm},
                       .sizes = {Bytes{exchange.bytes()}},
                       .dtype = exchange.dtype,
                       .root = exchange.request.root,
                       .ranks = exchange.request.ranks};
  return {std::stoll(in_child([&] { return std::to_string(simulate(scenario, algorithm, Bytes{exchange.bytes()}).time.ps); }))};
}

}  // namespace

StepTime simulated_step(const CompressionPlan& plan, SimTime gradient, const KernelRates& rates, const Scenario& scenario) {
  Scenario any = scenario;
  any.workload.ranks = 0;
  if (const int endpoints = ranks_of(any); plan.ranks > endpoints)
    throw InputError(fmt::format("--ranks: must be at most {}, the endpoints of the scenario's fabric, got {}", endpoints, plan.ranks));
  StepTime time{.gradient = gradient, .kernels = rates.time(plan), .exchanges = {}};
  for (const Phase& phase : plan.phases)
    if (const auto* exchange = std::get_if<Exchange>(&phase)) time.exchanges += simulated(*exchange, scenario);
  return time;
}

}  // namespace weft::train
