#include "sim/row_of_run.hpp"

#include "models/nccl_tuning.hpp"
#include "sim/blame.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/scenario/algorithms.hpp"

#include <algorithm>

#include <fmt/ranges.h>

namespace weft {
namespace {

Bytes wire_bytes_per_rank(const SimulatedJob& j) { return Bytes{j.own.max_sent / static_cast<std::int64_t>(j.own.iterations.size())}; }

const BusiestLink& between_switches(const SimulatedJob& j) {
  return j.job.in_network() ? j.own.between_switches : j.job.load.between_switches;
}

std::optional<Collective> collective_of(const PlacedJob& job) { return job.program ? std::nullopt : std::optional(job.collective); }

// Of training and compression its calls are of many sizes; of NCCL it is the regime.
std::string chosen_by(const PlacedJob& job) {
  const Algorithm* algorithm = find_algorithm(job.collective, job.algorithm.name);
  if (algorithm == nullptr || job.training || job.compression || job.chosen == job.algorithm) return "";
  if (algorithm->chooses != nullptr) return label(job.chosen);
  if (!algorithm->cuts_itself) return "";
  const AlgorithmSettings &asked = job.algorithm.settings, &chosen = job.chosen.settings;
  const bool fewer = chosen.channels < asked.channels && !nvswitches_add(job.regime) && !sharp_adds(job.regime);  // which have none
  if (asked.nccl != NcclAlgorithm::automatic && asked.protocol != NcclProtocol::automatic && !fewer) return "";
  AlgorithmChoice said = without_server_defaults(*job.calls, job.chosen);
  if (fewer) said.settings.channels = chosen.channels;
  return label(said);
}

std::optional<CriticalPath> path_of(const SimulatedJob& j) {
  if (!j.own.critical_path) return std::nullopt;
  return critical_path(*j.own.critical_path, j.own.iterations.size(), j.job.placement, j.fabric);
}

// What no rank waited for of itself is the end of the run, where those that are done wait for the last.
TrainingResult training_of(const PlacedJob& job, const TrainingChoice& choice, SimTime step, const JobRun& run) {
  const SimTime rest = step - run.computed - run.waits.sum();
  return {.model = choice.model.table->name,
          .engine = label(choice.engines.front()),
          .batch_per_gpu = choice.batch_per_gpu,
          .compute = run.computed,
          .exposed = step - run.computed,
          .stragglers = run.waits.stragglers + rest,
          .negotiation = run.waits.negotiation,
          .events = {},
          .samples_per_s = step.ps > 0 ? static_cast<double>(job.ranks) / choice.model_parallel * choice.batch_per_gpu / step.seconds() : 0,
          .scaling_efficiency = step.ps > 0 ? static_cast<double>(job.training->alone().ps) / static_cast<double>(step.ps) : 0,
          .merged = run.merged};
}

}  // namespace

SimTime mean_time(const std::vector<Iteration>& iterations) {
  SimTime sum;
  for (const Iteration& one : iterations) sum += one.time();
  return {sum.ps / static_cast<std::int64_t>(iterations.size())};
}

SimTime first_begin(const SharedRun& run) {
  SimTime first = SimTime::never();
  for (const JobRun& job : run.jobs) first = std::min(first, job.iterations.front().begin);
  return first;
}

std::vector<double> utilization_of_links(const SharedRun& run, const Fabric& fabric, const Scenario& scenario) {
  std::vector<double> out(static_cast<std::size_t>(fabric.links()));
  SimTime begin = first_begin(run);
  if (scenario.network == NetworkKind::packet)  // the bytes of traffic are counted too
    for (const TrafficSpec& traffic : scenario.traffic) begin = std::min(begin, traffic.start);
  const SimTime span = run.finish - begin;
  if (span.ps == 0) return out;
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const double carried = 8.0 * static_cast<double>(run.bytes_on_link[static_cast<std::size_t>(id)]);
    const Link& link = fabric.link(id);
    const BitsPerSecond capacity = link.in_server ? capacity_in_server(fabric, id, scenario.hardware) : link.bandwidth;
    out[static_cast<std::size_t>(id)] = carried / (static_cast<double>(capacity.count) * span.seconds());
  }
  for (const auto& [link, share] : mean_remaining(scenario.faults, fabric, begin, run.finish))
    if (share > 0) out[static_cast<std::size_t>(link)] /= share;
  return out;
}

void name_busiest(const std::vector<double>& utilization, const Fabric& fabric, Row& row) {
  const auto most = std::ranges::max_element(utilization);
  if (most == utilization.end() || *most == 0) return;
  row.busiest_link = fabric.link_name(static_cast<LinkId>(most - utilization.begin()));
  row.busiest_link_utilization = *most;
}

JobResult result_of(const SimulatedJob& j, SimTime alone) {
  const PlacedJob& job = j.job;
  const JobRun& run = j.own;
  const auto [least, most] = std::ranges::minmax(run.iterations, {}, [](const Iteration& one) { return one.time(); });
  return {.name = job.name,
          .algorithm = job.label,
          .collective = collective_of(job),
          .ranks = job.ranks,
          .size = job.simulated_size(j.size),
          .dtype = job.dtype,
          .start = run.iterations.front().begin,
          .iterations = static_cast<int>(run.iterations.size()),
          .time = mean_time(run.iterations),
          .least = least.time(),
          .most = most.time(),
          .alone = alone,
          .wire_bytes_per_rank = wire_bytes_per_rank(j),
          .messages = run.messages / static_cast<std::int64_t>(run.iterations.size()),
          .steps = job.steps(),
          .max_flows_per_link = between_switches(j).flows,
          .model_parallel = job.training ? job.training->parts() : 1,
          .critical_path = path_of(j)};
}

Row row_of(const Scenario& scenario, const SimulatedJob& j) {
  const PlacedJob& job = j.job;
  const JobRun& own = j.own;
  const SharedRun& run = j.all;
  const SimTime time = mean_time(own.iterations);
  const BusiestLink most = between_switches(j);
  Row row{.scenario = scenario.name,
          .fabric = std::string(type_name(scenario.fabric.spec)),
          .network = scenario.network,
          .algorithm = job.label,
          .chosen = chosen_by(job),
          .collective = collective_of(job),
          .ranks = job.ranks,
          .size = job.simulated_size(j.size),
          .dtype = job.dtype,
          .op = scenario.workload.op,
          .time = time,
          .time_p05 = time,
          .time_p95 = time,
          .wire_bytes_per_rank = wire_bytes_per_rank(j),
          .messages = own.messages / static_cast<std::int64_t>(own.iterations.size()),
          .steps = job.steps(),
          .max_flows_per_link = most.flows,
          .most_shared_link = most.flows > 0 ? j.fabric.link_name(most.link) : "",
          .most_shared_step = most.step,
          .model_parallel = job.training ? job.training->parts() : 1,
          .bottleneck = job.bottleneck,
          .aggregates = job.in_network() || nvswitches_add(job.regime) || (job.schedule && job.schedule->servers > 0) ||
                        extra_servers_of_engine(scenario) > 0,
          .critical_path = path_of(j),
          .copies = run.copies,
          .traffic = run.traffic,
          .in_network = run.in_network,
          .notes = fmt::format("{}", fmt::join(job.notes, "\n"))};
  if (!scenario.workload.compressions.empty())
    row.compressed = CompressionResult{.compression = label(scenario.workload.compressions.front()),
                                       .kernels = job.training      ? own.compressing
                                                  : job.compression ? job.compression->compressing(job.elements(j.size))
                                                                    : SimTime{}};
  if (job.training) row.training = training_of(job, scenario.workload.training, time, own);
  name_busiest(utilization_of_links(run, j.fabric, scenario), j.fabric, row);
  return row;
}

}  // namespace weft
