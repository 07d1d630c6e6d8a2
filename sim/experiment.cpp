#include "sim/experiment.hpp"

#include "collectives/algorithms/registry.hpp"
#include "collectives/schedule/verify.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/blame.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/program_of_trace.hpp"
#include "sim/program_of_workload.hpp"
#include "sim/scenario/compression_check.hpp"
#include "sim/scenario/describe.hpp"
#include "sim/scenario/jobs.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/sized.hpp"
#include "sim/shared_run.hpp"
#include "sim/training_events.hpp"
#include "sim/training_job.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <span>
#include <utility>

namespace weft {
namespace {

// Gradients up, parameters down.
constexpr int steps_of_in_network = 2;

// A schedule, proved right, and what it puts on the links.
struct ProvedSchedule {
  std::shared_ptr<const Schedule> schedule;
  LinkLoad load;
};

// A job, placed and proved right: a schedule for any size, a program, training steps, or an in-network all-reduce.
struct PlacedJob {
  std::string name;
  AlgorithmChoice algorithm;
  std::string label;
  Collective collective = Collective::allreduce;
  int ranks = 0;  // without extra servers
  DType dtype = DType::float32;
  std::optional<Bytes> own_size = {};  // instead of the row's
  Repetition repetition = {};
  std::vector<int> placement = {};
  std::vector<SimTime> starts = {};
  std::optional<InNetworkSettings> aggregation = {};  // by switches, instead of a schedule or program
  std::shared_ptr<const Schedule> schedule = {};
  std::shared_ptr<const Program> program = {};
  std::vector<std::string> notes = {};
  std::optional<TrainingJob> training = {};             // all-reduces are runs of the schedule
  std::optional<CompressedAllreduce> compression = {};  // instead of the schedule
  bool kernels_on_gpu = false;                          // of the compression: while they run, the GPU does not compute
  LinkLoad load = {};
  Regime regime = {};
  std::shared_ptr<const Scenario> chosen_for = {};  // given where the schedule depends on the size
  std::map<std::string, ProvedSchedule> by_settings = {};

  bool in_network() const { return aggregation.has_value(); }
  std::int64_t element_bytes() const { return static_cast<std::int64_t>(size_of(dtype)); }

  std::int64_t elements(Bytes size) const {
    const std::int64_t elements = own_size.value_or(size).count / element_bytes();
    if (!schedule || schedule->collective != Collective::alltoall) return elements;
    return elements / schedule->chunks * schedule->chunks;  // equal blocks
  }
  Bytes simulated_size(Bytes size) const {
    if (!program) return Bytes{elements(size) * element_bytes()};
    Bytes sum;
    for (const Call& call : program->calls) sum += Bytes{call.elements * call.element_bytes};
    return sum;
  }
  // Null where there is none: training steps, in-network all-reduces.
  std::shared_ptr<const Program> at(Bytes size) const {
    if (program && regime.cost != 1) {
      auto out = std::make_shared<Program>(*program);
      for (Call& call : out->calls) call.regime.cost = regime.cost;
      return out;
    }
    if (program || training || in_network()) return program;
    if (compression) return std::make_shared<const Program>(compression->program(elements(size)));
    Program out = program_of(*schedule, elements(size), element_bytes());
    out.calls.front().regime = regime;
    return std::make_shared<const Program>(std::move(out));
  }
  int steps() const {
    if (in_network()) return steps_of_in_network;
    int sum = 0;
    if (compression) {
      for (const auto& [request, exchange] : compression->exchanges()) sum += exchange->steps();
      return sum;
    }
    if (schedule) return schedule->steps();
    for (const Call& call : program->calls) sum += call.schedule->steps();
    return sum;
  }
};

// What schedules are proved and routed with.
struct Ground {
  Routes& routes;
  Prover& prover;
};

PlacedJob placed(const Scenario& scenario, const AlgorithmChoice& algorithm, std::string name, std::vector<int> placement,
                 std::vector<SimTime> starts, const Ground& ground) {
  const Workload& workload = scenario.workload;
  PlacedJob job{.name = std::move(name),
                .algorithm = algorithm,
                .label = label(algorithm),
                .ranks = static_cast<int>(placement.size()),
                .dtype = workload.dtype,
                .repetition = {.iterations = workload.iterations, .compute = workload.compute},
                .placement = std::move(placement),
                .starts = std::move(starts)};
  if (is_in_network(algorithm.name)) {
    job.aggregation = in_network_settings(algorithm, scenario.fabric.programmable);
    if (!workload.training.given()) return job;
    const Schedule ranks_only{.name = algorithm.name, .ranks = job.ranks / workload.training.model_parallel};
    job.schedule = std::make_shared<const Schedule>(ranks_only);
    job.training.emplace(scenario, ranks_only, job.placement);
    return job;
  }
  Request request = request_of(scenario, algorithm);
  job.ranks = request.ranks;
  request.ranks /= workload.training.model_parallel;  // an all-reduce joins the ranks with the same part
  if (depends_on_size(scenario, algorithm)) job.chosen_for = std::make_shared<const Scenario>(scenario);
  auto schedule = std::make_shared<Schedule>(build(request));
  ground.prover.require_correct(*schedule, request);
  job.collective = request.collective;
  if (!job.starts.empty())  // servers wait for the first worker
    job.starts.resize(std::max(job.starts.size(), static_cast<std::size_t>(schedule->ranks)), *std::ranges::min_element(job.starts));
  if (workload.training.given()) job.training.emplace(scenario, *schedule, job.placement);
  job.load = link_load(*schedule, job.training ? job.training->placement(0) : job.placement, ground.routes);
  job.schedule = std::move(schedule);
  if (job.compression = compressed_allreduce(scenario, algorithm); job.compression) {
    job.kernels_on_gpu = shares_the_gpu(scenario);
    job.load = {};
    for (const auto& [exchange, of_exchange] : job.compression->exchanges()) {
      ground.prover.require_correct(*of_exchange, exchange);
      LinkLoad load = link_load(*of_exchange, job.training ? job.training->placement(0) : job.placement, ground.routes);
      if (load.max_flows_per_link() >= job.load.max_flows_per_link()) job.load = std::move(load);
    }
  }
  return job;
}

// What the profile knows of calls of this size; a program is known by its label, as messages between two ranks are.
double cost_of_size(const PlacedJob& job, Bytes row_size, const HardwareProfile& hardware) {
  if (hardware.cost_by_size.empty() || job.compression || job.training) return 1;
  if (job.program) return cost_factor(hardware.cost_by_size, {job.label, job.label, job.ranks, job.simulated_size(row_size)});
  const std::string algorithm = sized_name(job.algorithm.name, job.regime);
  return cost_factor(hardware.cost_by_size, {name_of(job.collective), algorithm, job.ranks, job.own_size.value_or(row_size)});
}

// Takes the schedule for a message of this size, where it depends on that.
void choose_schedule(PlacedJob& job, Bytes row_size, const HardwareProfile& hardware, const Ground& ground) {
  if (!job.chosen_for) return;
  const Bytes size = job.training ? job.training->size() : job.own_size.value_or(row_size);
  const SizedChoice sized = for_size({*job.chosen_for, hardware, ground.routes.fabric(), job.placement, size}, job.algorithm);
  const auto [at, is_new] = job.by_settings.try_emplace(label(sized.choice));
  if (is_new) {
    Request request = request_of(*job.chosen_for, sized.choice);
    request.ranks /= job.chosen_for->workload.training.model_parallel;
    auto schedule = std::make_shared<Schedule>(build(request));
    ground.prover.require_correct(*schedule, request);
    at->second.load = link_load(*schedule, job.training ? job.training->placement(0) : job.placement, ground.routes);
    at->second.schedule = std::move(schedule);
  }
  job.schedule = at->second.schedule;
  job.load = at->second.load;
  job.regime = sized.regime;
  if (job.training) job.training.emplace(*job.chosen_for, *job.schedule, job.placement);
}

// Those of "jobs"; `placements` are of the workload and of them.
void place_jobs_beside(const Scenario& scenario, const AlgorithmChoice& algorithm, const std::vector<std::vector<int>>& placements,
                       const Ground& ground, std::vector<PlacedJob>& out) {
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const JobSpec& spec = scenario.jobs[i];
    const Scenario alone = scenario_of_job(scenario, algorithm, spec.size.value_or(Bytes{}), spec);
    std::vector<SimTime> starts(static_cast<std::size_t>(alone.workload.ranks), spec.start);
    out.push_back(placed(alone, alone.workload.algorithms.front(), spec.name, placements[i + 1], std::move(starts), ground));
    out.back().own_size = spec.size;
  }
}

// A program in the place of the workload.
PlacedJob placed(const Scenario& scenario, Program program, std::string label, std::vector<int> placement, Routes& routes) {
  PlacedJob job{.name = "workload",
                .algorithm = {},
                .label = std::move(label),
                .ranks = program.ranks,
                .dtype = scenario.workload.dtype,
                .repetition = {.iterations = scenario.workload.iterations, .compute = scenario.workload.compute},
                .placement = std::move(placement),
                .starts = starts_of(scenario)};
  std::set<std::pair<const Schedule*, std::vector<Rank>>> seen;  // calls that differ in size only use the same links
  for (const Call& call : program.calls) {
    if (!seen.emplace(call.schedule.get(), call.members).second) continue;
    std::vector<int> seats;
    for (Rank r = 0; r < call.schedule->ranks; ++r)
      seats.push_back(job.placement[static_cast<std::size_t>(call.members.empty() ? r : call.members[static_cast<std::size_t>(r)])]);
    LinkLoad load = link_load(*call.schedule, seats, routes);
    if (load.max_flows_per_link() > job.load.max_flows_per_link()) job.load = std::move(load);
  }
  job.program = std::make_shared<const Program>(std::move(program));
  return job;
}

// A job for one run, and what it points to.
struct ReadyJob {
  const PlacedJob& job;
  Bytes size;
  std::shared_ptr<const Program> program;

  std::vector<MessageRecord>* messages = nullptr;  // receives them
  std::vector<SpanRecord>* spans = nullptr;        // receives what each rank of a training job does

  // One, or of a training job one for each part of the model.
  int tenants() const { return job.training ? job.training->parts() : 1; }

  void add_tenants(const HardwareProfile& hardware, const Experiment::Options& options, std::vector<Tenant>& out) const {
    if (!job.training) return out.push_back(tenant(hardware, options));
    for (int part = 0; part < tenants(); ++part) {
      PlacedTraining placed = job.training->placed(part, *job.schedule, hardware, job.starts);
      placed.iterations = job.repetition.iterations;
      placed.name = job.name;
      placed.timeline = messages;
      placed.spans = spans;
      placed.compression = job.compression ? &*job.compression : nullptr;
      placed.kernels_on_gpu = job.kernels_on_gpu;
      placed.aggregation = job.aggregation;
      placed.regime = job.regime;
      out.push_back({.name = job.name, .job = std::move(placed)});
    }
  }

 private:
  Tenant tenant(const HardwareProfile& hardware, const Experiment::Options& options) const {
    if (job.in_network())
      return {.name = job.name, .job = InNetworkJob{*job.aggregation, job.placement, job.elements(size), job.starts, job.repetition}};
    return {.name = job.name,
            .job = PlacedProgram{.program = *program,
                                 .placement = job.placement,
                                 .hardware = hardware,
                                 .start = job.starts,
                                 .repetition = job.repetition,
                                 .name = job.name,
                                 .timeline = messages,
                                 .operations = options.operations,
                                 .find_path = options.find_path}};
  }
};

SimTime mean_time(const std::vector<Iteration>& iterations) {
  SimTime sum;
  for (const Iteration& one : iterations) sum += one.time();
  return {sum.ps / static_cast<std::int64_t>(iterations.size())};
}

// Parts of a model are tenants of their own, one behind the other: a step ends when all have ended it.
void join_parts(SharedRun& run, std::size_t first, int parts) {
  TenantRun& all = run.jobs[first];
  for (int p = 1; p < parts; ++p) {
    const TenantRun& one = run.jobs[first + static_cast<std::size_t>(p)];
    for (std::size_t i = 0; i < all.iterations.size(); ++i) {
      all.iterations[i].end = std::max(all.iterations[i].end, one.iterations[i].end);
      all.iterations[i].begin = i > 0 ? all.iterations[i - 1].end : std::min(all.iterations[i].begin, one.iterations[i].begin);
    }
    all.messages += one.messages;
    all.computed += one.computed;
    all.waits += one.waits;
  }
  if (parts > 1) {
    const auto mean = [&](SimTime t) { return SimTime{t.ps / parts}; };
    all.computed = mean(all.computed);
    all.waits = {mean(all.waits.communication), mean(all.waits.stragglers), mean(all.waits.negotiation)};
  }
  run.jobs.erase(run.jobs.begin() + static_cast<std::ptrdiff_t>(first) + 1, run.jobs.begin() + static_cast<std::ptrdiff_t>(first) + parts);
}

// `span`: the time in which the bytes were carried.
void find_busiest(const std::vector<std::int64_t>& bytes_on_link, SimTime span, const Fabric& fabric, Row& row) {
  if (span.ps == 0) return;
  double most = 0;
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const double carried = 8.0 * static_cast<double>(bytes_on_link[static_cast<std::size_t>(id)]);
    const double utilization = carried / (static_cast<double>(fabric.link(id).bandwidth.count) * span.seconds());
    if (utilization <= most) continue;
    most = utilization;
    row.busiest_link = fabric.link_name(id);
  }
  row.busiest_link_utilization = most;
}

// The most that the links out of any endpoint carried.
std::int64_t most_sent(const std::vector<std::int64_t>& bytes_on_link, const Fabric& fabric) {
  std::vector<std::int64_t> sent(boost::num_vertices(fabric.graph()));
  for (LinkId id = 0; id < fabric.links(); ++id)
    sent[static_cast<std::size_t>(fabric.from(id))] += bytes_on_link[static_cast<std::size_t>(id)];
  std::int64_t most = 0;
  for (int e = 0; e < fabric.endpoints(); ++e) most = std::max(most, sent[static_cast<std::size_t>(fabric.node_of(e))]);
  return most;
}

Bytes wire_bytes_per_rank(const PlacedJob& job, Bytes size, const TenantRun& run, const SharedRun& all, const Fabric& fabric) {
  if (job.in_network()) return Bytes{run.most_sent / static_cast<std::int64_t>(run.iterations.size())};
  if (job.schedule && !job.training && !job.compression)
    return Bytes{traffic(*job.schedule, job.elements(size)).max_elements_sent * job.element_bytes()};
  return Bytes{most_sent(all.bytes_on_link, fabric) / static_cast<std::int64_t>(run.iterations.size())};
}

std::optional<Collective> collective_of(const PlacedJob& job) { return job.program ? std::nullopt : std::optional(job.collective); }

std::optional<CriticalPath> path_of(const PlacedJob& job, const TenantRun& run, const Fabric& fabric) {
  if (!run.critical_path) return std::nullopt;
  return critical_path(*run.critical_path, run.iterations.size(), job.placement, fabric);
}

JobResult result_of(const ReadyJob& ready, const TenantRun& run, const SharedRun& all, const SharedRun& alone, const Fabric& fabric) {
  const PlacedJob& job = ready.job;
  const auto [least, most] = std::ranges::minmax(run.iterations, {}, [](const Iteration& one) { return one.time(); });
  return {.name = job.name,
          .algorithm = job.label,
          .collective = collective_of(job),
          .ranks = job.ranks,
          .size = job.simulated_size(ready.size),
          .dtype = job.dtype,
          .start = run.iterations.front().begin,
          .iterations = static_cast<int>(run.iterations.size()),
          .time = mean_time(run.iterations),
          .least = least.time(),
          .most = most.time(),
          .alone = mean_time(alone.jobs.front().iterations),
          .wire_bytes_per_rank = wire_bytes_per_rank(job, ready.size, run, all, fabric),
          .messages = run.messages / static_cast<std::int64_t>(run.iterations.size()),
          .steps = job.steps(),
          .max_flows_per_link = job.load.max_flows_per_link(),
          .critical_path = path_of(job, run, fabric)};
}

// What no rank waited for of itself is the end of the run, where those that are done wait for the last.
TrainingResult training_of(const PlacedJob& job, const TrainingChoice& choice, SimTime step, const TenantRun& run) {
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
          .merged = job.training->merged()};
}

SimTime first_begin(const SharedRun& run) {
  SimTime first = SimTime::never();
  for (const TenantRun& job : run.jobs) first = std::min(first, job.iterations.front().begin);
  return first;
}

// Of the workload, the first of the jobs; what the run says of others and of packets is still to be added.
Row row_of(const Scenario& scenario, const ReadyJob& ready, const SharedRun& run, const Fabric& fabric) {
  const PlacedJob& job = ready.job;
  const TenantRun& own = run.jobs.front();
  const SimTime time = mean_time(own.iterations);
  Row row{.scenario = scenario.name,
          .fabric = std::string(type_name(scenario.fabric.spec)),
          .network = scenario.network,
          .algorithm = job.label,
          .collective = collective_of(job),
          .ranks = job.ranks,
          .size = job.simulated_size(ready.size),
          .dtype = job.dtype,
          .op = scenario.workload.op,
          .time = time,
          .time_p05 = time,
          .time_p95 = time,
          .wire_bytes_per_rank = wire_bytes_per_rank(job, ready.size, own, run, fabric),
          .messages = own.messages / static_cast<std::int64_t>(own.iterations.size()),
          .steps = job.steps(),
          .max_flows_per_link = job.load.max_flows_per_link(),
          .most_shared_link = job.load.max_flows_per_link() > 0 ? fabric.link_name(job.load.between_switches.link) : "",
          .most_shared_step = job.load.between_switches.step,
          .bottleneck = slowest_endpoint(scenario),
          .aggregates = job.in_network() || (job.schedule && job.schedule->servers > 0),
          .critical_path = path_of(job, own, fabric),
          .copies = run.copies,
          .traffic = run.traffic,
          .in_network = run.in_network,
          .notes = fmt::format("{}", fmt::join(job.notes, "\n"))};
  if (!scenario.workload.compressions.empty())
    row.compressed = CompressionResult{.compression = label(scenario.workload.compressions.front()),
                                       .kernels = job.training      ? own.compressing
                                                  : job.compression ? job.compression->compressing(job.elements(ready.size))
                                                                    : SimTime{}};
  if (job.training) row.training = training_of(job, scenario.workload.training, time, own);
  find_busiest(run.bytes_on_link, run.finish - first_begin(run), fabric, row);
  return row;
}

}  // namespace

struct Experiment::Parts {
  Scenario scenario;
  std::shared_ptr<const Fabric> fabric;
  Routes routes;
  Prover prover;
  std::vector<PlacedJob> jobs = {};  // the workload first

  Parts(Scenario s, std::shared_ptr<const Fabric> cluster, Prover with = Prover())
      : scenario(std::move(s)),
        fabric(cluster ? std::move(cluster) : build(scenario.fabric.spec, scenario.server)),
        routes(*fabric, scenario.fabric.ecmp),
        prover(std::move(with)) {}

  Ground ground() { return {routes, prover}; }
};

Experiment::Experiment(Scenario scenario, const AlgorithmChoice& algorithm, std::shared_ptr<const Fabric> cluster, Prover prover)
    : parts_(std::make_unique<Parts>(std::move(scenario), std::move(cluster), std::move(prover))) {
  const Scenario& s = parts_->scenario;
  const std::vector<std::vector<int>> placements = placements_of_jobs(s, algorithm);
  const ProgramSite site{*parts_->fabric, placements.front(), parts_->prover};
  if (s.workload.trace.given()) {
    ProgramOfTrace traced = program_of_trace(s, algorithm, site);
    parts_->jobs.push_back(placed(s, std::move(traced.program), label(algorithm), placements.front(), parts_->routes));
    parts_->jobs.back().notes = std::move(traced.notes);
  } else if (s.workload.has_program()) {
    parts_->jobs.push_back(placed(s, program_of_workload(s, algorithm, site), label(algorithm), placements.front(), parts_->routes));
  } else {
    parts_->jobs.push_back(placed(s, algorithm, "workload", placements.front(), starts_of(s), parts_->ground()));
  }
  place_jobs_beside(s, algorithm, placements, parts_->ground(), parts_->jobs);
}

Experiment::Experiment(Scenario scenario, Program program, std::string label, std::shared_ptr<const Fabric> cluster)
    : parts_(std::make_unique<Parts>(std::move(scenario), std::move(cluster))) {
  Scenario& s = parts_->scenario;
  if (const auto wrong = problems(program); !wrong.empty()) throw InputError(wrong);
  if (program.ranks > parts_->fabric->endpoints())
    throw InputError(
        fmt::format("the {} ranks of {} do not fit the scenario's {} endpoints", program.ranks, label, parts_->fabric->endpoints()));
  s.workload.ranks = program.ranks;
  const AlgorithmChoice of_jobs = s.workload.algorithms.empty() ? AlgorithmChoice{"ring"} : s.workload.algorithms.front();
  const std::vector<std::vector<int>> placements = placements_of_jobs(s, {"program"});
  parts_->jobs.push_back(placed(s, std::move(program), std::move(label), placements.front(), parts_->routes));
  place_jobs_beside(s, of_jobs, placements, parts_->ground(), parts_->jobs);
}

Experiment::~Experiment() = default;
Experiment::Experiment(Experiment&&) noexcept = default;

const Scenario& Experiment::scenario() const { return parts_->scenario; }
std::shared_ptr<const Fabric> Experiment::cluster() const { return parts_->fabric; }
const LinkLoad& Experiment::link_load() const { return parts_->jobs.front().load; }
const std::string& Experiment::unproved() const { return parts_->prover.unproved(); }
const std::vector<int>& Experiment::placement() const { return parts_->jobs.front().placement; }

Row Experiment::run(Bytes size, const Options& options) {
  const Scenario& scenario = parts_->scenario;
  const Fabric& fabric = *parts_->fabric;
  const HardwareProfile& hardware = options.hardware ? *options.hardware : scenario.hardware;
  std::vector<ReadyJob> ready;
  for (PlacedJob& job : parts_->jobs) {
    choose_schedule(job, size, hardware, parts_->ground());
    job.regime.cost = cost_of_size(job, size, hardware);
  }
  for (const PlacedJob& job : parts_->jobs) ready.push_back({job, size, job.at(size)});
  std::vector<Tenant> tenants;
  if (Timeline* timeline = options.timeline) {
    timeline->fabric = parts_->fabric;
    timeline->placement = placement();
    ready.front().messages = &timeline->messages;
    ready.front().spans = &timeline->spans;
    for (std::size_t i = 1; i < ready.size(); ++i)
      ready[i].messages = &timeline->activity.beside.emplace_back(JobMessages{.job = ready[i].job.name}).messages;
  }
  for (std::size_t i = 0; i < ready.size(); ++i)
    ready[i].add_tenants(hardware, i == 0 ? options : Options{.find_path = options.find_path}, tenants);

  const auto before = std::chrono::steady_clock::now();
  const auto site = [&](Routes& routes, NetworkActivity* activity) {
    return SharedSite{.routes = routes,
                      .hardware = hardware,
                      .switches = scenario.fabric.programmable,
                      .packet = scenario.packet.value_or(PacketSettings{}),
                      .faults = scenario.faults,
                      .activity = activity};
  };
  NetworkActivity* activity = options.timeline ? &options.timeline->activity : nullptr;
  SharedRun run = run_on(scenario.network, {tenants, scenario.traffic, scenario.copies}, site(parts_->routes, activity), options.around);
  if (activity) {
    activity->begin = first_begin(run);
    activity->end = run.finish;
    activity->bytes_on_link = run.bytes_on_link;
  }
  join_parts(run, 0, ready.front().tenants());
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
  Row row = row_of(scenario, ready.front(), run, fabric);
  row.wall_s = wall.count();
  row.unproved = parts_->prover.unproved();
  if (row.training) add_events(scenario, parts_->jobs.front().algorithm, parts_->prover, row);
  if (run.packet) row.packet = summary(*run.packet, fabric);
  if (options.each_alone && scenario.faults.any())
    row.faults = FaultsResult{.healthy = healthy_time(size, hardware), .rerouted = run.rerouted, .interrupted = run.interrupted};
  if (!options.each_alone || !is_shared(scenario)) return row;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    std::vector<Tenant> only;
    ready[i].add_tenants(hardware, {}, only);
    Routes routes(fabric, scenario.fabric.ecmp);
    SharedRun alone = run_on(scenario.network, {only}, site(routes, nullptr), Around::nothing);
    join_parts(alone, 0, ready[i].tenants());
    row.jobs.push_back(result_of(ready[i], run.jobs[i], run, alone, fabric));
  }
  return row;
}

SimTime Experiment::healthy_time(Bytes size, const HardwareProfile& hardware) {
  Faults faults = std::exchange(parts_->scenario.faults, {});
  const SimTime time = run(size, {.hardware = &hardware, .each_alone = false}).time;
  parts_->scenario.faults = std::move(faults);
  return time;
}

SimTime time_of(Experiment& experiment, Bytes size, const HardwareProfile& hardware) {
  const Experiment::Options options{.hardware = &hardware, .each_alone = false};
  if (traits_of(experiment.scenario().network).runs_again) return experiment.run(size, options).time;
  return {std::stoll(in_child([&] { return std::to_string(experiment.run(size, options).time.ps); }))};
}

Row simulate(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const Experiment::Options& options, Prover prover) {
  Experiment::Options in_engine = options;
  in_engine.around = Around::engine;
  in_engine.find_path = true;
  return Experiment(scenario, algorithm, {}, std::move(prover)).run(size, in_engine);
}

std::vector<SimTime> starts_of(const Scenario& scenario) {
  if (!scenario.start_skew) return {};
  std::mt19937_64 random(scenario.start_skew->seed);
  std::vector<SimTime> starts(static_cast<std::size_t>(scenario.workload.ranks));
  const auto range = static_cast<std::uint64_t>(scenario.start_skew->max.ps) + 1;
  for (SimTime& start : starts) start.ps = static_cast<std::int64_t>(random() % range);
  return starts;
}

}  // namespace weft
