#include "sim/results/result_fields.hpp"

#include <array>

namespace weft {

template <>
std::span<const ResultField<LimitingResource>> fields_of();
template <>
std::span<const ResultField<FaultsResult>> fields_of();
template <>
std::span<const ResultField<CriticalPath>> fields_of();
template <>
std::span<const ResultField<WhatIf>> fields_of();
template <>
std::span<const ResultField<CopyResult>> fields_of();
template <>
std::span<const ResultField<TrafficResult>> fields_of();
template <>
std::span<const ResultField<QueueSummary>> fields_of();
template <>
std::span<const ResultField<PacketSummary>> fields_of();
template <>
std::span<const ResultField<InNetworkJobSummary>> fields_of();
template <>
std::span<const ResultField<InNetworkSwitchSummary>> fields_of();
template <>
std::span<const ResultField<InNetworkSummary>> fields_of();

// Stands for a member of any type, where nothing is computed from it.
struct AnyMember {
  template <class T>
  operator T() const;
};

namespace {

// How many members T has: as many as it can be initialised with.
template <class T, class... Members>
consteval std::size_t members() {
  if constexpr (requires { T{std::declval<Members>()..., std::declval<AnyMember>()}; })
    return members<T, Members..., AnyMember>();
  else if constexpr (requires { T{std::declval<Members>()..., std::nullopt}; })
    return members<T, Members..., std::nullopt_t>();
  else
    return sizeof...(Members);
}

// Whether every member of T has a field, so that it reaches files and the runner. `Part`: of the fields of this part only.
template <class T, class Fields>
constexpr bool all_declared(const Fields& fields, const void* part = nullptr) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    bool first = true;  // of its group
    for (std::size_t j = 0; j < i; ++j) first &= !fields[i].group || fields[j].group != fields[i].group;
    if (part ? fields[i].group == part : fields[i].send && first) ++found;
  }
  return found == members<T>();
}

template <class T, std::size_t... Sizes>
constexpr auto joined(const std::array<ResultField<T>, Sizes>&... lists) {
  std::array<ResultField<T>, (Sizes + ...)> out{};
  std::size_t next = 0;
  const auto append = [&](const auto& list) {
    for (const ResultField<T>& field : list) out[next++] = field;
  };
  (append(lists), ...);
  return out;
}

constexpr std::array limiting_fields = {
    field<&LimitingResource::name>("name", "",
                                   "The link, or the endpoint whose reduce engine it is, which copies, too, where cores copy messages of "
                                   "their host or ranks share a GPU."),
    field<&LimitingResource::time>("time_us", "us", "Time of the critical path that it decided."),
};
static_assert(all_declared<LimitingResource>(limiting_fields));

constexpr std::array path_fields = {
    field<&CriticalPath::latency>("latency_us", "us", "Latency of the paths of messages."),
    field<&CriticalPath::overhead>("overhead_us", "us",
                                   "Overheads of sends, receives, rendezvous, connections and launches of reductions."),
    field<&CriticalPath::waiting>("waiting_us", "us", "Waiting for ranks that start late, and in queues of sends."),
    field<&CriticalPath::computing>("computing_us", "us", "Computations of a program."),
    field<&CriticalPath::bandwidth>("bandwidth_us", "us", "Messages crossing links, and reductions at their rate."),
    field<&CriticalPath::limits>("limits", "", "What the bandwidth part was limited by, the largest part first, at most 16."),
};
static_assert(all_declared<CriticalPath>(path_fields));

constexpr std::array what_if_fields = {
    field<&WhatIf::twice_as_fast>("twice_as_fast", "",
                                  "What had twice its rate: a link, all links like it, or all reduce engines or rate caps."),
    field<&WhatIf::time>("time_us", "us", "Time of the row with that, simulated again."),
    field<&WhatIf::change>("change", "", "Change of the time as a share of it; -0.5 takes half as long."),
};
static_assert(all_declared<WhatIf>(what_if_fields));

// What a row and a job beside the workload both say.
template <class T>
std::optional<std::string> limiting_link(const T& of) {
  if (!of.critical_path || of.critical_path->limits.empty()) return std::nullopt;
  return of.critical_path->limits.front().name;
}
template <class T>
std::optional<double> limiting_share(const T& of) {
  if (!limiting_link(of)) return std::nullopt;
  return of.critical_path->limiting_share();
}
template <class T>
constexpr std::array blame = {
    derived<limiting_link<T>>("limiting_link", "",
                              "The link, NIC, PCIe port or reduce engine that was the bottleneck of the critical path "
                              "for the largest share of it."),
    derived<limiting_share<T>>("limiting_share", "", "Share of the critical path, from the first start to the last end, for which it was."),
};
template <class T>
constexpr ResultField<T> path =
    field<&T::critical_path>("critical_path", "", "What the time was spent on; the parts sum up to it.").in(Shown::json_only);

template <class T>
constexpr ResultField<T> parts = field<&T::model_parallel>("model_parallel", "",
                                                           "Parts that each model is split into; 1 where there is nothing to split.")
                                     .in(Shown::json_only);

template <class T>
std::string collective(const T& of) {
  return of.collective ? std::string(name_of(*of.collective)) : "program";
}
template <class T>
std::optional<double> busbw(const T& of) {
  return has_busbw(of) ? std::optional(busbw_GBps(of)) : std::nullopt;
}
template <class T>
constexpr std::array of_a_job = {
    field<&T::algorithm>("algorithm", "", "Name of the algorithm, with the settings that differ from their defaults."),
    field_shown_as<&T::collective, collective<T>>("collective", "", "Collective operation, or \"program\" where several are run."),
    field<&T::ranks>("ranks", "", "Number of ranks; extra parameter servers are not counted."),
    field<&T::size>("size_bytes", "B", "Size of the message as nccl-tests counts it; of a program, the sum over its operations."),
    field<&T::dtype>("dtype", "", "Type of an element."),
    field<&T::time>("time_us", "us", "Time from the first rank's start to the last rank's end; of several iterations the mean."),
    derived<algbw_GBps<T>>(
        "algbw_GBps", "GB/s",
        "Algorithm bandwidth: size divided by time; of ranks that share a model (model_parallel), the size of their part of it."),
    derived<busbw<T>>("busbw_GBps", "GB/s",
                      "Bus bandwidth: algorithm bandwidth times the factor of nccl-tests for the ranks that reduce with one another, with "
                      "model_parallel those that have the same part; none of a program or of compressed gradients."),
    field<&T::wire_bytes_per_rank>("wire_bytes_per_rank", "B", "The most bytes that any NIC sent in an iteration."),
    field<&T::messages>("messages", "", "Messages of an iteration, of all ranks."),
    field<&T::steps>("steps", "", "Steps of the schedule; of an engine with parameter servers of its own, of a push and a pull."),
    field<&T::max_flows_per_link>(
        "max_flows_per_link", "",
        "The most flows that one step puts on one directed link between switches; where switches add up, one flow is left of those that "
        "are added."),
};

constexpr std::array job_only = {
    field<&JobResult::name>("job", "", "Name of the job; \"workload\" is the one that the row is about."),
    field<&JobResult::start>("start_us", "us", "Start of the first iteration, from the start of the simulation."),
    field<&JobResult::iterations>("iterations", "", "Iterations that the job ran."),
    field<&JobResult::least>("least_us", "us", "Time of the fastest iteration."),
    field<&JobResult::most>("most_us", "us", "Time of the slowest iteration."),
    field<&JobResult::time_p05>("time_us_p05", "us", "5th percentile of the job's time over the runs, where there are several."),
    field<&JobResult::time_p95>("time_us_p95", "us", "95th percentile of the job's time over the runs, where there are several."),
    field<&JobResult::alone>("alone_us", "us", "Mean time of an iteration where the job has the fabric for itself."),
};
double slowdown(const JobResult& job) { return job.slowdown(); }
constexpr std::array job_fields =
    joined(of_a_job<JobResult>, job_only,
           std::array{derived<slowdown>("slowdown", "", "Mean time of an iteration divided by that of the job alone.")}, blame<JobResult>,
           std::array{parts<JobResult>, path<JobResult>});
static_assert(all_declared<JobResult>(job_fields));

std::string direction(const CopyResult& copy) { return copy.to_host ? "gpu_to_host" : "host_to_gpu"; }
double copy_GBps(const CopyResult& copy) { return copy.GBps(); }
constexpr std::array copy_fields = {
    field<&CopyResult::gpu>("gpu", "", "The GPU, numbered over all servers."),
    field_shown_as<&CopyResult::to_host, direction>("direction", "", "Whether the copies go to or from the memory of the host."),
    field<&CopyResult::count>("count", "", "Copies that ended."),
    field<&CopyResult::bytes>("bytes", "B", "Size of all copies together."),
    field<&CopyResult::busy>("busy_us", "us", "Sum of the durations of all copies."),
    derived<copy_GBps>("bandwidth_GBps", "GB/s", "Bandwidth of a copy, on average."),
};
static_assert(all_declared<CopyResult>(copy_fields));

double traffic_GBps(const TrafficResult& traffic) { return traffic.GBps(); }
constexpr std::array traffic_fields = {
    field<&TrafficResult::streams>("streams", "", "Pairs of sender and receiver."),
    field<&TrafficResult::count>("count", "", "Flows that ended."),
    field<&TrafficResult::bytes>("bytes", "B", "Size of these flows together."),
    field<&TrafficResult::busy>("busy_us", "us", "Sum of the durations of these flows."),
    field<&TrafficResult::late>("late", "", "Of these flows those that began later than the period says, as the one before had not ended."),
    derived<traffic_GBps>("bandwidth_GBps", "GB/s", "Bandwidth of a flow, on average."),
};
static_assert(all_declared<TrafficResult>(traffic_fields));

constexpr std::array queue_fields = {
    field<&QueueSummary::link>("link", "", "The link whose queue it is, at the device that the link leaves."),
    field<&QueueSummary::priority>("priority", "", "Priority of its packets; the one after the fabric's last is the control class."),
    field<&QueueSummary::high_water>("high_water_bytes", "B", "The most bytes that waited in the queue."),
    field<&QueueSummary::marked>("marked", "", "Packets that the queue marked (ECN)."),
    field<&QueueSummary::dropped>("dropped", "", "Packets that were dropped because the buffer was full or the link had failed."),
    field<&QueueSummary::pauses>("pauses", "", "Times that priority flow control paused the queue."),
    field<&QueueSummary::paused>("paused_us", "us", "Time for which the queue was paused."),
};
static_assert(all_declared<QueueSummary>(queue_fields));

constexpr std::array packet_fields = {
    field<&PacketSummary::packets>("packets", "", "Data packets of schedules that were sent, retransmitted ones included."),
    field<&PacketSummary::resent>("resent", "", "Of these packets, those that were retransmitted."),
    field<&PacketSummary::marked>("marked", "", "Packets that met a queue above the threshold of ECN."),
    field<&PacketSummary::dropped>("dropped", "", "Packets that were dropped because a buffer was full or a link had failed."),
    field<&PacketSummary::lost>("lost", "", "Packets that links lost at random."),
    field<&PacketSummary::corrupted>("corrupted", "", "Packets that links corrupted at random."),
    field<&PacketSummary::pauses>("pauses", "", "Times that priority flow control paused a queue."),
    field<&PacketSummary::timeouts>("timeouts", "", "Timeouts after which senders retransmitted."),
    field<&PacketSummary::notifications>("notifications", "", "Congestion notifications (CNP) that receivers sent."),
    field<&PacketSummary::fullest_switch>("fullest_switch", "",
                                          "The switch whose shared buffer held most bytes; empty where none held any."),
    field<&PacketSummary::switch_high_water>("switch_high_water_bytes", "B", "The most bytes in the shared buffer of that switch."),
    field<&PacketSummary::queues_in_use>("queues_in_use", "", "Queues in which something waited, or was marked, dropped or paused."),
    field<&PacketSummary::queues>("longest_queues", "", "Of these queues the longest, the longest first."),
};
static_assert(all_declared<PacketSummary>(packet_fields));

constexpr std::array job_in_network_fields = {
    field<&InNetworkJobSummary::name>("job", "", "Name of the job."),
    field<&InNetworkJobSummary::servers>("servers", "", "Parameter servers of ATP."),
    field<&InNetworkJobSummary::slots>("slots", "", "Slots of SwitchML."),
    field<&InNetworkJobSummary::packets>("packets", "", "Packets that the message is divided into, in all iterations."),
    field<&InNetworkJobSummary::aggregated>("aggregated_share", "",
                                            "Share of these packets that switches aggregated fully; on \"flow\" as expected."),
    field<&InNetworkJobSummary::sent>("sent", "", "Gradient packets that workers sent."),
    field<&InNetworkJobSummary::resent>("resent", "", "Of these packets, those that were retransmitted."),
    field<&InNetworkJobSummary::timeouts>("timeouts", "", "Timeouts of workers."),
    field<&InNetworkJobSummary::marked>("marked", "", "Results that said that a gradient had met a queue (ECN)."),
    field<&InNetworkJobSummary::largest_window>("largest_window", "", "Largest window of a worker of ATP, in packets."),
};
static_assert(all_declared<InNetworkJobSummary>(job_in_network_fields));

constexpr std::array switch_in_network_fields = {
    field<&InNetworkSwitchSummary::name>("switch", "", "Name of the switch."),
    field<&InNetworkSwitchSummary::places>("places", "", "Aggregators of ATP, or slots of SwitchML, that the switch has."),
    field<&InNetworkSwitchSummary::most_in_use>("most_in_use", "", "The most of them that were in use at once."),
    field<&InNetworkSwitchSummary::packets>("packets", "", "Packets that the switch might have aggregated."),
    field<&InNetworkSwitchSummary::added>("added", "", "Packets that it did aggregate."),
    field<&InNetworkSwitchSummary::collided>("collided", "", "Packets whose aggregator another packet had."),
};
static_assert(all_declared<InNetworkSwitchSummary>(switch_in_network_fields));

constexpr std::array in_network_fields = {
    field<&InNetworkSummary::places>("places", "", "Aggregators of ATP, or slots of SwitchML, of each switch."),
    field<&InNetworkSummary::left_out>("left_out", "", "Of what happens in switches, what the network \"flow\" leaves out."),
    field<&InNetworkSummary::jobs>("jobs", "", "What switches did for each job."),
    field<&InNetworkSummary::switches>("switches", "", "What each switch did; nothing on \"flow\"."),
};
static_assert(all_declared<InNetworkSummary>(in_network_fields));

constexpr std::array faults_fields = {
    field<&FaultsResult::healthy>("healthy_us", "us", "Time of the same run without failures."),
    field<&FaultsResult::rerouted>("rerouted", "",
                                   "Routes between two endpoints that followed a failure or recovery, once for each change."),
    field<&FaultsResult::interrupted>("interrupted", "", "Messages that stood still on a failed link for a time."),
};
static_assert(all_declared<FaultsResult>(faults_fields));

using Count = std::optional<std::int64_t>;

std::int64_t sum_over(const std::optional<InNetworkSummary>& in_network, std::int64_t InNetworkJobSummary::*count) {
  std::int64_t sum = 0;
  if (in_network)
    for (const InNetworkJobSummary& job : in_network->jobs) sum += job.*count;
  return sum;
}

Count drops(const Row& row) { return row.packet ? Count(row.packet->dropped + row.packet->lost + row.packet->corrupted) : std::nullopt; }
Count marks(const Row& row) { return row.packet ? Count(row.packet->marked) : std::nullopt; }
Count retransmitted(const Row& row) {
  return row.packet ? Count(row.packet->resent + sum_over(row.in_network, &InNetworkJobSummary::resent)) : std::nullopt;
}
Count collisions(const Row& row) {
  if (!row.in_network || !row.packet) return std::nullopt;
  std::int64_t sum = 0;
  for (const InNetworkSwitchSummary& at : row.in_network->switches) sum += at.collided;
  return sum;
}
std::optional<double> aggregated(const Row& row) {
  return row.in_network ? std::optional(aggregated_share(*row.in_network)) : std::nullopt;
}
Count queue_max(const Row& row) {
  if (!row.packet) return std::nullopt;
  return row.packet->queues.empty() ? 0 : row.packet->queues.front().high_water.count;
}
std::optional<double> fairness_of(const Row& row) { return row.jobs.size() > 1 ? std::optional(fairness(row.jobs)) : std::nullopt; }

std::optional<double> slowdown_by_faults(const Row& row) {
  return row.faults ? std::optional(row.faults->slowdown(row.time)) : std::nullopt;
}

constexpr const void* compressed = &group_id<&Row::compressed>;
constexpr const void* training = &group_id<&Row::training>;
template <auto Member>
constexpr auto of_training(const char* name, const char* unit, const char* meaning) {
  return field_of_part<&Row::training, Member>(name, unit, meaning);
}

using R = Row;
using T = TrainingResult;
constexpr std::array row_head = {
    field<&R::scenario>("scenario", "", "Name of the scenario.").in(Shown::for_all),
    field<&R::fabric>("fabric", "", "Type of the fabric.").in(Shown::for_all),
    field<&R::network>("network", "", "The network model.").in(Shown::for_all),
};
constexpr std::array row_rest = {
    field<&R::busiest_link>("busiest_link", "",
                            "The link with the most bytes carried over capacity times time; empty if nothing was carried.")
        .in(Shown::for_all),
    field<&R::busiest_link_utilization>("busiest_link_utilization", "", "Bytes that this link carried over its capacity times the time.")
        .in(Shown::for_all),
    field<&R::wall_s>("wall_s", "s", "Wall-clock time of the simulation of this row.").in(Shown::for_all),
    field<&R::time_p05>("time_us_p05", "us", "5th percentile of the time over the runs; of a single run its time."),
    field<&R::time_p95>("time_us_p95", "us", "95th percentile of the time over the runs; of a single run its time."),
    field<&R::runs>("runs", "", "Runs that the row stands for.").in(Shown::for_all),
    blame<R>[0],
    blame<R>[1],
    of_training<&T::model>("model", "", "The model that is trained."),
    of_training<&T::engine>("engine", "", "The gradient engine, with the settings that differ from their defaults."),
    field_of_part<&R::compressed, &CompressionResult::compression>("compression", "", "The compression of gradients, with its settings."),
    of_training<&T::batch_per_gpu>("batch_per_gpu", "", "Samples that a GPU trains with in a step."),
    of_training<&T::compute>("compute_us", "us", "Time that a rank computes in a step, on average."),
    of_training<&T::exposed>("exposed_us", "us", "Time of a step in which nothing is computed."),
    of_training<&T::samples_per_s>("samples_per_s", "1/s", "Samples that all ranks train with in a second."),
    of_training<&T::scaling_efficiency>("scaling_efficiency", "", "Compute time of one GPU by itself divided by the time of a step."),
    derived<drops>("drops", "", "Packets dropped, lost or corrupted.").in(Shown::for_all),
    derived<marks>("marks", "", "Packets that ECN marked.").in(Shown::for_all),
    derived<retransmitted>("retransmitted", "", "Packets of schedules and of in-network all-reduces that were retransmitted.")
        .in(Shown::for_all),
    derived<collisions>("collisions", "", "Packets that found their aggregator taken.").in(Shown::for_all),
    derived<aggregated>("aggregated_share", "", "Share of the packets of in-network all-reduces that switches aggregated fully.")
        .in(Shown::for_all),
    derived<queue_max>("queue_max_bytes", "B", "The most bytes that waited in a queue.").in(Shown::for_all),
    field<&R::unproved>("unproved", "", "Which schedules were simulated without a proof, and why there is none; empty: all are proved.")
        .in(Shown::for_all),
    of_training<&T::stragglers>("stragglers_us", "us", "Time of a step that a rank waits for slower ones, in exposed_us.")
        .in(Shown::json_only),
    of_training<&T::negotiation>("negotiation_us", "us", "Time of a step that a rank waits for the engine's agreement, in exposed_us.")
        .in(Shown::json_only),
    of_training<&T::events>("events_us", "us", "Time of checkpoints, failures and growth for each step, in exposed_us.")
        .in(Shown::json_only),
    of_training<&T::merged>("merged_steps", "", "Whether steps of an all-reduce were simulated together.").in(Shown::json_only),
    field_of_part<&R::compressed, &CompressionResult::kernels>("compressing_us", "us",
                                                               "Time that the rank with most of it spends in the kernels of compression.")
        .in(Shown::json_only),
    field<&R::times>("times_us", "us", "Times of all runs, in their order, where the row stands for several.").in(Shown::json_only),
    derived<slowdown_by_faults>("slowdown_by_faults", "", "Time divided by that of the same run without failures.").in(Shown::json_only),
    field<&R::faults>("faults", "", "What failures of links and switches did, where there are any.").in(Shown::json_only),
    field<&R::chosen>("chosen", "", "What an algorithm that chooses another by the size (mpi, nccl, two_level) runs; empty of others.")
        .in(Shown::json_only),
    field<&R::op>("redop", "", "The operation that reduces elements.").in(Shown::json_only),
    field<&R::notes>(
        "notes", "",
        "How the workload's trace was spread to the ranks, what was taken for what it does not say, which NICs carry nothing, and that a "
        "gradient engine does not run the algorithm; lines.")
        .in(Shown::json_only),
    field<&R::most_shared_link>("most_shared_link", "", "The link of max_flows_per_link; empty if no flow crosses switches.")
        .in(Shown::json_only),
    field<&R::most_shared_step>("most_shared_step", "", "The first step that puts as many flows on it.").in(Shown::json_only),
    field<&R::bottleneck>("endpoint_GBps", "GB/s",
                          "Rate of the slowest endpoint, which bus bandwidth cannot pass; 0 where it is not known.")
        .in(Shown::json_only),
    field<&R::aggregates>("aggregates", "",
                          "Whether switches, of the network or of NVLink, or extra servers reduce, so that bus bandwidth may pass it.")
        .in(Shown::json_only),
    parts<R>,
    path<R>,
    field<&R::what_if>("what_if", "", "What the row takes with what limits it twice as fast, where --what-if asked for it.")
        .in(Shown::json_only),
    field<&R::copies>("copies", "", "Copies to and from host memory beside the workload, by GPU and direction.").in(Shown::json_only),
    field<&R::jobs>("jobs", "", "The jobs that share the network, the workload first.").in(Shown::json_only),
    derived<fairness_of>("fairness", "", "Jain's index of the speeds of the jobs, each relative to its own alone.").in(Shown::json_only),
    field<&R::traffic>("traffic", "", "Traffic beside the workload, by entry of the scenario.").in(Shown::json_only),
    field<&R::in_network>("in_network", "", "What switches did, where they take part.").in(Shown::json_only),
    field<&R::packet>("packet", "", "What packets met on the network \"packet\".").in(Shown::json_only),
};
constexpr std::array row_fields = joined(row_head, of_a_job<Row>, row_rest);
static_assert(all_declared<Row>(row_fields) && all_declared<TrainingResult>(row_fields, training) &&
              all_declared<CompressionResult>(row_fields, compressed));

}  // namespace

template <>
std::span<const ResultField<JobResult>> fields_of() {
  return job_fields;
}
template <>
std::span<const ResultField<Row>> fields_of() {
  return row_fields;
}
template <>
std::span<const ResultField<FaultsResult>> fields_of() {
  return faults_fields;
}
template <>
std::span<const ResultField<LimitingResource>> fields_of() {
  return limiting_fields;
}
template <>
std::span<const ResultField<CriticalPath>> fields_of() {
  return path_fields;
}
template <>
std::span<const ResultField<WhatIf>> fields_of() {
  return what_if_fields;
}
template <>
std::span<const ResultField<CopyResult>> fields_of() {
  return copy_fields;
}
template <>
std::span<const ResultField<TrafficResult>> fields_of() {
  return traffic_fields;
}
template <>
std::span<const ResultField<QueueSummary>> fields_of() {
  return queue_fields;
}
template <>
std::span<const ResultField<PacketSummary>> fields_of() {
  return packet_fields;
}
template <>
std::span<const ResultField<InNetworkJobSummary>> fields_of() {
  return job_in_network_fields;
}
template <>
std::span<const ResultField<InNetworkSwitchSummary>> fields_of() {
  return switch_in_network_fields;
}
template <>
std::span<const ResultField<InNetworkSummary>> fields_of() {
  return in_network_fields;
}

std::string to_text(const Row& row) { return Value<Row>::send(row).dump(); }

Row row_from_text(const std::string& text) {
  Row row;
  try {
    Value<Row>::receive(Json::parse(text), row);
  } catch (const Json::exception& error) {
    check(false, "a worker sent no row: {}", error.what());
  }
  return row;
}

}  // namespace weft
