#include "validation/replay/plan.hpp"

#include "sim/scenario/algorithms.hpp"
#include "validation/fit/algorithm_measured.hpp"

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
  std::int64_t element_bytes = 1 << 20;
  int channels = 1;
  for (const TraceOperation& o : run.operations) {
    element_bytes = unit_of(o.bytes, element_bytes);
    channels = std::max(channels, o.channel + 1);
  }
  std::vector<int> steps(static_cast<std::size_t>(channels));
  for (const TraceOperation& o : run.operations) {
    int& count = steps[static_cast<std::size_t>(o.channel)];
    count = std::max(count, o.step + 1);
  }

  const auto ranks = static_cast<std::size_t>(trace.with_servers());
  std::map<std::pair<int, int>, std::size_t> operation_of;  // channel, step
  std::vector<int> channel_of;
  for (int channel = 0; channel < channels; ++channel)
    for (int step = 0; step < steps[static_cast<std::size_t>(channel)]; ++step) {
      operation_of[{channel, step}] = plan.operations.size();
      const std::string name = channels > 1 ? fmt::format("channel {}, step {}", channel, step) : fmt::format("step {}", step);
      plan.operations.push_back({.name = name, .measured = std::vector<std::optional<Interval>>(ranks)});
      channel_of.push_back(channel);
    }
  std::vector<std::vector<Transfer>> transfers(plan.operations.size());

  std::map<std::pair<std::size_t, int>, std::int64_t> sent_by;
  std::int64_t most = 1;
  for (const TraceOperation* send : messages.sends) {
    const std::size_t operation = operation_of[{send->channel, send->step}];
    const auto receive = messages.receives.at({send->channel, send->step, send->rank, send->peer, send->message});
    const bool reduces = receive->op == "receive_reduce" || messages.reduces.contains({send->channel, send->step, send->peer});
    const std::int64_t units = send->bytes / element_bytes;
    most = std::max(most, units);
    if (most > std::numeric_limits<int>::max())
      throw InputError(fmt::format("{}: a message of {} units of {} bytes is too long", trace.file, most, element_bytes));
    const Transfer transfer{
        .from = send->rank, .to = send->peer, .chunk = 0, .count = static_cast<int>(units), .into = 0, .reduces = reduces};
    transfers[operation].push_back(transfer);
    std::int64_t& sum = sent_by[{operation, send->rank}];
    sum += send->bytes;
    plan.operations[operation].bytes = std::max(plan.operations[operation].bytes, sum);
  }

  std::vector<SimTime> start(ranks, SimTime::never());
  for (const TraceOperation& o : run.operations) {
    const Interval interval{from_us(o.start_us - zero), from_us(o.end_us - zero)};
    auto& measured = plan.operations[operation_of[{o.channel, o.step}]].measured[static_cast<std::size_t>(o.rank)];
    measured = joined(measured, interval);
    SimTime& first = start[static_cast<std::size_t>(o.rank)];
    first = std::min(first, interval.start);
  }
  plan.program.ranks = trace.with_servers();
  for (std::vector<Transfer>& of_step : transfers) {
    auto schedule = std::make_shared<Schedule>(
        Schedule{.name = plan.name, .collective = Collective::broadcast, .ranks = trace.with_servers(), .chunks = static_cast<int>(most)});
    schedule->add_step().mutable_transfers() = std::move(of_step);
    plan.program.add_call({.schedule = std::move(schedule), .elements = most, .element_bytes = element_bytes});
  }
  for (const SimTime first : start) {  // each channel is a stream, from the rank's first message on
    std::vector<Operation> own = {{.id = "start", .duration = first == SimTime::never() ? SimTime{} : first, .stream = -1}};
    for (std::size_t i = 0; i < plan.operations.size(); ++i)
      own.push_back({.id = plan.operations[i].name, .call = static_cast<int>(i), .stream = channel_of[i], .after = {0}});
    plan.program.operations.push_back(std::move(own));
  }
  return plan;
}

// ---- Collectives.

// What all ranks did together, and when each did.
struct TracedCall {
  const TraceOperation* first = nullptr;
  std::vector<const TraceOperation*> by_rank;
};

std::vector<TracedCall> calls_of(const Trace& trace, const TraceRun& run) {
  std::vector<std::vector<const TraceOperation*>> by_rank(static_cast<std::size_t>(trace.ranks));
  for (const TraceOperation& o : run.operations) {
    if (!collective_named(o.op))
      throw InputError(fmt::format("{}:{}: a run holds either messages or collectives, not both", trace.file, o.line));
    if (o.rank >= trace.ranks)
      throw InputError(fmt::format("{}:{}: rank {} is a server, which takes part in collectives unasked", trace.file, o.line, o.rank));
    by_rank[static_cast<std::size_t>(o.rank)].push_back(&o);
  }
  std::vector<TracedCall> calls(by_rank.front().size());
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
      calls[i].by_rank.push_back(own[i]);
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return calls;
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
  if (!trace.inner.empty()) request.settings.inner = trace.inner;
  if (!trace.up.empty()) request.settings.up = trace.up;
  if (!trace.down.empty()) request.settings.down = trace.down;
  if (trace.servers > 0) request.settings.servers = trace.servers;
  if (trace.extra_servers > 0) request.settings.server_hosts = ServerHosts::extra;
  Schedule schedule = build(request);
  if (schedule.channels.size() > 1)
    throw InputError(fmt::format("{}:{}: {} has {} channels; collectives of one channel can be replayed", trace.file, o.line,
                                 label(*algorithm), schedule.channels.size()));
  return schedule;
}

// A stream for each call, such that no two on one stream overlapped on any rank.
std::vector<int> streams_of(const std::vector<TracedCall>& calls) {
  std::vector<int> out;
  std::vector<std::vector<double>> busy;  // by stream and rank: until when
  for (const TracedCall& call : calls) {
    const auto fits = [&](const std::vector<double>& until) {
      for (std::size_t r = 0; r < until.size(); ++r)
        if (call.by_rank[r]->start_us < until[r]) return false;
      return true;
    };
    auto stream = std::ranges::find_if(busy, fits);
    if (stream == busy.end()) stream = busy.emplace(busy.end(), call.by_rank.size(), -std::numeric_limits<double>::infinity());
    for (std::size_t r = 0; r < call.by_rank.size(); ++r) (*stream)[r] = call.by_rank[r]->end_us;
    out.push_back(static_cast<int>(stream - busy.begin()));
  }
  return out;
}

// What a rank did, as the trace's rank `traced` did it: before each call, what it computed since the last call that it had ended.
std::vector<Operation> operations_of(const std::vector<TracedCall>& calls, std::size_t traced, const std::vector<int>& streams,
                                     double zero) {
  std::vector<Operation> out;
  std::vector<int> index;  // by call, in `out`
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const TraceOperation& own = *calls[i].by_rank[traced];
    double since = zero;
    std::vector<int> after;
    for (std::size_t k = 0; k < i; ++k)
      if (const double end = calls[k].by_rank[traced]->end_us; end <= own.start_us && (after.empty() || end >= since))
        since = end, after = {index[k]};
    // Each computation has a stream to itself, out of the way of the calls'.
    out.push_back({.id = "compute", .duration = from_us(own.start_us - since), .stream = -1 - static_cast<int>(i), .after = after});
    index.push_back(static_cast<int>(out.size()));
    out.push_back({.id = own.op, .call = static_cast<int>(i), .stream = streams[i], .after = {index.back() - 1}});
  }
  return out;
}

ReplayPlan plan_calls(const Trace& trace, const TraceRun& run, const Scenario& scenario, const ReplayChoices& choices) {
  const std::vector<TracedCall> calls = calls_of(trace, run);
  const int ranks = choices.ranks > 0 ? choices.ranks : trace.ranks;
  const double zero = first_start(run);
  const auto element_bytes = static_cast<std::int64_t>(size_of(scenario.workload.dtype));
  ReplayPlan plan{.name = "collectives"};
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Schedule>> schedules;  // by collective and algorithm
  for (const TracedCall& call : calls) {
    const TraceOperation& o = *call.first;
    auto& schedule = schedules[{o.op, o.algorithm}];
    if (!schedule) schedule = std::make_shared<Schedule>(schedule_of(o, trace, scenario, ranks, choices));
    plan.program.ranks = std::max(plan.program.ranks, schedule->ranks);
    plan.program.add_call({.name = o.op, .schedule = schedule, .elements = o.bytes / element_bytes, .element_bytes = element_bytes});
    ReplayOperation operation{.name = o.algorithm.empty() ? o.op : fmt::format("{}, {}", o.op, o.algorithm), .bytes = o.bytes};
    for (const TraceOperation* own : call.by_rank)
      if (ranks == trace.ranks) operation.measured.push_back(Interval{from_us(own->start_us - zero), from_us(own->end_us - zero)});
    plan.operations.push_back(std::move(operation));
  }
  const std::vector<int> streams = streams_of(calls);
  for (int r = 0; r < ranks; ++r)
    plan.program.operations.push_back(operations_of(calls, static_cast<std::size_t>(r % trace.ranks), streams, zero));
  for (int r = ranks; r < plan.program.ranks; ++r) {  // servers were not measured, and are ready when they are wanted
    auto& own = plan.program.operations.emplace_back();
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (r < plan.program.calls[i].schedule->ranks)
        own.push_back({.id = calls[i].first->op, .call = static_cast<int>(i), .stream = streams[i]});
  }
  for (Call& call : plan.program.calls)
    for (Rank r = 0; call.schedule->ranks < plan.program.ranks && r < call.schedule->ranks; ++r) call.members.push_back(r);
  for (ReplayOperation& operation : plan.operations) operation.measured.resize(static_cast<std::size_t>(plan.program.ranks));
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
