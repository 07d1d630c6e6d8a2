#include "validation/replay/plan.hpp"

#include "sim/scenario/algorithms.hpp"
#include "validation/fit/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <tuple>

namespace weft {
namespace {

SimTime from_us(double us) { return {std::llround(us * 1e6)}; }

double first_start(const TraceRun& run) {
  double first = std::numeric_limits<double>::infinity();
  for (const TraceOperation& o : run.operations) first = std::min(first, o.start_us);
  return first;
}

// Messages are counted in units that every one of them is a multiple of, so that counts stay small.
std::int64_t unit_of(std::int64_t bytes, std::int64_t so_far) {
  while (so_far > 1 && bytes % so_far != 0) so_far /= 2;
  return so_far;
}

Interval joined(const std::optional<Interval>& a, const Interval& b) {
  return a ? Interval{std::min(a->start, b.start), std::max(a->end, b.end)} : b;
}

// ---- Messages of the steps of one schedule.

// Where the receiver says what it did with a message.
using MessageKey = std::tuple<int, int, int, int, int>;  // channel, step, from, to, message

struct Messages {
  std::vector<const TraceOperation*> sends;
  std::map<MessageKey, const TraceOperation*> receives;
  std::map<std::tuple<int, int, int>, bool> reduces;  // channel, step, rank: does it reduce apart from receiving?
};

Messages sort_messages(const Trace& trace, const TraceRun& run) {
  Messages out;
  std::vector<std::string> problems;
  std::map<MessageKey, const TraceOperation*> sent;
  for (const TraceOperation& o : run.operations) {
    if (o.op == "send") {
      sent[{o.channel, o.step, o.rank, o.peer, o.message}] = &o;
      out.sends.push_back(&o);
    } else if (o.op == "reduce") {
      out.reduces[{o.channel, o.step, o.rank}] = true;
    } else if (o.op == "receive" || o.op == "receive_reduce") {
      out.receives[{o.channel, o.step, o.peer, o.rank, o.message}] = &o;
    } else {
      problems.push_back(fmt::format("{}:{}: a run holds either messages or collectives, not both", trace.file, o.line));
    }
  }
  for (const auto& [key, send] : sent) {
    const auto receive = out.receives.find(key);
    if (receive == out.receives.end())
      problems.push_back(fmt::format("{}:{}: rank {} sends to rank {} in step {}, which does not receive it", trace.file, send->line,
                                     send->rank, send->peer, send->step));
    else if (receive->second->bytes != send->bytes)
      problems.push_back(fmt::format("{}:{}: {} bytes are sent, but {} received (line {})", trace.file, send->line, send->bytes,
                                     receive->second->bytes, receive->second->line));
  }
  for (const auto& [key, receive] : out.receives)
    if (!sent.contains(key))
      problems.push_back(fmt::format("{}:{}: rank {} receives from rank {} in step {}, which does not send it", trace.file, receive->line,
                                     receive->rank, receive->peer, receive->step));
  if (!problems.empty()) throw InputError(std::move(problems));
  return out;
}

ReplayPlan plan_messages(const Trace& trace, const TraceRun& run) {
  const Messages messages = sort_messages(trace, run);
  const double zero = first_start(run);
  ReplayPlan plan{.name = run.algorithm.empty() ? "messages" : run.algorithm};
  plan.element_bytes = 1 << 20;
  int channels = 1;
  for (const TraceOperation& o : run.operations) {
    plan.element_bytes = unit_of(o.bytes, plan.element_bytes);
    channels = std::max(channels, o.channel + 1);
  }
  std::vector<int> steps(static_cast<std::size_t>(channels));
  for (const TraceOperation& o : run.operations) {
    int& count = steps[static_cast<std::size_t>(o.channel)];
    count = std::max(count, o.step + 1);
  }

  plan.schedule = {.name = plan.name, .collective = Collective::broadcast, .ranks = trace.with_servers()};
  plan.schedule.channels.resize(static_cast<std::size_t>(channels));
  std::map<std::pair<int, int>, std::size_t> operation_of;  // channel, step
  for (int channel = 0; channel < channels; ++channel)
    for (int step = 0; step < steps[static_cast<std::size_t>(channel)]; ++step) {
      operation_of[{channel, step}] = plan.operations.size();
      const std::string name = channels > 1 ? fmt::format("channel {}, step {}", channel, step) : fmt::format("step {}", step);
      plan.operations.push_back({.name = name,
                                 .channel = channel,
                                 .first_step = step,
                                 .measured = std::vector<std::optional<Interval>>(static_cast<std::size_t>(trace.with_servers()))});
    }
  std::vector<Step> held(plan.operations.size());

  std::map<std::pair<std::size_t, int>, std::int64_t> sent_by;
  std::int64_t most = 1;
  for (const TraceOperation* send : messages.sends) {
    const std::size_t operation = operation_of[{send->channel, send->step}];
    const auto receive = messages.receives.at({send->channel, send->step, send->rank, send->peer, send->message});
    const bool reduces = receive->op == "receive_reduce" || messages.reduces.contains({send->channel, send->step, send->peer});
    const std::int64_t units = send->bytes / plan.element_bytes;
    most = std::max(most, units);
    const Transfer transfer{.from = send->rank, .to = send->peer, .chunk = 0, .count = static_cast<int>(units)};
    if (reduces)
      held[operation].reduce(transfer);
    else
      held[operation].copy(transfer);
    std::int64_t& sum = sent_by[{operation, send->rank}];
    if (sum > INT64_MAX / 2 - send->bytes)
      throw InputError(
          fmt::format("{}:{}: rank {} sends more than {} bytes in step {}", trace.file, send->line, send->rank, INT64_MAX / 2, send->step));
    sum += send->bytes;
    plan.operations[operation].bytes = std::max(plan.operations[operation].bytes, sum);
  }
  if (most > std::numeric_limits<int>::max())
    throw InputError(fmt::format("{}: a message of {} units of {} bytes is too long", trace.file, most, plan.element_bytes));
  plan.schedule.chunks = static_cast<int>(most);
  plan.elements = most;
  for (int channel = 0; channel < channels; ++channel) {
    auto own = std::make_shared<std::vector<Step>>();
    for (std::size_t i = 0; i < plan.operations.size(); ++i)
      if (plan.operations[i].channel == channel) own->push_back(std::move(held[i]));
    plan.schedule.channels[static_cast<std::size_t>(channel)] =
        Steps(static_cast<int>(own->size()), [own](int step, Step& out) { out = (*own)[static_cast<std::size_t>(step)]; });
  }

  plan.start.assign(static_cast<std::size_t>(trace.with_servers()), SimTime::never());
  for (const TraceOperation& o : run.operations) {
    const Interval interval{from_us(o.start_us - zero), from_us(o.end_us - zero)};
    auto& measured = plan.operations[operation_of[{o.channel, o.step}]].measured[static_cast<std::size_t>(o.rank)];
    measured = joined(measured, interval);
    SimTime& start = plan.start[static_cast<std::size_t>(o.rank)];
    start = std::min(start, interval.start);
  }
  for (SimTime& start : plan.start)
    if (start == SimTime::never()) start = {};
  return plan;
}

// ---- Collectives, one after the other.

// What all ranks did together, and when each did.
struct Call {
  const TraceOperation* first = nullptr;
  std::vector<const TraceOperation*> by_rank;
};

std::vector<Call> calls_of(const Trace& trace, const TraceRun& run) {
  std::vector<std::vector<const TraceOperation*>> by_rank(static_cast<std::size_t>(trace.ranks));
  for (const TraceOperation& o : run.operations) {
    if (!collective_named(o.op))
      throw InputError(fmt::format("{}:{}: a run holds either messages or collectives, not both", trace.file, o.line));
    if (o.rank >= trace.ranks)
      throw InputError(fmt::format("{}:{}: rank {} is a server, which takes part in collectives unasked", trace.file, o.line, o.rank));
    by_rank[static_cast<std::size_t>(o.rank)].push_back(&o);
  }
  std::vector<Call> calls(by_rank.front().size());
  std::vector<std::string> problems;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    auto& own = by_rank[rank];
    std::ranges::stable_sort(own, {}, &TraceOperation::start_us);
    if (own.size() != calls.size())
      throw InputError(fmt::format("{}: rank 0 takes part in {} collectives, rank {} in {}", trace.file, calls.size(), rank, own.size()));
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (rank == 0) calls[i].first = own[i];
      const TraceOperation& first = *calls[i].first;
      if (own[i]->op != first.op || own[i]->bytes != first.bytes || own[i]->algorithm != first.algorithm)
        problems.push_back(fmt::format("{}:{}: collective {} of rank {} is {} of {} bytes, rank 0's is {} of {} (line {})", trace.file,
                                       own[i]->line, i, rank, own[i]->op, own[i]->bytes, first.op, first.bytes, first.line));
      if (i > 0 && own[i]->start_us < own[i - 1]->end_us)
        problems.push_back(
            fmt::format("{}:{}: starts before the collective before it has ended (line {}); overlapping collectives cannot be replayed",
                        trace.file, own[i]->line, own[i - 1]->line));
      calls[i].by_rank.push_back(own[i]);
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return calls;
}

// The steps of one collective among those of all, its chunks turned into units.
struct Part {
  Schedule schedule;
  ChunkLayout layout;
  int first_step = 0;
};

void append_units(const Part& part, int step, Step& out) {
  thread_local Step own;
  part.schedule.channels.front().produce(step - part.first_step, own);
  for (const Transfer& t : own.transfers()) {
    const Transfer units{.from = t.from, .to = t.to, .chunk = 0, .count = static_cast<int>(part.layout.size(t.chunk, t.count))};
    if (t.reduces)
      out.reduce(units);
    else
      out.copy(units);
  }
}

Schedule schedule_of(const TraceOperation& o, const Trace& trace, const Scenario& scenario, int ranks, const ReplayChoices& choices) {
  const Measurement named{.source = {}, .system = {}, .collective = o.op, .algorithm = o.algorithm};
  const auto algorithm = algorithm_measured(named, choices.renames, scenario.workload.algorithms);
  if (!algorithm)
    throw InputError(
        fmt::format("{}:{}: {} \"{}\" is no algorithm of Weft's; name one with --rename", trace.file, o.line, o.op, o.algorithm));
  Scenario asked = scenario;
  asked.workload.collective = *collective_named(o.op);
  asked.workload.ranks = ranks;
  asked.workload.root = trace.root;
  Request request = request_of(asked, *algorithm);
  request.settings.group = std::max(request.settings.group, trace.group);
  if (trace.servers > 0) request.settings.servers = trace.servers;
  if (trace.extra_servers > 0) request.settings.server_hosts = ServerHosts::extra;
  Schedule schedule = build(request);
  if (schedule.channels.size() > 1)
    throw InputError(fmt::format("{}:{}: {} has {} channels; collectives of one channel can be replayed", trace.file, o.line,
                                 label(*algorithm), schedule.channels.size()));
  return schedule;
}

ReplayPlan plan_calls(const Trace& trace, const TraceRun& run, const Scenario& scenario, const ReplayChoices& choices) {
  const std::vector<Call> calls = calls_of(trace, run);
  const int ranks = choices.ranks > 0 ? choices.ranks : trace.ranks;
  const double zero = first_start(run);
  ReplayPlan plan{.name = "collectives"};
  plan.element_bytes = static_cast<std::int64_t>(size_of(scenario.workload.dtype));
  const auto parts = std::make_shared<std::vector<Part>>();
  int steps = 0, with_servers = ranks;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const TraceOperation& o = *calls[i].first;
    Schedule schedule = schedule_of(o, trace, scenario, ranks, choices);
    ReplayOperation operation{.name = o.algorithm.empty() ? o.op : fmt::format("{}, {}", o.op, o.algorithm),
                              .bytes = o.bytes,
                              .first_step = steps,
                              .steps = schedule.steps()};
    for (int r = 0; r < ranks; ++r) {
      const auto traced = static_cast<std::size_t>(r % trace.ranks);
      const TraceOperation& own = *calls[i].by_rank[traced];
      const double before = i > 0 ? calls[i - 1].by_rank[traced]->end_us : own.start_us;
      operation.compute_before.push_back(from_us(own.start_us - before));
      operation.measured.push_back(ranks == trace.ranks ? std::optional(Interval{from_us(own.start_us - zero), from_us(own.end_us - zero)})
                                                        : std::nullopt);
      if (i == 0) plan.start.push_back(from_us(own.start_us - zero));
    }
    plan.operations.push_back(std::move(operation));
    const ChunkLayout layout{o.bytes / plan.element_bytes, schedule.chunks};
    plan.elements = std::max(plan.elements, layout.elements);
    with_servers = std::max(with_servers, schedule.ranks);
    parts->push_back({std::move(schedule), layout, steps});
    steps += parts->back().schedule.steps();
  }
  if (plan.elements > std::numeric_limits<int>::max())
    throw InputError(fmt::format("{}: a message of {} elements is too long", trace.file, plan.elements));
  plan.elements = std::max<std::int64_t>(1, plan.elements);
  plan.schedule = {
      .name = plan.name, .collective = Collective::broadcast, .ranks = with_servers, .chunks = static_cast<int>(plan.elements)};
  for (ReplayOperation& operation : plan.operations) {  // servers were not measured, and are ready when they are wanted
    operation.compute_before.resize(static_cast<std::size_t>(with_servers));
    operation.measured.resize(static_cast<std::size_t>(with_servers));
  }
  plan.start.resize(static_cast<std::size_t>(with_servers));
  plan.schedule.channels.front() = Steps(steps, [parts](int step, Step& out) {
    const auto after = std::ranges::upper_bound(*parts, step, {}, &Part::first_step);
    append_units(*(after - 1), step, out);
  });
  return plan;
}

// The collective that a run of messages was, for other numbers of ranks.
TraceRun as_collective(const Trace& trace, const TraceRun& run) {
  if (trace.collective.empty() || run.algorithm.empty())
    throw InputError(fmt::format("{}: for other ranks the trace must say which collective and algorithm it is of", trace.file));
  TraceRun out{.algorithm = run.algorithm, .size_bytes = run.size_bytes, .line = run.line};
  for (int rank = 0; rank < trace.ranks; ++rank)
    out.operations.push_back(
        {.rank = rank, .op = trace.collective, .peer = rank, .bytes = run.size_bytes, .algorithm = run.algorithm, .line = run.line});
  return out;
}

}  // namespace

ReplayPlan plan_replay(const Trace& trace, const TraceRun& run, const Scenario& scenario, const ReplayChoices& choices) {
  check(!run.operations.empty(), "a run without operations");
  if (collective_named(run.operations.front().op)) return plan_calls(trace, run, scenario, choices);
  if (choices.ranks == 0 || choices.ranks == trace.ranks) return plan_messages(trace, run);
  return plan_calls(trace, as_collective(trace, run), scenario, choices);
}

}  // namespace weft
