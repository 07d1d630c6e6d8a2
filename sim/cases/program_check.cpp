#include "sim/cases/program_check.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/cases/sized.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/ranks_by_server.hpp"

#include <algorithm>
#include <set>

namespace weft {
namespace {

// Keys that say nothing for this kind of operation, and those that are missing.
void check_kind(const OperationSpec& o, const std::string& at, std::vector<Problem>& out) {
  const int kinds = o.compute.has_value() + o.collective.has_value() + o.send.has_value();
  if (kinds != 1) {
    out.push_back({at, fmt::format("must have one of \"compute\", \"collective\" and \"send\", got {} of them", kinds)});
    return;
  }
  const auto only_with = [&](const char* key, bool there, bool meant, const char* kind) {
    if (there && !meant) out.push_back({at + key, fmt::format("goes with \"{}\" only", kind)});
  };
  only_with("/size", o.size.has_value(), o.collective.has_value(), "collective");
  only_with("/algorithm", o.algorithm.has_value(), o.collective.has_value(), "collective");
  only_with("/from", o.from.has_value(), o.send.has_value(), "send");
  only_with("/to", o.to.has_value(), o.send.has_value(), "send");
  if (o.send && !o.ranks.empty()) out.push_back({at + "/ranks", "follows from \"from\" and \"to\": leave it out"});
  const auto needs = [&](const char* key, bool there, const char* what) {
    if (!there) out.push_back({at + key, fmt::format("missing: write {}", what)});
  };
  if (o.collective && *o.collective != Collective::barrier) needs("/size", o.size.has_value(), "a size such as \"256KiB\"");
  if (o.collective == Collective::barrier && o.size.value_or(Bytes{}).count > 0)
    out.push_back({at + "/size", fmt::format("a barrier has no bytes: leave the size out, got \"{}\"", to_string(*o.size))});
  if (!o.send) return;
  needs("/from", o.from.has_value(), "the rank that sends");
  needs("/to", o.to.has_value(), "the rank that receives");
  if (o.from && o.from == o.to) out.push_back({at + "/to", fmt::format("must be another rank than \"from\", got {}", *o.to)});
}

void check_ranks(const OperationSpec& o, int ranks, const std::string& at, std::vector<Problem>& out) {
  const auto check_rank = [&](Rank rank, const std::string& where) {
    if (rank < 0 || rank >= ranks) out.push_back({where, fmt::format("must be a rank, 0 to {}, got {}", ranks - 1, rank)});
  };
  if (o.from) check_rank(*o.from, at + "/from");
  if (o.to) check_rank(*o.to, at + "/to");
  std::set<Rank> seen;
  for (std::size_t i = 0; i < o.ranks.size(); ++i) {
    check_rank(o.ranks[i], fmt::format("{}/ranks/{}", at, i));
    if (!seen.insert(o.ranks[i]).second)
      out.push_back({fmt::format("{}/ranks/{}", at, i), fmt::format("rank {} is there twice", o.ranks[i])});
  }
}

void check_collective(const Scenario& scenario, const AlgorithmChoice& row, const OperationSpec& o, const std::string& at,
                      std::vector<Problem>& out) {
  const Scenario alone = scenario_of_operation(scenario, row, o);
  const AlgorithmChoice& choice = alone.workload.algorithms.front();
  const std::string where = o.algorithm ? at + "/algorithm" : "/workload/algorithm";
  if (is_in_network(choice.name) || choice.name == "hdrm" || extra_servers(choice.settings) > 0) {
    out.push_back({where, fmt::format("{} places its ranks or servers itself, which a program does not: choose another", label(choice))});
    return;
  }
  std::vector<Problem> problems = algorithm_problems(alone, choice, where);
  if (problems.empty() && weft::problems(alone.placement, ranks_of(alone), alone.fabric.spec, alone.server).empty()) {
    Scenario call = alone;
    call.workload.sizes = {o.size.value_or(Bytes{})};
    if (std::string why = too_many_segments(call, choice); !why.empty()) problems.push_back({where + "/segment", std::move(why)});
  }
  for (Problem& problem : problems) {
    if (problem.where == "/workload/ranks") problem.where = at + "/ranks";
    if (std::ranges::find(out, problem) == out.end()) out.push_back(std::move(problem));
  }
  const auto bytes = static_cast<std::int64_t>(size_of(scenario.workload.dtype));
  if (o.size && o.size->count % bytes != 0)
    out.push_back({at + "/size", fmt::format("must be a multiple of {} bytes, the size of a {}, got \"{}\"", bytes,
                                             name_of(scenario.workload.dtype), to_string(*o.size))});
}

}  // namespace

Scenario scenario_of_operation(const Scenario& scenario, const AlgorithmChoice& row, const OperationSpec& o) {
  Scenario out = scenario;
  Workload& w = out.workload;
  w.program.clear();
  w.trace = {};
  w.collective = o.collective.value_or(Collective::allreduce);
  w.ranks = o.ranks.empty() ? ranks_of(scenario) : static_cast<int>(o.ranks.size());
  w.root = w.root < w.ranks ? w.root : 0;
  const bool on_servers = !o.ranks.empty() && !scenario.server.is_sub_node();
  if (on_servers && problems(scenario.placement, ranks_of(scenario), scenario.fabric.spec, scenario.server).empty()) {
    const std::vector<int> all = place(scenario.placement, ranks_of(scenario), scenario.fabric.spec, scenario.server);
    std::vector<int> seats;
    for (const Rank rank : o.ranks) seats.push_back(all.at(static_cast<std::size_t>(rank)));
    out.placement = listed(seats);
  }
  w.algorithms = {with_server_defaults(out, o.algorithm ? *o.algorithm : without_server_defaults(scenario, row))};
  return out;
}

std::vector<Problem> program_problems(const Scenario& scenario) {
  std::vector<Problem> out;
  const Workload& w = scenario.workload;
  if (w.program.empty()) return out;
  if (!w.sizes.empty()) out.push_back({"/workload/size", "goes with one collective; the operations of a program have their own sizes"});
  if (!traits_of(scenario.network).programs)
    out.push_back({"/workload/program", fmt::format("runs on the networks {} only, got \"{}\"", networks_that(&NetworkTraits::programs),
                                                    name_of(scenario.network))});
  std::set<std::string> ids;
  for (std::size_t i = 0; i < w.program.size(); ++i) {
    const OperationSpec& o = w.program[i];
    const std::string at = fmt::format("/workload/program/{}", i);
    for (std::size_t k = 0; k < o.after.size(); ++k)
      if (!ids.contains(o.after[k]))
        out.push_back({fmt::format("{}/after/{}", at, k), fmt::format("\"{}\" is no operation before this one", o.after[k])});
    if (!ids.insert(o.id).second) out.push_back({at + "/id", fmt::format("\"{}\" is the id of an operation before", o.id)});
    const std::size_t before = out.size();
    check_kind(o, at, out);
    check_ranks(o, ranks_of(scenario), at, out);
    if (out.size() > before || !o.collective) continue;
    for (const AlgorithmChoice& row : w.algorithms) check_collective(scenario, row, o, at, out);
  }
  return out;
}

}  // namespace weft
