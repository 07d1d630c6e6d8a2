#include "sim/results/row.hpp"

#include "sim/scenario/files.hpp"
#include "sim/scenario/scenario_fields.hpp"

namespace weft {

double algbw_GBps(const Row& row) {
  return row.time.ps > 0 ? static_cast<double>(row.size.count) * 1000.0 / static_cast<double>(row.time.ps) : 0.0;
}

double busbw_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::allreduce:
      return 2.0 * (n - 1.0) / n;
    case Collective::reduce_scatter:
    case Collective::allgather:
    case Collective::alltoall:
      return (n - 1.0) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::barrier:
      return 1.0;
  }
  return 1.0;
}

double busbw_GBps(const Row& row) { return row.program ? 0.0 : algbw_GBps(row) * busbw_factor(row.collective, row.ranks); }

Row row_of_job(const Row& row, const JobResult& job) {
  Row out = row;
  out.algorithm = job.algorithm;
  out.collective = job.collective;
  out.ranks = job.ranks;
  out.size = job.size;
  out.dtype = job.dtype;
  out.time = job.mean;
  out.wire_bytes_per_rank = job.wire_bytes_per_rank;
  out.messages = job.messages;
  out.steps = job.steps;
  out.max_flows_per_link = job.max_flows_per_link;
  return out;
}

double fairness(const std::vector<JobResult>& jobs) {
  double sum = 0, squares = 0;
  for (const JobResult& job : jobs) {
    const double speed = 1 / job.slowdown();
    sum += speed;
    squares += speed * speed;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(jobs.size()) * squares) : 1.0;
}

std::string too_fast(const Row& row) {
  constexpr double rounding = 1e-6;
  const double limit = row.bottleneck.bytes_per_second() / 1e9;
  if (limit <= 0.0 || row.aggregates || busbw_GBps(row) <= limit * (1.0 + rounding)) return "";
  return fmt::format("{} {} on {} ({} ranks): busbw {:.4f} GB/s passes the {:.4f} GB/s of the bottleneck link; this is a bug in the model",
                     row.algorithm, to_string(row.size), row.fabric, row.ranks, busbw_GBps(row), limit);
}

namespace {

// Of columns that do not apply to the row.
Json no_value(const Row&) { return {}; }

template <class T>
Json of_training(const Row& row, const T& value) {
  return row.model.empty() ? Json() : Json(value);
}

std::int64_t of_agents(const Row& row, std::int64_t JobInNetwork::*count) {
  std::int64_t sum = 0;
  if (row.in_network)
    for (const JobInNetwork& job : row.in_network->jobs) sum += job.*count;
  return sum;
}

std::int64_t collisions(const InNetworkSummary& summary) {
  std::int64_t sum = 0;
  for (const SwitchInNetwork& at : summary.switches) sum += at.collided;
  return sum;
}

// Of the packets of all jobs together.
double aggregated_share(const InNetworkSummary& summary) {
  double packets = 0, aggregated = 0;
  for (const JobInNetwork& job : summary.jobs) {
    packets += static_cast<double>(job.packets);
    aggregated += job.aggregated * static_cast<double>(job.packets);
  }
  return packets > 0 ? aggregated / packets : 1.0;
}

}  // namespace

const std::vector<Column>& columns() {
  static const std::vector<Column> all = {
      {"scenario", [](const Row& r) { return Json(r.scenario); }},
      {"fabric", [](const Row& r) { return Json(r.fabric); }},
      {"network", [](const Row& r) { return Json(name_of(r.network)); }},
      {"algorithm", [](const Row& r) { return Json(r.algorithm); }},
      {"collective", [](const Row& r) { return Json(r.program ? "program" : name_of(r.collective)); }},
      {"ranks", [](const Row& r) { return Json(r.ranks); }},
      {"size_bytes", [](const Row& r) { return Json(r.size.count); }},
      {"dtype", [](const Row& r) { return Json(name_of(r.dtype)); }},
      {"time_us", [](const Row& r) { return Json(static_cast<double>(r.time.ps) / 1e6); }},
      {"algbw_GBps", [](const Row& r) { return Json(algbw_GBps(r)); }},
      {"busbw_GBps", [](const Row& r) { return r.program ? Json() : Json(busbw_GBps(r)); }},
      {"wire_bytes_per_rank", [](const Row& r) { return Json(r.wire_bytes_per_rank.count); }},
      {"messages", [](const Row& r) { return Json(r.messages); }},
      {"steps", [](const Row& r) { return Json(r.steps); }},
      {"max_flows_per_link", [](const Row& r) { return Json(r.max_flows_per_link); }},
      {"busiest_link", [](const Row& r) { return Json(r.busiest_link); }},
      {"busiest_link_utilization", [](const Row& r) { return Json(r.busiest_link_utilization); }},
      {"wall_s", [](const Row& r) { return Json(r.wall_s); }},
      {"time_us_p05", no_value},
      {"time_us_p95", no_value},
      {"runs", [](const Row&) { return Json(1); }},
      {"limiting_link", no_value},
      {"limiting_share", no_value},
      {"model", [](const Row& r) { return of_training(r, r.model); }},
      {"engine", [](const Row& r) { return of_training(r, r.engine); }},
      {"compression", no_value},
      {"batch_per_gpu", [](const Row& r) { return of_training(r, r.batch_per_gpu); }},
      {"compute_us", [](const Row& r) { return of_training(r, r.compute.microseconds()); }},
      {"exposed_us", [](const Row& r) { return of_training(r, r.exposed.microseconds()); }},
      {"samples_per_s", [](const Row& r) { return of_training(r, r.samples_per_s); }},
      {"scaling_efficiency", [](const Row& r) { return of_training(r, r.scaling_efficiency); }},
      {"drops", [](const Row& r) { return r.packet ? Json(r.packet->dropped + r.packet->lost + r.packet->corrupted) : Json(); }},
      {"marks", [](const Row& r) { return r.packet ? Json(r.packet->marked) : Json(); }},
      {"retransmitted", [](const Row& r) { return r.packet ? Json(r.packet->resent + of_agents(r, &JobInNetwork::resent)) : Json(); }},
      {"collisions", [](const Row& r) { return r.in_network && r.packet ? Json(collisions(*r.in_network)) : Json(); }},
      {"aggregated_share", [](const Row& r) { return r.in_network ? Json(aggregated_share(*r.in_network)) : Json(); }},
      {"queue_max_bytes",
       [](const Row& r) {
         if (!r.packet) return Json();
         return Json(r.packet->queues.empty() ? 0 : r.packet->queues.front().high_water.count);
       }},
  };
  return all;
}

const std::vector<JobColumn>& job_columns() {
  const auto us = [](SimTime t) { return Json(static_cast<double>(t.ps) / 1e6); };
  static const std::vector<JobColumn> all = {
      {"job", [](const JobResult& j) { return Json(j.name); }},
      {"start_us", [us](const JobResult& j) { return us(j.start); }},
      {"iterations", [](const JobResult& j) { return Json(j.iterations); }},
      {"least_us", [us](const JobResult& j) { return us(j.least); }},
      {"most_us", [us](const JobResult& j) { return us(j.most); }},
      {"alone_us", [us](const JobResult& j) { return us(j.alone); }},
      {"slowdown", [](const JobResult& j) { return Json(j.slowdown()); }},
  };
  return all;
}

template <>
struct Declared<JobResult> {
  static Declaration<JobResult> declaration() {
    using J = JobResult;
    return {.doc = "A job on its way from a worker.",
            .fields = {required("name", &J::name, ""), required("algorithm", &J::algorithm, ""), required("collective", &J::collective, ""),
                       required("ranks", &J::ranks, ""), required("size", &J::size, ""), required("dtype", &J::dtype, ""),
                       required("start", &J::start, ""), required("iterations", &J::iterations, ""), required("mean", &J::mean, ""),
                       required("least", &J::least, ""), required("most", &J::most, ""), required("alone", &J::alone, ""),
                       required("wire_bytes", &J::wire_bytes_per_rank, ""), required("messages", &J::messages, ""),
                       required("steps", &J::steps, ""), required("max_flows", &J::max_flows_per_link, "")}};
  }
};

template <>
struct Declared<TrafficResult> {
  static Declaration<TrafficResult> declaration() {
    using T = TrafficResult;
    return {.doc = "Traffic on its way from a worker.",
            .fields = {required("streams", &T::streams, ""), required("count", &T::count, ""), required("bytes", &T::bytes, ""),
                       required("busy", &T::busy, "")}};
  }
};

template <>
struct Declared<QueueSummary> {
  static Declaration<QueueSummary> declaration() {
    using Q = QueueSummary;
    return {.doc = "A queue on its way from a worker.",
            .fields = {required("link", &Q::link, ""), required("priority", &Q::priority, ""), required("high_water", &Q::high_water, ""),
                       required("marked", &Q::marked, ""), required("dropped", &Q::dropped, ""), required("pauses", &Q::pauses, ""),
                       required("paused", &Q::paused, "")}};
  }
};

template <>
struct Declared<PacketSummary> {
  static Declaration<PacketSummary> declaration() {
    using P = PacketSummary;
    return {.doc = "What packets met, on its way from a worker.",
            .fields = {required("packets", &P::packets, ""), required("resent", &P::resent, ""), required("marked", &P::marked, ""),
                       required("dropped", &P::dropped, ""), required("lost", &P::lost, ""), required("corrupted", &P::corrupted, ""),
                       required("pauses", &P::pauses, ""), required("timeouts", &P::timeouts, ""),
                       required("notifications", &P::notifications, ""), required("fullest_switch", &P::fullest_switch, ""),
                       required("switch_high_water", &P::switch_high_water, ""), required("queues_in_use", &P::queues_in_use, ""),
                       required("queues", &P::queues, "")}};
  }
};

template <>
struct Declared<JobInNetwork> {
  static Declaration<JobInNetwork> declaration() {
    using J = JobInNetwork;
    return {.doc = "What switches did for a job, on its way from a worker.",
            .fields = {required("name", &J::name, ""), required("servers", &J::servers, ""), required("slots", &J::slots, ""),
                       required("packets", &J::packets, ""), required("aggregated", &J::aggregated, ""), required("sent", &J::sent, ""),
                       required("resent", &J::resent, ""), required("timeouts", &J::timeouts, ""), required("marked", &J::marked, ""),
                       required("largest_window", &J::largest_window, "")}};
  }
};

template <>
struct Declared<SwitchInNetwork> {
  static Declaration<SwitchInNetwork> declaration() {
    using S = SwitchInNetwork;
    return {.doc = "What a switch did, on its way from a worker.",
            .fields = {required("name", &S::name, ""), required("places", &S::places, ""), required("most_in_use", &S::most_in_use, ""),
                       required("packets", &S::packets, ""), required("added", &S::added, ""), required("collided", &S::collided, "")}};
  }
};

template <>
struct Declared<InNetworkSummary> {
  static Declaration<InNetworkSummary> declaration() {
    using S = InNetworkSummary;
    return {.doc = "What switches did, on its way from a worker.",
            .fields = {required("jobs", &S::jobs, ""), required("switches", &S::switches, ""), required("places", &S::places, ""),
                       required("left_out", &S::left_out, "")}};
  }
};

template <>
struct Declared<CopyResult> {
  static Declaration<CopyResult> declaration() {
    using C = CopyResult;
    return {.doc = "Copies on their way from a worker.",
            .fields = {required("gpu", &C::gpu, ""), required("to_host", &C::to_host, ""), required("count", &C::count, ""),
                       required("bytes", &C::bytes, ""), required("busy", &C::busy, "")}};
  }
};

template <>
struct Declared<Row> {
  static Declaration<Row> declaration() {
    using R = Row;
    return {.doc = "A row on its way from a worker.",
            .fields = {required("scenario", &R::scenario, ""),
                       required("fabric", &R::fabric, ""),
                       required("network", &R::network, ""),
                       required("algorithm", &R::algorithm, ""),
                       required("collective", &R::collective, ""),
                       required("program", &R::program, ""),
                       required("ranks", &R::ranks, ""),
                       required("size", &R::size, ""),
                       required("dtype", &R::dtype, ""),
                       required("op", &R::op, ""),
                       required("root", &R::root, ""),
                       required("time", &R::time, ""),
                       required("wire_bytes", &R::wire_bytes_per_rank, ""),
                       required("messages", &R::messages, ""),
                       required("steps", &R::steps, ""),
                       required("max_flows", &R::max_flows_per_link, ""),
                       required("most_shared_link", &R::most_shared_link, ""),
                       required("most_shared_step", &R::most_shared_step, ""),
                       required("busiest_link", &R::busiest_link, ""),
                       required("utilization", &R::busiest_link_utilization, ""),
                       required("wall_s", &R::wall_s, ""),
                       required("bottleneck", &R::bottleneck, ""),
                       required("aggregates", &R::aggregates, ""),
                       required("copies", &R::copies, ""),
                       required("jobs", &R::jobs, ""),
                       required("traffic", &R::traffic, ""),
                       optional("in_network", &R::in_network, ""),
                       optional("packet", &R::packet, ""),
                       optional("model", &R::model, ""),
                       optional("engine", &R::engine, ""),
                       optional("batch_per_gpu", &R::batch_per_gpu, ""),
                       optional("compute", &R::compute, ""),
                       optional("exposed", &R::exposed, ""),
                       optional("stragglers", &R::stragglers, ""),
                       optional("negotiation", &R::negotiation, ""),
                       optional("events", &R::events, ""),
                       optional("merged", &R::merged, ""),
                       optional("samples_per_s", &R::samples_per_s, ""),
                       optional("scaling_efficiency", &R::scaling_efficiency, "")}};
  }
};

std::string to_text(const Row& row) { return Form<Row>::write(row).dump(); }

Row row_from_text(const std::string& text) {
  Input in;
  Row row;
  Form<Row>::read(parse_json(text, in.problems), Place{}, in, row);
  check(in.problems.empty(), "a worker sent no row: {}", fmt::join(lines_of("row", in.problems), "; "));
  return row;
}

}  // namespace weft
