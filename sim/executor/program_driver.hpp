// A job on a shared network: a program (models/program.hpp), run once or several times. Operations begin as what they wait
// for ends, each call in an executor of its own; all of them share the job's lane.
#pragma once

#include "kernels/base/beyond_time.hpp"
#include "models/program.hpp"
#include "sim/executor/event_executor.hpp"
#include "sim/network/shared_network.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace weft {

// A program on ranks placed at endpoints.
struct PlacedProgram {
  const Program& program;
  std::span<const int> placement;  // rank -> endpoint
  const HardwareProfile& hardware;
  std::span<const SimTime> start = {};  // when each rank begins; empty: all at 0
  Repetition repetition = {};
  std::string name = {};                          // goes with what it waits for; "" where there is one job only
  std::vector<MessageRecord>* timeline = {};      // receives every message
  std::vector<OperationRecord>* operations = {};  // receives every operation
  bool find_path = false;                         // critical_path() is asked for
  LinkUses* uses = {};                            // receives when messages were on links
};

template <class Network>
class ProgramDriver final : public Driver {
 public:
  // What the job points to must outlive the driver. `nic_free_at`: by link, shared by all jobs; for SendQueue::nic.
  ProgramDriver(const PlacedProgram& job, Routes& routes, SharedNetwork<Network>& network, std::span<std::int64_t> nic_free_at = {})
      : job_(job),
        network_(network),
        lane_{.routes = routes, .network = network.join(*this), .timeline = job.timeline, .nic_free_at = nic_free_at, .uses = job.uses},
        rank_free_at_(static_cast<std::size_t>(job.program.ranks)) {
    check(job.repetition.iterations > 0, "{} iterations", job.repetition.iterations);
    if constexpr (Lane<Network>::knows_bottlenecks)
      if (job.find_path) {
        network.model().record_bottlenecks();
        lane_.path = &recorder_;
      }
    const Program& program = job.program;
    for (const std::vector<Operation>& operations : program.operations) graphs_.emplace_back(operations);
    int channels = 0;
    for (std::uint32_t c = 0; c < program.calls.size(); ++c) {
      const Call& call = program.calls[c];
      if (call.reduction) {
        HardwareProfile& own = hardware_of_call_.emplace(c, job.hardware).first->second;
        own.reduce_launch = *call.reduction;
        own.reduce_rate = {};
      }
      first_channels_.push_back(channels);
      channels += static_cast<int>(call.schedule->channels.size());
      groups_of_calls_.push_back(&groups_.try_emplace(call.members, job, call.members).first->second);
      first_operations_.push_back(operations_of_calls_.size());
      operations_of_calls_.resize(operations_of_calls_.size() + groups_of_calls_.back()->seats.size());
    }
    for (Rank rank = 0; rank < program.ranks; ++rank) {
      const std::vector<Operation>& own = program.of_rank(rank);
      for (std::size_t i = 0; i < own.size(); ++i)
        if (own[i].is_call()) operations_of_calls_[place_of(static_cast<std::uint32_t>(own[i].call), rank)] = static_cast<int>(i);
    }
  }

  void begin() override {
    const SimTime first = job_.start.empty() ? SimTime{} : *std::ranges::min_element(job_.start);
    begin_iteration(first, job_.start);
    go_on();
  }

  void ended(std::uint32_t token) override {
    finished_.clear();
    const UnderWay what = lane_.under_way.take(token);
    if (what.kind == UnderWay::Kind::operation_ends) {
      const auto after = waiting_ends_.extract({what.from, what.step});
      complete({what.from, what.step, lane_.network.now(), after.mapped()});
      settle();
    } else {
      Executor& executor = *executors_[what.executor];
      executor.happened(what);
      if (executor.done().empty()) return;
      ranks_done(what.executor);
      settle();
    }
    if (unfinished_ == 0) go_on();
  }

  void fetch(int before, std::uint32_t token) override {
    if (before == 4) return lane_.under_way.fetch(token);
    const UnderWay& what = lane_.under_way.entries()[token];
    if (what.kind == UnderWay::Kind::message && executors_[what.executor]) executors_[what.executor]->fetch(before, what);
  }

  void never_ends(std::uint32_t) override { blocked_ = true; }  // a program needs all of its messages

  State state() const override {
    if (finished()) return State::finished;
    return blocked_ || lane_.under_way.empty() ? State::stuck : State::running;
  }

  std::string waiting() const override {
    constexpr std::size_t most = 4000;
    std::string text = (job_.name.empty() ? "" : "job " + job_.name + ": ") + std::string("no progress is possible:");
    std::vector<bool> named(static_cast<std::size_t>(job_.program.ranks));  // with what they wait for
    for (std::uint32_t c = 0; c < executors_.size(); ++c)
      if (executors_[c] && text.size() < most && !waits_for_message(c, text, named)) executors_[c]->waiting(text, most);
    for (Rank rank = 0; !is_one_call() && rank < job_.program.ranks && text.size() < most; ++rank)
      if (!named[static_cast<std::size_t>(rank)]) waiting(rank, text);
    return text.size() < most ? text : text + "\n  ...";
  }

  double share() const override {
    if (executors_.empty()) return 0;
    auto calls = static_cast<double>(finished_.size());
    for (const auto& executor : executors_)
      if (executor) calls += executor->share();
    const auto before = static_cast<double>(iterations_.size() - 1);
    return (before + calls / static_cast<double>(executors_.size())) / job_.repetition.iterations;
  }

  const std::vector<Iteration>& iterations() const { return iterations_; }

  // Of all iterations together; none where the network does not know it, or where it was too long to be recorded.
  const std::optional<PathParts>& critical_path() const { return path_; }

  // Of all iterations together; ranks finish when they end the last.
  NetworkRun result() const {
    return {.finish = iterations_.back().end,
            .rank_finish = rank_end_,
            .bytes_on_link = lane_.bytes_on_link(),
            .bytes_from = lane_.bytes_from(),
            .messages = messages_};
  }

 private:
  using Executor = EventExecutor<Lane<Network>>;

  // Who waits for whom among the operations of one rank, those before on the same stream included.
  struct Graph {
    explicit Graph(const std::vector<Operation>& operations) : waits(operations.size()), first_next(operations.size() + 1) {
      std::vector<std::pair<int, int>> edges;  // of an operation and one that waits for it
      std::map<int, int> last;                 // by stream
      std::vector<int> before;
      for (std::size_t i = 0; i < operations.size(); ++i) {
        const auto own = static_cast<int>(i);
        before = operations[i].after;
        if (operations[i].in_order) {
          const auto [stream, first] = last.try_emplace(operations[i].stream, own);
          if (!first) before.push_back(std::exchange(stream->second, own));
        }
        std::ranges::sort(before);
        before.erase(std::unique(before.begin(), before.end()), before.end());
        waits[i] = static_cast<int>(before.size());
        for (const int b : before) {
          edges.emplace_back(b, own);
          ++first_next[static_cast<std::size_t>(b) + 1];
        }
      }
      std::partial_sum(first_next.begin(), first_next.end(), first_next.begin());
      all_next.resize(edges.size());
      std::vector<std::size_t> at(first_next.begin(), first_next.end() - 1);
      for (const auto& [b, own] : edges) all_next[at[static_cast<std::size_t>(b)]++] = own;
    }
    std::span<const int> next(int operation) const {
      const auto i = static_cast<std::size_t>(operation);
      return std::span(all_next).subspan(first_next[i], first_next[i + 1] - first_next[i]);
    }
    std::vector<int> waits;  // how many operations before it

   private:
    std::vector<std::size_t> first_next;  // by operation, in all_next: which wait for it
    std::vector<int> all_next;
  };
  // Ranks that run calls together.
  struct Group {
    Group(const PlacedProgram& job, const std::vector<Rank>& members) {
      const auto ranks = static_cast<std::size_t>(job.program.ranks);
      const std::size_t size = members.empty() ? ranks : members.size();
      if (!members.empty()) index.assign(ranks, -1);
      for (std::size_t i = 0; i < size; ++i) {
        const Rank rank = members.empty() ? static_cast<Rank>(i) : members[i];
        if (!members.empty()) index[static_cast<std::size_t>(rank)] = static_cast<Rank>(i);
        seats.push_back(job.placement[static_cast<std::size_t>(rank)]);
      }
    }
    Rank of(Rank rank) const { return index.empty() ? rank : index[static_cast<std::size_t>(rank)]; }

    std::vector<Rank> index = {};  // by rank of the job: its number here; -1: no member; empty: all ranks in order
    std::vector<int> seats = {};   // by number here
  };
  // An operation of a rank that begins or ends.
  struct Turn {
    Rank rank;
    int operation;
    SimTime at;
    ChainEnd after;
  };

  const Graph& graph(Rank rank) const { return graphs_.size() == 1 ? graphs_.front() : graphs_[static_cast<std::size_t>(rank)]; }
  bool is_one_call() const { return job_.program.operations.size() == 1 && job_.program.operations.front().size() == 1; }
  bool finished() const { return unfinished_ == 0 && iterations_.size() == static_cast<std::size_t>(job_.repetition.iterations) && begun_; }

  void begin_iteration(SimTime first, std::span<const SimTime> starts) {
    iterations_.push_back({first, first});
    last_ = {};
    begun_ = true;
    executors_.clear();
    executors_.resize(job_.program.calls.size());
    left_.clear();
    unfinished_ = 0;
    for (Rank rank = 0; rank < job_.program.ranks; ++rank) {
      left_.push_back(graph(rank).waits);
      unfinished_ += left_.back().size();
    }
    rank_end_.assign(static_cast<std::size_t>(job_.program.ranks), first);
    for (Rank rank = 0; rank < job_.program.ranks; ++rank) {
      const SimTime at = starts.empty() ? first : starts[static_cast<std::size_t>(rank)];
      const std::vector<int>& waits = graph(rank).waits;
      for (std::size_t i = 0; i < waits.size(); ++i)
        if (waits[i] == 0) ready_.push_back({rank, static_cast<int>(i), at, {.waiting_ps = (at - first).ps}});
    }
    settle();
  }

  // Begins what has become ready, and what that makes ready at once.
  void settle() {
    for (std::size_t i = 0; i < ready_.size(); ++i) begin_operation(ready_[i]);
    ready_.clear();
  }

  void begin_operation(const Turn started) {
    const Operation& o = job_.program.of_rank(started.rank)[static_cast<std::size_t>(started.operation)];
    if (!o.is_call()) return compute(o, started);
    const auto c = static_cast<std::uint32_t>(o.call);
    if (!executors_[c]) open(c, o.stream);
    if (job_.operations) begun_at_[{c, started.rank}] = started.at;
    executors_[c]->begin(groups_of_calls_[c]->of(started.rank), started.at, started.after);
    ranks_done(c);
  }

  void compute(const Operation& o, const Turn& ready) {
    Turn turn = ready;
    SimTime* unit = nullptr;
    if (o.unit != Operation::no_unit) {
      unit = &unit_free_at_[{ready.rank, o.unit}];
      turn.at = std::max(turn.at, *unit);
      turn.after.waiting_ps += (turn.at - ready.at).ps;
    }
    const SimTime begun = turn.at;
    turn.at += o.duration;
    turn.after.computing_ps += o.duration.ps;
    if (unit) *unit = turn.at;
    ended_at(begun, turn);
  }

  // Of the rank, which is one of the call's.
  int operation_of(std::uint32_t c, Rank rank) const { return operations_of_calls_[place_of(c, rank)]; }
  std::size_t place_of(std::uint32_t c, Rank rank) const {
    return first_operations_[c] + static_cast<std::size_t>(groups_of_calls_[c]->of(rank));
  }

  void open(std::uint32_t c, int stream) {
    const Call& call = job_.program.calls[c];
    const Schedule& schedule = *call.schedule;
    Seat seat{.number = c,
              .members = call.members,
              .stream = stream,
              .first_channel = first_channels_[c],
              .alone = is_one_call() && call.members.empty() && !job_.operations && network_.alone(*this)};
    if (job_.hardware.first_use.ps > 0) {
      std::vector<PeersMet>& met = met_[{stream, schedule.channels.size(), call.members}];
      met.resize(schedule.channels.size() * static_cast<std::size_t>(schedule.ranks));
      seat.met = met;
    }
    if (job_.hardware.send_queue != SendQueue::channel)
      for (Rank r = 0; r < schedule.ranks; ++r) seat.sends_free_at.push_back(&rank_free_at_[static_cast<std::size_t>(member(call, r))]);
    executors_[c] = std::make_unique<Executor>(PlacedSchedule{.schedule = schedule,
                                                              .placement = groups_of_calls_[c]->seats,
                                                              .elements = call.elements,
                                                              .element_bytes = call.element_bytes,
                                                              .hardware = hardware_of(c),
                                                              .regime = call.regime},
                                               lane_, std::move(seat));
  }

  const HardwareProfile& hardware_of(std::uint32_t c) const {
    const auto own = hardware_of_call_.find(c);
    return own == hardware_of_call_.end() ? job_.hardware : own->second;
  }

  static Rank member(const Call& call, Rank r) { return call.members.empty() ? r : call.members[static_cast<std::size_t>(r)]; }

  // Ranks that have done their part of call c.
  void ranks_done(std::uint32_t c) {
    Executor& executor = *executors_[c];
    for (const RankDone& done : std::exchange(executor.done(), {})) {
      const Rank rank = member(job_.program.calls[c], done.rank);
      const int operation = operation_of(c, rank);
      SimTime begun = done.at;
      if (job_.operations) begun = begun_at_.extract({c, rank}).mapped();
      ended_at(begun, {rank, operation, done.at, done.after});
    }
    if (!executor.finished()) return;
    messages_ += executor.messages();
    finished_.push_back(std::move(executors_[c]));  // it may be the one that is being asked
  }

  // The end may lie ahead of the clock; what waits for it begins then.
  void ended_at(SimTime begun, const Turn& end) {
    require_in_time(end.at.ps);
    SimTime& last = rank_end_[static_cast<std::size_t>(end.rank)];
    last = std::max(last, end.at);
    const auto turn = std::tuple(end.at, end.rank, end.operation), before = std::tuple(iterations_.back().end, last_.rank, last_.operation);
    if (turn >= before) {
      iterations_.back().end = end.at;
      last_ = end;
    }
    if (job_.operations) job_.operations->push_back({end.rank, end.operation, begun, end.at});
    const bool awaited = !graph(end.rank).next(end.operation).empty();
    if (!awaited || end.at <= lane_.network.now()) return complete(end);
    waiting_ends_[{end.rank, end.operation}] = end.after;
    const UnderWay entry{.step = end.operation, .from = end.rank, .kind = UnderWay::Kind::operation_ends};
    lane_.network.wake(end.at, lane_.under_way.add(entry));
  }

  void complete(const Turn& end) {
    --unfinished_;
    std::vector<int>& left = left_[static_cast<std::size_t>(end.rank)];
    for (const int next : graph(end.rank).next(end.operation))
      if (--left[static_cast<std::size_t>(next)] == 0) ready_.push_back({end.rank, next, end.at, end.after});
  }

  // Iterations without messages end as soon as they have begun.
  void go_on() {
    while (unfinished_ == 0) {
      add_path();
      if (iterations_.size() == static_cast<std::size_t>(job_.repetition.iterations)) break;
      begin_iteration(iterations_.back().end + job_.repetition.compute, {});
    }
    finished_.clear();
  }

  // Of the iteration that has ended.
  void add_path() {
    if (!lane_.path) return;
    if (!recorder_.complete()) {
      path_.reset();
      lane_.path = nullptr;
      return;
    }
    if (!path_) path_.emplace();
    const auto latency = [this](std::uint32_t route) { return route == lane_.none ? SimTime{} : lane_.network.latency(route); };
    *path_ += recorder_.parts(iterations_.back().begin, iterations_.back().end, last_.after, latency);
    recorder_.clear();
  }

  void waiting(Rank rank, std::string& text) const {
    const std::vector<int>& left = left_[static_cast<std::size_t>(rank)];
    const auto first = std::ranges::find_if(left, [](int before) { return before > 0; });
    if (first == left.end()) return;  // the others wait for this one, or like it
    const auto operation = static_cast<int>(first - left.begin());
    text += fmt::format("\n  rank {} has not begun {}: {}", rank, id_of(rank, operation), waits_for(rank, operation));
  }

  // Of a call that is one message, of whose ends only one has begun. Whoever has not is `named`.
  bool waits_for_message(std::uint32_t c, std::string& text, std::vector<bool>& named) const {
    const Call& call = job_.program.calls[c];
    if (call.schedule->ranks != 2 || call.schedule->messages() != 1) return false;
    Step only;
    call.schedule->channels.front().produce(0, only);
    if (only.transfers().empty()) return false;
    const Rank from = member(call, only.transfers().front().from), to = member(call, only.transfers().front().to);
    const int sends = operation_of(c, from), receives = operation_of(c, to);
    const auto begun = [&](Rank rank, int operation) {
      return left_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(operation)] == 0;
    };
    if (begun(from, sends) == begun(to, receives)) return false;
    if (begun(to, receives))
      text += fmt::format("\n  rank {} waits for a message of rank {} ({}); rank {} has not sent it ({}): {}", to, from,
                          id_of(to, receives), from, id_of(from, sends), waits_for(from, sends));
    else
      text += fmt::format("\n  rank {} waits for rank {} to receive its message ({}); rank {} has not begun to ({}): {}", from, to,
                          id_of(from, sends), to, id_of(to, receives), waits_for(to, receives));
    named[static_cast<std::size_t>(begun(to, receives) ? from : to)] = true;
    return true;
  }

  const std::string& id_of(Rank rank, int operation) const { return job_.program.of_rank(rank)[static_cast<std::size_t>(operation)].id; }

  // An operation that has not begun.
  std::string waits_for(Rank rank, int operation) const {
    std::vector<std::string> before;
    for (int b = 0; b < operation; ++b)
      if (std::ranges::count(graph(rank).next(b), operation) > 0) before.push_back(id_of(rank, b));
    const auto left = static_cast<std::size_t>(left_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(operation)]);
    const std::string names = fmt::format("{}", fmt::join(before, ", "));
    return left == before.size() ? "it waits for " + names : fmt::format("it waits for {} of {}", left, names);
  }

  const PlacedProgram job_;
  const SharedNetwork<Network>& network_;
  LaneState<Lane<Network>> lane_;
  std::vector<Graph> graphs_;                  // of all ranks alike, or rank by rank
  std::map<std::vector<Rank>, Group> groups_;  // by members
  std::vector<const Group*> groups_of_calls_;
  std::vector<std::size_t> first_operations_;                                             // by call, in the list of all calls
  std::vector<int> operations_of_calls_;                                                  // of each member in turn
  std::map<std::uint32_t, HardwareProfile> hardware_of_call_;                             // of those with reductions of their own
  std::vector<int> first_channels_;                                                       // by call, of the channels of all calls
  std::map<std::tuple<int, std::size_t, std::vector<Rank>>, std::vector<PeersMet>> met_;  // by stream, channels, members
  std::vector<std::int64_t> rank_free_at_;                                                // for SendQueue::rank
  std::vector<std::unique_ptr<Executor>> executors_;                                      // by call, while it runs
  std::vector<std::unique_ptr<Executor>> finished_;
  std::vector<std::vector<int>> left_;                          // by rank and operation: those before it that have not ended
  std::map<std::pair<std::uint32_t, Rank>, SimTime> begun_at_;  // of calls, while somebody asks
  std::size_t unfinished_ = 0;
  std::vector<Turn> ready_;
  std::map<std::pair<Rank, int>, SimTime> unit_free_at_;   // by rank and unit
  std::map<std::pair<Rank, int>, ChainEnd> waiting_ends_;  // of operations that end at a date to come
  PathRecorder recorder_;
  Turn last_ = {};  // that ended, of the iteration under way; of several at one date that of the highest rank
  std::optional<PathParts> path_;
  std::vector<Iteration> iterations_;
  std::vector<SimTime> rank_end_;
  std::int64_t messages_ = 0;
  bool begun_ = false, blocked_ = false;
};

}  // namespace weft
