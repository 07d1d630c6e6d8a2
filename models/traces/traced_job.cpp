#include "models/traces/traced_job.hpp"

#include "kernels/base/error.hpp"
#include "models/traces/builder.hpp"
#include "models/traces/spread.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace weft {
namespace {

using Kind = TracedOperation::Kind;

// An operation of a rank.
struct End {
  Rank rank;
  std::uint32_t operation;
};

// Operations of the members of one group that are one collective.
struct Meeting {
  std::vector<End> ends = {};
};

class Matcher {
 public:
  explicit Matcher(TracedJob& job) : job_(job), spread_(*job.program, job.ranks) {}

  void match() {
    job_.source = spread_.sources();
    job_.alike = spread_.one_for_all() && is_of_all_ranks(job_.program->ranks.front());
    const int followed = job_.alike ? 1 : job_.ranks;
    for (Rank rank = 0; rank < followed; ++rank) {
      const TracedRank& trace = job_.trace_of(rank);
      job_.call_of.emplace_back(trace.operations.size(), TracedJob::no_call);
      const std::vector<int> groups = groups_of(rank, trace);
      for (std::uint32_t i = 0; i < trace.operations.size(); ++i) add(rank, i, trace.operations[i], groups);
    }
    for (std::size_t g = 0; g < meetings_.size(); ++g) make_collectives(static_cast<int>(g));
    for (auto& [key, ends] : exact_) make_messages(key, ends);
    match_any();
    report();
  }

 private:
  struct Ends {
    std::vector<End> sends = {}, receives = {};
  };
  using Key = std::tuple<Rank, Rank, int>;  // from, to, tag

  static bool is_of_all_ranks(const TracedRank& trace) {
    return std::ranges::all_of(trace.operations, [&](const TracedOperation& o) {
      if (o.kind == Kind::compute) return true;
      return o.kind == Kind::collective && trace.groups[static_cast<std::size_t>(o.group)].all;
    });
  }

  // By the rank's own numbers: the job's group.
  std::vector<int> groups_of(Rank rank, const TracedRank& trace) {
    std::vector<int> out;
    for (const TracedGroup& group : trace.groups) {
      std::vector<Rank> members = spread_.members(rank, group);
      const auto [at, is_new] = group_of_.try_emplace({group.name, std::move(members)}, static_cast<int>(job_.groups.size()));
      if (is_new) {
        job_.groups.push_back(at->first.second);
        meetings_.emplace_back();
      }
      out.push_back(at->second);
    }
    return out;
  }

  const TracedOperation& operation(End end) const { return job_.trace_of(end.rank).operations[end.operation]; }
  std::string place(End end) const { return job_.trace_of(end.rank).place(end.operation); }
  int& call_of(End end) { return job_.call_of[static_cast<std::size_t>(end.rank)][end.operation]; }

  void add(Rank rank, std::uint32_t i, const TracedOperation& o, const std::vector<int>& groups) {
    if (o.kind == Kind::compute) return;
    if (o.kind == Kind::collective) {
      if (o.bytes == TracedOperation::unknown) return;  // the reader has said so
      const int g = groups[static_cast<std::size_t>(o.group)];
      const std::vector<Rank>& members = job_.groups[static_cast<std::size_t>(g)];
      if (std::ranges::find(members, rank) == members.end()) {
        missing_.add(fmt::format("the {} is of a group of {} that rank {} is not in; taken as a computation of the time it took",
                                 name_of(o.collective), members.size() == 1 ? "one rank" : fmt::format("{} ranks", members.size()), rank),
                     place({rank, i}));
        return;
      }
      auto& meetings = meetings_[static_cast<std::size_t>(g)];
      const std::int64_t number = o.tag == TracedOperation::no_sequence ? counted_[{rank, g}]++ : o.tag;
      meetings[number].ends.push_back({rank, i});
      return;
    }
    const Rank peer = spread_.peer(rank, o.peer);
    if (peer >= job_.ranks || peer < TracedOperation::any_rank || peer == rank)
      throw InputError(fmt::format("{}: rank {} {} rank {}, of {} ranks", place({rank, i}), rank,
                                   o.kind == Kind::send ? "sends to" : "receives from", peer, job_.ranks));
    if (o.kind == Kind::send)
      exact_[{rank, peer, o.tag}].sends.push_back({rank, i});
    else if (peer == TracedOperation::any_rank || o.tag == TracedOperation::any_tag)
      any_.push_back({rank, i});
    else
      exact_[{peer, rank, o.tag}].receives.push_back({rank, i});
  }

  void make_collectives(int g) {
    const std::vector<Rank>& members = job_.groups[static_cast<std::size_t>(g)];
    const std::size_t wanted = job_.alike ? 1 : members.size();
    for (const auto& [number, meeting] : meetings_[static_cast<std::size_t>(g)]) {
      const End first = meeting.ends.front();
      const TracedOperation& o = operation(first);
      if (meeting.ends.size() != wanted) {
        missing_.add(fmt::format("{} of the {} ranks of its group take part in the {}; taken as computations of the time it took",
                                 meeting.ends.size(), wanted, name_of(o.collective)),
                     place(first));
        continue;
      }
      TracedCall call{.collective = o.collective, .group = g, .bytes = o.bytes};
      for (const End end : meeting.ends) {
        const TracedOperation& other = operation(end);
        if (other.collective != o.collective)
          throw InputError(fmt::format("{}: rank {} is in a {} where rank {} is in a {} ({})", place(end), end.rank,
                                       name_of(other.collective), first.rank, name_of(o.collective), place(first)));
        const bool may_differ = o.collective == TracedCollective::alltoall || o.collective == TracedCollective::allgather ||
                                o.collective == TracedCollective::broadcast || o.collective == TracedCollective::scatter ||
                                o.collective == TracedCollective::gather || o.collective == TracedCollective::reduce_scatter;
        if (other.uneven || (other.bytes != o.bytes && may_differ)) uneven_ = true;
        if (other.bytes != o.bytes && !may_differ)
          missing_.add(fmt::format("the {} has {} bytes on rank {} and {} on rank {}; taken as of the most", name_of(o.collective), o.bytes,
                                   first.rank, other.bytes, end.rank),
                       place(end));
        call.bytes = std::max(call.bytes, other.bytes);
      }
      if (o.collective == TracedCollective::allgather) {
        if (call.bytes > max_traced_bytes / static_cast<std::int64_t>(members.size()))
          throw InputError(fmt::format("{}: {} ranks gather {} bytes of each; at most {} in all can be simulated", place(first),
                                       members.size(), call.bytes, max_traced_bytes));
        call.bytes *= static_cast<std::int64_t>(members.size());
      }
      call.root = root_of(members, o, first);
      for (const End end : meeting.ends) call_of(end) = static_cast<int>(job_.calls.size());
      job_.calls.push_back(call);
    }
  }

  // Among the members. Some traces say a rank of the job, others the place in the group.
  Rank root_of(const std::vector<Rank>& members, const TracedOperation& o, End at) {
    const bool has_root = o.collective == TracedCollective::broadcast || o.collective == TracedCollective::reduce ||
                          o.collective == TracedCollective::scatter || o.collective == TracedCollective::gather;
    if (!has_root || o.peer == TracedOperation::any_rank) return 0;
    if (const auto root = std::ranges::find(members, o.peer); root != members.end()) return static_cast<Rank>(root - members.begin());
    if (std::cmp_less(o.peer, members.size())) return o.peer;
    missing_.add(fmt::format("the root of the {} is rank {}, which is not among its {} ranks; taken as the first of them",
                             name_of(o.collective), o.peer, members.size()),
                 place(at));
    return 0;
  }

  // A receive may have more room than it needs, but not less.
  void make_message(Rank from, Rank to, End send, End receive) {
    const std::int64_t sent = operation(send).bytes, room = operation(receive).bytes;
    if (room > 0 && sent > room)
      missing_.add(fmt::format("rank {} sends {} bytes to rank {}, which receives {}; taken as sent", from, sent, to, room),
                   place(receive));
    call_of(send) = call_of(receive) = static_cast<int>(job_.calls.size());
    job_.calls.push_back({.message = true, .from = from, .to = to, .bytes = std::max<std::int64_t>(operation(send).bytes, 0)});
  }

  // The k-th send meets the k-th receive; what is left over may still meet receives from anybody.
  void make_messages(const Key& key, Ends& ends) {
    const auto [from, to, tag] = key;
    const std::size_t both = std::min(ends.sends.size(), ends.receives.size());
    for (std::size_t k = 0; k < both; ++k) make_message(from, to, ends.sends[k], ends.receives[k]);
    for (std::size_t k = both; k < ends.sends.size(); ++k) left_[to].emplace_back(key, ends.sends[k]);
    for (std::size_t k = both; k < ends.receives.size(); ++k)
      missing_.add(fmt::format("rank {} receives from rank {} with tag {} what that does not send; left out", to, from, tag),
                   place(ends.receives[k]));
  }

  // In the order of their programs, those of lower ranks first: which one comes first on a machine, a trace does not say.
  void match_any() {
    for (auto& [to, sends] : left_)
      std::ranges::stable_sort(sends, {}, [](const auto& send) { return std::pair(send.second.operation, send.second.rank); });
    for (const End receive : any_) {
      const Rank from = spread_.peer(receive.rank, operation(receive).peer);
      const int tag = operation(receive).tag;
      auto& sends = left_[receive.rank];
      const auto fits = std::ranges::find_if(sends, [&](const auto& send) {
        return (from == TracedOperation::any_rank || std::get<0>(send.first) == from) &&
               (tag == TracedOperation::any_tag || std::get<2>(send.first) == tag);
      });
      if (fits == sends.end()) {
        missing_.add(fmt::format("rank {} receives from anybody what nobody sends; left out", receive.rank), place(receive));
        continue;
      }
      make_message(fits->second.rank, receive.rank, fits->second, receive);
      sends.erase(fits);
    }
    for (const auto& [to, sends] : left_)
      for (const auto& [key, send] : sends)
        missing_.add(
            fmt::format("rank {} sends to rank {} with tag {} what that does not receive; left out", send.rank, to, std::get<2>(key)),
            place(send));
  }

  void report() {
    job_.missing = spread_.missing;
    job_.notes = spread_.notes;
    missing_.move_to(job_.missing);
    if (!any_.empty())
      job_.notes.push_back(fmt::format("{} receives from anybody meet sends in the order of the programs, lower ranks first", any_.size()));
    if (uneven_) job_.notes.push_back("collectives whose ranks or parts are of different sizes are simulated with the largest for all");
  }

  TracedJob& job_;
  Spread spread_;
  Missing missing_;
  bool uneven_ = false;
  std::map<std::pair<std::string, std::vector<Rank>>, int> group_of_;
  std::vector<std::map<std::int64_t, Meeting>> meetings_;  // by group, and number in it
  std::map<std::pair<Rank, int>, std::int64_t> counted_;   // collectives of a rank and group without numbers
  std::map<Key, Ends> exact_;
  std::vector<End> any_;
  std::map<Rank, std::vector<std::pair<Key, End>>> left_;  // by receiver: sends that nobody has received
};

}  // namespace

int world_of(const TracedProgram& program) {
  int world = program.world;
  if (world == 0 && program.ranks.size() > 1) world = static_cast<int>(program.ranks.size());
  for (const TracedRank& rank : program.ranks) {
    if (program.ranks.size() > 1) world = std::max(world, rank.rank + 1);
    for (const TracedGroup& group : rank.groups)
      for (const Rank member : group.ranks) world = std::max(world, member + 1);
  }
  return world;
}

TracedJob traced_job(std::shared_ptr<const TracedProgram> program, int ranks) {
  TracedJob job{.program = std::move(program), .ranks = ranks};
  Matcher(job).match();
  return job;
}

}  // namespace weft
