#include "collectives/registry/registry.hpp"
#include "models/fabric/analysis/deadlock.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/compression_check.hpp"
#include "sim/cases/describe.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/plan.hpp"
#include "sim/cases/sized.hpp"
#include "sim/cli/commands.hpp"
#include "sim/experiment.hpp"

#include <ostream>

namespace weft {
namespace {

bool check_fabric(const Scenario& scenario, const Fabric& fabric, std::ostream& out) {
  if (scenario.network == NetworkKind::packet && scenario.packet && !scenario.packet->pfc.on) {
    out << "  ok      routes: no deadlock: \"pfc\" is off, so that switches drop packets and pause nobody\n";
    return true;
  }
  try {
    const DeadlockCheck result = check_deadlock(fabric);
    if (result.can_deadlock()) {
      out << fmt::format("  FAILED  routes: a lossless fabric can deadlock: {}\n", describe_cycle(fabric, result));
      return false;
    }
    out << fmt::format("  ok      routes: no deadlock; {} dependencies of {} channels close no cycle\n", result.dependencies,
                       result.channels);
  } catch (const InputError& error) {
    out << fmt::format("  ?       routes: deadlock not checked: {}\n", error.what());
  }
  return true;
}

std::string load_text(const LinkLoad& load, const Fabric& fabric) {
  if (load.max_flows_per_link() == 0) return "no flow between switches";
  return fmt::format("at most {} flow{} a step on a link between switches (step {}, {})", load.max_flows_per_link(),
                     load.max_flows_per_link() == 1 ? "" : "s", load.between_switches.step, fabric.link_name(load.between_switches.link));
}

// HDRM is the one that promises to have every link between switches for itself.
bool keeps_promise(const AlgorithmChoice& algorithm, const LinkLoad& load) {
  return algorithm.name != "hdrm" || load.max_flows_per_link() <= 1;
}

// What an algorithm is for some sizes.
struct OfSizes {
  AlgorithmChoice choice;
  std::vector<Bytes> sizes = {};  // none: for all
};

std::string text(const OfSizes& of) {
  if (of.sizes.empty()) return label(of.choice);
  if (of.sizes.size() == 1) return fmt::format("{} for {}", label(of.choice), to_string(of.sizes.front()));
  return fmt::format("{} for {} to {}", label(of.choice), to_string(of.sizes.front()), to_string(of.sizes.back()));
}

// The schedules that the scenario's sizes run, each once.
std::vector<OfSizes> by_size(const Scenario& scenario, const AlgorithmChoice& algorithm, const Fabric& fabric) {
  const Workload& workload = scenario.workload;
  const bool one_collective = !workload.has_program() && !workload.training.given() && workload.compressions.empty();
  if (!one_collective || !depends_on_size(scenario, algorithm)) return {{algorithm}};
  const std::vector<int> placement = placement_of_workload(scenario, algorithm);
  std::vector<OfSizes> out;
  for (const Bytes size : workload.sizes) {
    const AlgorithmChoice choice = for_size({scenario, scenario.hardware, fabric, placement, size}, algorithm).choice;
    if (out.empty() || label(out.back().choice) != label(choice)) out.push_back({choice});
    out.back().sizes.push_back(size);
  }
  return out;
}

bool check_algorithm(const Scenario& scenario, const OfSizes& of, const std::shared_ptr<const Fabric>& fabric, std::ostream& out) {
  const AlgorithmChoice& algorithm = of.choice;
  if (is_in_network(algorithm.name)) {
    out << fmt::format("  -       {}: agents, not a schedule: every sum is compared while it runs on \"packet\"\n", text(of));
    return true;
  }
  std::optional<Experiment> experiment;
  try {
    experiment.emplace(scenario, algorithm, fabric, Prover(Unprovable::is_noted));
  } catch (const RunError& error) {
    out << fmt::format("  FAILED  {}: {}\n", text(of), error.what());
    return false;
  }
  const LinkLoad& load = experiment->link_load();
  if (!experiment->unproved().empty()) {
    out << fmt::format("  ?       {}: not proved: {}; {}\n", text(of), experiment->unproved(), load_text(load, *fabric));
    return false;
  }
  if (scenario.workload.has_program()) {
    out << fmt::format("  ok      {}: {}, every collective of which is correct; {}\n", label(algorithm),
                       describe_program(scenario.workload), load_text(load, *fabric));
    return true;
  }
  if (const auto compressed = compressed_allreduce(scenario, algorithm)) {
    std::vector<std::string> exchanges;
    for (const auto& [request, schedule] : compressed->exchanges())
      exchanges.push_back(fmt::format("{} {}", request.algorithm, name_of(request.collective)));
    out << fmt::format(
        "  ok      {}, {}: each of its exchanges is correct ({}); {}\n"
        "  -       {}, {}: no dense all-reduce: ranks get the sum of what is sent, which depends on the values; the rest is kept for "
        "later\n",
        label(algorithm), compressed->settings().name, fmt::join(exchanges, ", "), load_text(load, *fabric), label(algorithm),
        compressed->settings().name);
    return true;
  }
  const Cost of_formula = cost(request_of(scenario, algorithm));
  const bool good = keeps_promise(algorithm, load);
  out << fmt::format("  {}  {}: a correct {}; {} steps and {} messages, as its formula says; {}\n", good ? "ok    " : "FAILED", text(of),
                     name_of(scenario.workload.collective), of_formula.steps, of_formula.messages, load_text(load, *fabric));
  return good;
}

// The scenario with each of its compressions.
std::vector<Scenario> by_compression(const Scenario& scenario) {
  std::vector<Scenario> out;
  for (const CompressionChoice& compression : scenario.workload.compressions) {
    out.push_back(scenario);
    out.back().workload.compressions = {compression};
  }
  return out.empty() ? std::vector{scenario} : out;
}

}  // namespace

int check_command(const ScenarioArguments& arguments, std::ostream& out) {
  bool good = true;
  const std::vector<Case> cases = load_all(arguments);
  refuse_beyond_limits(cases);
  for (const Case& one : cases) {
    const Scenario& scenario = one.scenario;
    const std::string axes = axes_label(one);
    out << fmt::format("{}{}{}: {}, {} ranks\n", scenario.name, axes.empty() ? "" : ", ", axes,
                       describe(scenario.fabric.spec, scenario.server), scenario.workload.ranks);
    const std::shared_ptr<const Fabric> fabric = build(scenario.fabric.spec, scenario.server);
    good &= check_fabric(scenario, *fabric, out);
    for (const Scenario& row : by_compression(scenario))
      for (const AlgorithmChoice& algorithm : scenario.workload.algorithms)
        for (const OfSizes& of : is_in_network(algorithm.name) ? std::vector<OfSizes>{{algorithm}} : by_size(row, algorithm, *fabric))
          good &= check_algorithm(row, of, fabric, out);
  }
  return good ? exit_ok : exit_run_failed;
}

}  // namespace weft
