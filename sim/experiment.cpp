#include "sim/experiment.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/cases/describe.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/sized.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/no_effect.hpp"
#include "sim/placed_job.hpp"
#include "sim/program_of_trace.hpp"
#include "sim/program_of_workload.hpp"
#include "sim/row_of_run.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/shared_run.hpp"
#include "sim/training_events.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <utility>

namespace weft {
namespace {

// A job for one run, and what it points to.
struct SizedJob {
  const PlacedJob& job;
  Bytes size;
  std::shared_ptr<const Program> program;

  std::vector<MessageRecord>* messages = nullptr;  // receives them
  std::vector<SpanRecord>* spans = nullptr;        // receives what each rank of a training job does

  // One, or of a training job one for each part of the model.
  int parts() const { return job.training ? job.training->parts() : 1; }
  bool may_run_apart() const { return job.training && job.training->may_run_apart() && !job.in_network() && !job.compression; }

  // `apart`: all-reduces of training are run apart.
  void add_to(const HardwareProfile& hardware, const Experiment::Options& options, bool apart, std::vector<Job>& out) const {
    if (!job.training) return out.push_back(only_part(hardware, options));
    for (int part = 0; part < parts(); ++part) {
      PlacedTraining placed = job.training->placed(part, *job.schedule, hardware, job.starts, apart);
      placed.iterations = job.repetition.iterations;
      placed.name = job.name;
      placed.timeline = messages;
      placed.spans = spans;
      placed.compression = job.compression ? &*job.compression : nullptr;
      placed.kernels_on_gpu = job.kernels_on_gpu;
      placed.aggregation = job.aggregation;
      if (job.all_reduce_of) placed.for_size = [&of = job.all_reduce_of, apart](Bytes bytes) { return of(bytes, apart); };
      out.push_back({.name = job.name, .placed = std::move(placed)});
    }
  }

 private:
  Job only_part(const HardwareProfile& hardware, const Experiment::Options& options) const {
    if (job.in_network())
      return {.name = job.name,
              .placed = PlacedAggregation{*job.aggregation, job.placement, job.elements(size), job.starts, job.repetition}};
    return {.name = job.name,
            .placed = PlacedProgram{.program = *program,
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

// Parts of a model are jobs of the network, one behind the other: a step ends when all have ended it.
void join_parts(SharedRun& run, std::size_t first, int parts) {
  JobRun& all = run.jobs[first];
  for (int p = 1; p < parts; ++p) {
    const JobRun& one = run.jobs[first + static_cast<std::size_t>(p)];
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
    all.waits = {mean(all.waits.communication), mean(all.waits.stragglers), mean(all.waits.negotiation), mean(all.waits.kernels)};
  }
  run.jobs.erase(run.jobs.begin() + static_cast<std::ptrdiff_t>(first) + 1, run.jobs.begin() + static_cast<std::ptrdiff_t>(first) + parts);
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
    parts_->jobs.push_back(placed_program(s, std::move(traced.program), label(algorithm), placements.front(), parts_->routes));
    parts_->jobs.back().notes = std::move(traced.notes);
  } else if (s.workload.has_program()) {
    parts_->jobs.push_back(
        placed_program(s, program_of_workload(s, algorithm, site), label(algorithm), placements.front(), parts_->routes));
  } else {
    parts_->jobs.push_back(placed_workload(s, algorithm, {"workload", placements.front(), starts_of(s)}, parts_->ground()));
  }
  if (parts_->fabric->endpoints() > s.server.gpu_count())
    if (std::string said = said_of_idle_nics(s.server); !said.empty()) parts_->jobs.front().notes.push_back(std::move(said));
  if (const PlacedJob& job = parts_->jobs.front(); job.training && job.training->push_pull(0))
    parts_->jobs.front().notes.push_back(
        fmt::format("{} pushes partitions of gradients to parameter servers and pulls their sums: the algorithm {} is not run",
                    label(s.workload.training.engines.front()), job.label));
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
  parts_->jobs.push_back(placed_program(s, std::move(program), std::move(label), placements.front(), parts_->routes));
  place_jobs_beside(s, of_jobs, placements, parts_->ground(), parts_->jobs);
}

namespace {

std::optional<LinkId> contended_link(const PlacedJob& job, Routes& routes) {
  const Fabric& fabric = routes.fabric();
  std::set<std::pair<int, int>> seen;
  Step step;
  for (const auto& [schedule, placement] : routed_schedules(job))
    for (const Steps& channel : schedule->channels)
      for (int k = 0; k < channel.count(); ++k) {
        channel.produce(k, step);
        for (const Transfer& t : step.transfers()) {
          const int from = placement[static_cast<std::size_t>(t.from)], to = placement[static_cast<std::size_t>(t.to)];
          if (from == to || !seen.emplace(from, to).second) continue;
          for (const Hop& hop : routes.hops(routes.of(from, to)))
            if (fabric.link(hop.link).two_way.depends_on_flows()) return hop.link;
        }
      }
  return std::nullopt;
}

}  // namespace

std::vector<std::optional<LinkId>> Experiment::contended_links(Bytes size) {
  std::vector<std::optional<LinkId>> out;
  for (PlacedJob& job : parts_->jobs) {
    choose_for_size(job, size, parts_->scenario.hardware, parts_->ground());
    out.push_back(contended_link(job, parts_->routes));
  }
  return out;
}

Experiment::~Experiment() = default;
Experiment::Experiment(Experiment&&) noexcept = default;

const Scenario& Experiment::scenario() const { return parts_->scenario; }
std::shared_ptr<const Fabric> Experiment::cluster() const { return parts_->fabric; }
const LinkLoad& Experiment::link_load() const { return parts_->jobs.front().load; }
const std::string& Experiment::unproved() const { return parts_->prover.unproved(); }
const std::vector<int>& Experiment::placement() const { return parts_->jobs.front().placement; }

namespace {

// On the socket with the most of them: the cores of a host have their last level of cache between them.
int ranks_of_fullest_socket(const Server& server, const Fabric& fabric, const std::vector<PlacedJob>& jobs) {
  const int of_socket = (server.cores + 1) / 2;
  std::vector<int> ranks(static_cast<std::size_t>(2 * (fabric.endpoints() / server.cores)));
  int most = 1;
  for (const PlacedJob& job : jobs)
    for (const int endpoint : job.placement) {
      const int host = endpoint / server.cores, socket = endpoint % server.cores / of_socket;
      most = std::max(most, ++ranks[static_cast<std::size_t>(2 * host + socket)]);
    }
  return most;
}

// What each rank has of what the ranks of a socket, or of a GPU, have between them.
HardwareProfile of_each_rank(const HardwareProfile& hardware, const Server& server, const Fabric& fabric,
                             const std::vector<PlacedJob>& jobs) {
  if (server.cores > 0) return hardware.shared_by(ranks_of_fullest_socket(server, fabric, jobs));
  if (server.ranks == 0) return hardware;
  std::size_t ranks = 0;
  for (const PlacedJob& job : jobs) ranks += job.placement.size();
  return hardware.shared_by_ranks_of_gpu(static_cast<int>(std::max<std::size_t>(1, ranks)));
}

constexpr std::uint64_t few_events = 10'000'000;  // some seconds

// Whether training is all that happens on the network, so that its all-reduces may be run apart (calls_apart.hpp).
bool may_run_apart(const Scenario& scenario, std::span<const SizedJob> jobs, const HardwareProfile& hardware) {
  return scenario.network == NetworkKind::flow && !scenario.faults.any() && scenario.traffic.empty() && scenario.copies.empty() &&
         CallsApart::may_describe(hardware) && std::ranges::all_of(jobs, &SizedJob::may_run_apart);
}

// Whether its operations are more than one call, which its messages show.
bool has_several_operations(const Program& program) {
  return program.operations.size() > 1 || (!program.operations.empty() && program.operations.front().size() > 1);
}

// What each rank computed and the calls that it was in, on their streams.
std::vector<SpanRecord> spans_of(const Program& program, const std::vector<OperationRecord>& operations) {
  std::vector<SpanRecord> out;
  for (const OperationRecord& record : operations) {
    const Operation& o = program.of_rank(record.rank)[static_cast<std::size_t>(record.operation)];
    out.push_back(
        {record.rank, o.is_call() ? SpanRecord::Kind::collective : SpanRecord::Kind::compute, o.stream, o.id, record.begin, record.end});
  }
  return out;
}

// None where some of them meet.
std::optional<SharedRun> run_apart(const Scenario& scenario, std::span<const SizedJob> jobs, const SharedSite& site) {
  std::vector<Job> apart;
  for (const SizedJob& job : jobs) job.add_to(site.hardware, {}, true, apart);
  std::optional<std::uint64_t> max_events;  // where steps would be merged: about as many as that takes
  for (const SizedJob& job : jobs)
    if (const auto merged = job.job.training->merged_messages())
      max_events = max_events.value_or(few_events) + 2 * static_cast<std::uint64_t>(*merged);
  try {
    return run_on(scenario.network, {.jobs = apart, .max_events_apart = max_events.value_or(UINT64_MAX)}, site, Around::nothing);
  } catch (const CallsMeet&) {
    return std::nullopt;
  }
}

}  // namespace

Row Experiment::run(Bytes size, const Options& options) {
  const Scenario& scenario = parts_->scenario;
  const Fabric& fabric = *parts_->fabric;
  const HardwareProfile hardware =
      of_each_rank(options.hardware ? *options.hardware : scenario.hardware, scenario.server, fabric, parts_->jobs);
  std::vector<SizedJob> ready;
  for (PlacedJob& job : parts_->jobs) choose_for_size(job, size, hardware, parts_->ground());
  if (options.regime) parts_->jobs.front().regime = *options.regime;
  for (const PlacedJob& job : parts_->jobs) ready.push_back({job, size, job.at(size)});
  if (options.calls > 1) ready.front().program = std::make_shared<const Program>(back_to_back(*ready.front().program, options.calls));
  if (Timeline* timeline = options.timeline) {
    timeline->fabric = parts_->fabric;
    timeline->placement = placement();
    if (const auto& training = parts_->jobs.front().training; training && training->push_pull(0)) {
      timeline->placement.resize(static_cast<std::size_t>(parts_->jobs.front().ranks + parts_->jobs.front().schedule->servers));
      for (int part = 0; part < training->parts(); ++part) {
        const std::vector<int> servers = training->servers(part);
        timeline->servers.insert(timeline->servers.end(), servers.begin(), servers.end());
      }
    }
    ready.front().messages = &timeline->messages;
    ready.front().spans = &timeline->spans;
    for (std::size_t i = 1; i < ready.size(); ++i)
      ready[i].messages = &timeline->activity.beside.emplace_back(JobMessages{.job = ready[i].job.name}).messages;
  }
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
  std::optional<SharedRun> apart;
  if (!activity && may_run_apart(scenario, ready, hardware)) {
    Routes routes = parts_->routes.fresh();
    apart = run_apart(scenario, ready, site(routes, nullptr));
  }
  std::vector<Job> jobs;
  std::vector<OperationRecord> operations;
  Options of_workload = options;
  const bool shows_operations = activity && ready.front().program && has_several_operations(*ready.front().program);
  if (shows_operations && !of_workload.operations) of_workload.operations = &operations;
  for (std::size_t i = 0; i < ready.size() && !apart; ++i)
    ready[i].add_to(hardware, i == 0 ? of_workload : Options{.find_path = options.find_path}, false, jobs);
  SharedRun run = apart
                      ? *std::move(apart)
                      : run_on(scenario.network, {jobs, scenario.traffic, scenario.copies}, site(parts_->routes, activity), options.around);
  if (shows_operations) options.timeline->spans = spans_of(*ready.front().program, *of_workload.operations);
  if (activity) {
    activity->begin = first_begin(run);
    activity->end = run.finish;
    activity->bytes_on_link = run.bytes_on_link;
  }
  join_parts(run, 0, ready.front().parts());
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
  const SimulatedJob first{ready.front().job, size, run.jobs.front(), run, fabric};
  Row row = row_of(scenario, first);
  if (options.mean_finish) *options.mean_finish = run.jobs.front().mean_finish - run.jobs.front().iterations.front().begin;
  if (options.work) *options.work = {.messages = row.messages, .events = run.events, .solved_flows = run.solved_flows};
  row.wall_s = wall.count();
  row.unproved = parts_->prover.unproved();
  if (options.job_times)
    for (const JobRun& job : run.jobs) options.job_times->push_back(mean_time(job.iterations));
  if (options.utilization) *options.utilization = utilization_of_links(run, fabric, scenario);
  if (row.training) add_events(scenario, first, parts_->prover, row);
  if (run.packet) row.packet = summary(*run.packet, fabric);
  const auto note = [&row](std::string_view text) { row.notes += fmt::format("{}{}", row.notes.empty() ? "" : "\n", text); };
  if (const Bytes buffer = scenario.packet.value_or(PacketSettings{}).switch_buffer; row.packet && row.packet->switch_high_water > buffer)
    note(fmt::format("{} held up to {} where its switch_buffer is {}: a real switch would have dropped packets", row.packet->fullest_switch,
                     to_string(row.packet->switch_high_water), to_string(buffer)));
  if (scenario.network != NetworkKind::flow &&
      std::ranges::any_of(parts_->jobs, [](const PlacedJob& job) { return job.regime.protocol != NcclProtocol::automatic; }))
    note(fmt::format(
        "on {} NCCL begins a message when the one before it has arrived, on flow when its bytes have left: trees and chains of "
        "many pieces take longer by what the path's latency is for each{}",
        name_of(scenario.network),
        scenario.network == NetworkKind::simgrid ? "; what flows share in servers is shared otherwise there, and rings take up to a "
                                                   "quarter less time than on flow and packet"
                                                 : ""));
  if (const Bytes asked = first.job.own_size.value_or(size); !first.job.program && row.size < asked && !row.training)
    note(
        fmt::format("{} are rounded down to {}: a rank sends equally many whole elements to each of the {} ranks, as in MPI and nccl-tests",
                    to_string(asked), to_string(row.size), row.ranks));
  note_what_has_no_effect(scenario, run.finish, parts_->jobs, note);
  if (const PlacedJob& job = parts_->jobs.front(); options.each_alone && job.calls && !job.program && !job.training)
    if (const std::string said = said_of_nccl_choice({*job.calls, hardware, fabric, job.placement, size}, job.algorithm); !said.empty())
      note(said);
  if (activity && row.training && row.training->events > SimTime{})
    note("the report, the details and the timeline show the steps without checkpoints and events");
  if (activity && row.training && row.training->merged && may_run_apart(scenario, ready, hardware))
    note("steps are merged because a timeline is recorded: without one, all-reduces that meet no others are simulated message by message");
  if (options.each_alone && scenario.faults.any())
    row.faults = FaultsResult{.healthy = healthy_time(size, hardware), .rerouted = run.rerouted, .interrupted = run.interrupted};
  if (!options.each_alone || !is_shared(scenario)) return row;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    std::vector<Job> only;
    ready[i].add_to(hardware, {}, false, only);
    Routes routes = parts_->routes.fresh();
    SharedRun alone = run_on(scenario.network, {only}, site(routes, nullptr), Around::nothing);
    join_parts(alone, 0, ready[i].parts());
    row.jobs.push_back(result_of({ready[i].job, size, run.jobs[i], run, fabric}, mean_time(alone.jobs.front().iterations)));
  }
  return row;
}

// With the acknowledgements that packets need where links fail.
SimTime Experiment::healthy_time(Bytes size, const HardwareProfile& hardware) {
  Scenario& scenario = parts_->scenario;
  Faults faults = std::exchange(scenario.faults, {});
  const std::optional<PacketSettings> packet = scenario.packet;
  if (!scenario.packet) scenario.packet.emplace();
  scenario.packet->faults.expected = true;
  const SimTime time = run(size, {.hardware = &hardware, .each_alone = false}).time;
  scenario.faults = std::move(faults);
  scenario.packet = packet;
  return time;
}

SimTime time_of(Experiment& experiment, Bytes size, const HardwareProfile& hardware, int calls) {
  const Experiment::Options options{.hardware = &hardware, .calls = calls, .each_alone = false};
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
