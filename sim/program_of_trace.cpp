#include "sim/program_of_trace.hpp"

#include "collectives/registry/registry.hpp"
#include "collectives/schedule/message.hpp"
#include "models/traces/traced_job.hpp"
#include "sim/cases/sized.hpp"
#include "sim/cases/trace_check.hpp"
#include "sim/experiment.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/ranks_by_server.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace weft {
namespace {

using Kind = TracedOperation::Kind;

// One message between the root and each other rank: a scatter from it, or a gather to it.
std::shared_ptr<const Schedule> with_root(TracedCollective collective, int ranks, Rank root) {
  auto schedule = std::make_shared<Schedule>(Schedule{
      .name = std::string(name_of(collective)), .collective = Collective::broadcast, .ranks = ranks, .chunks = ranks, .root = root});
  Step& step = schedule->add_step();
  for (Rank r = 0; r < ranks; ++r)
    if (r != root)
      step.copy({.from = collective == TracedCollective::scatter ? root : r,
                 .to = collective == TracedCollective::scatter ? r : root,
                 .chunk = r});
  return schedule;
}

class TraceBuilder {
 public:
  TraceBuilder(const Scenario& scenario, const AlgorithmChoice& row, const ProgramSite& site)
      : scenario_(scenario), row_(row), site_(site), job_(traced_job(scenario.workload.trace.program, ranks_of(scenario))) {
    // One collective at a time, of the ranks of a group.
    alone_.workload.trace = {};
    alone_.workload.program.clear();
    alone_.placement.policy = PlacementPolicy::list;
  }

  ProgramOfTrace build() {
    Program& program = out_.program;
    program.ranks = job_.ranks;
    program.calls.reserve(job_.calls.size());
    for (const std::vector<Rank>& group : job_.groups) {
      std::vector<Rank> all(static_cast<std::size_t>(job_.ranks));
      std::iota(all.begin(), all.end(), 0);
      members_.push_back(group == all ? std::vector<Rank>{} : group);
    }
    for (const TracedCall& call : job_.calls) program.add_call(call.message ? message_of(call) : collective_of(call));
    for (Rank rank = 0; rank < (job_.alike ? 1 : job_.ranks); ++rank) add_rank(rank);
    out_.notes = job_.notes;
    const TracedProgram& trace = *job_.program;
    out_.notes.insert(out_.notes.end(), trace.notes.begin(), trace.notes.end());
    for (const auto& [collective, names] : instead_)
      out_.notes.push_back(fmt::format("{} does no {}: {} does it", label(row_), name_of(collective), fmt::join(names, ", ")));
    for (const auto* missing : {&trace.missing, &job_.missing})
      for (const std::string& what : *missing) out_.notes.push_back("not said: " + what);
    return std::move(out_);
  }

 private:
  Call message_of(const TracedCall& call) const { return {.schedule = message_, .members = {call.from, call.to}, .elements = call.bytes}; }

  Call collective_of(const TracedCall& call) {
    const auto ranks = static_cast<int>(job_.groups[static_cast<std::size_t>(call.group)].size());
    if (call.collective >= TracedCollective::scatter) {
      auto& schedule = with_root_[{call.collective, ranks, call.root}];
      if (!schedule) schedule = with_root(call.collective, ranks, call.root);
      const std::int64_t each = call.collective == TracedCollective::gather ? ranks : 1;  // which puts in a part of the whole
      return {.schedule = schedule, .members = members_of(call), .elements = call.bytes * each};
    }
    const auto collective = static_cast<Collective>(call.collective);
    const Group& group = group_of(call.group);
    auto [at, is_new] = choices_.try_emplace({collective, call.group});
    if (is_new) {
      at->second = algorithm_for(scenario_, row_, collective, group.seats);
      if (at->second.name != row_.name) instead_[collective].insert(at->second.name);
    }
    alone_.workload.collective = collective;
    alone_.workload.ranks = ranks;
    alone_.workload.root = call.root;
    alone_.placement.nodes = group.seats;
    const SizedChoice& sized = sized_for(call, at->second, group.seats);
    auto& schedule = schedules_[{collective, label_as_run(sized.choice), ranks, call.root, group.machines}];
    if (!schedule) {
      const Request request = request_of(alone_, sized.choice);
      auto built = std::make_shared<Schedule>(weft::build(request));
      site_.prover.require_correct(*built, request);
      schedule = std::move(built);
    }
    // An all-to-all has equal blocks.
    const std::int64_t blocks = collective == Collective::alltoall ? schedule->workers() : 1;
    return {
        .schedule = schedule, .members = members_of(call), .elements = (call.bytes + blocks - 1) / blocks * blocks, .regime = sized.regime};
  }

  struct Group {
    std::vector<int> seats;                   // the endpoint of each member
    std::vector<std::vector<Rank>> machines;  // of its members, by server
  };
  const Group& group_of(int number) {
    const auto [at, is_new] = groups_.try_emplace(number);
    if (is_new) {
      for (const Rank rank : job_.groups[static_cast<std::size_t>(number)])
        at->second.seats.push_back(site_.placement[static_cast<std::size_t>(rank)]);
      at->second.machines = ranks_by_server(at->second.seats, scenario_.server.gpu_count()).ranks;
    }
    return at->second;
  }

  const SizedChoice& sized_for(const TracedCall& call, const AlgorithmChoice& choice, const std::vector<int>& seats) {
    const auto [at, is_new] = sized_.try_emplace({call.collective, call.group, call.bytes});
    if (is_new) at->second = for_call({alone_, scenario_.hardware, site_.fabric, seats, Bytes{call.bytes}}, choice);
    return at->second;
  }

  const std::vector<Rank>& members_of(const TracedCall& call) const { return members_[static_cast<std::size_t>(call.group)]; }

  void add_rank(Rank rank) {
    const TracedRank& trace = job_.trace_of(rank);
    const std::vector<int>& calls = job_.call_of[static_cast<std::size_t>(rank)];
    std::vector<Operation>& own = out_.program.operations.emplace_back();
    own.reserve(trace.operations.size());
    for (std::size_t i = 0; i < trace.operations.size(); ++i) {
      const TracedOperation& o = trace.operations[i];
      // Streams of computations have odd numbers, those of groups even ones.
      Operation operation{.id = fmt::format("{} {}", trace.record_name, o.record),
                          .duration = o.kind == Kind::send || o.kind == Kind::receive ? SimTime{} : o.duration,
                          .call = calls[i],
                          .stream = 2 * o.stream + 1,
                          .in_order = o.in_order,
                          .unit = o.unit};
      if (calls[i] != TracedJob::no_call) {
        const TracedCall& call = job_.calls[static_cast<std::size_t>(calls[i])];
        if (!call.message && job_.groups[static_cast<std::size_t>(call.group)].size() == 1) operation.call = Operation::no_call;
        operation.duration = {};
        operation.unit = Operation::no_unit;
        if (!call.message) operation.stream = 2 * call.group;
      }
      for (const std::uint32_t before : trace.after_of(i)) operation.after.push_back(static_cast<int>(before));
      own.push_back(std::move(operation));
    }
  }

  const Scenario& scenario_;
  const AlgorithmChoice& row_;
  const ProgramSite& site_;
  const TracedJob job_;
  Scenario alone_ = scenario_;
  ProgramOfTrace out_;
  const std::shared_ptr<const Schedule> message_ = message_schedule();
  std::vector<std::vector<Rank>> members_;  // by group; empty: all ranks in order
  std::map<int, Group> groups_;
  std::map<std::pair<Collective, int>, AlgorithmChoice> choices_;  // by group
  std::map<std::tuple<TracedCollective, int, std::int64_t>, SizedChoice> sized_;
  std::map<std::tuple<Collective, std::string, int, Rank, std::vector<std::vector<Rank>>>, std::shared_ptr<const Schedule>> schedules_;
  std::map<std::tuple<TracedCollective, int, Rank>, std::shared_ptr<const Schedule>> with_root_;
  std::map<Collective, std::set<std::string>> instead_;
};

}  // namespace

ProgramOfTrace program_of_trace(const Scenario& scenario, const AlgorithmChoice& row, const ProgramSite& site) {
  return TraceBuilder(scenario, row, site).build();
}

}  // namespace weft
