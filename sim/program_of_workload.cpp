#include "sim/program_of_workload.hpp"

#include "collectives/registry/registry.hpp"
#include "collectives/schedule/message.hpp"
#include "sim/cases/program_check.hpp"
#include "sim/cases/sized.hpp"
#include "sim/scenario/algorithms.hpp"

#include <algorithm>
#include <map>

namespace weft {
namespace {

class WorkloadBuilder {
 public:
  WorkloadBuilder(const Scenario& scenario, const AlgorithmChoice& row, const ProgramSite& site)
      : scenario_(scenario), row_(row), site_(site) {
    out_.ranks = ranks_of(scenario);
    out_.operations.resize(static_cast<std::size_t>(out_.ranks));
  }

  Program build() {
    for (const OperationSpec& spec : scenario_.workload.program) add(spec);
    // Ranks that all do the same share one list.
    if (std::ranges::adjacent_find(out_.operations, std::not_equal_to{}) == out_.operations.end()) out_.operations.resize(1);
    return std::move(out_);
  }

 private:
  void add(const OperationSpec& spec) {
    Operation operation{.id = spec.id, .duration = spec.compute.value_or(SimTime{}), .stream = spec.stream};
    std::vector<Rank> members = spec.ranks;
    if (spec.send) members = {*spec.from, *spec.to};
    if (!spec.compute) operation.call = out_.add_call(call(spec, members));
    std::map<Rank, int>& at = index_[spec.id];
    for (Rank rank = 0; rank < out_.ranks; ++rank) {
      if (!members.empty() && std::ranges::find(members, rank) == members.end()) continue;
      auto& own = out_.operations[static_cast<std::size_t>(rank)];
      operation.after.clear();
      for (const std::string& id : spec.after)  // a rank does not wait for what it does not do
        if (const auto before = index_.at(id).find(rank); before != index_.at(id).end()) operation.after.push_back(before->second);
      at[rank] = static_cast<int>(own.size());
      own.push_back(operation);
    }
  }

  Call call(const OperationSpec& spec, const std::vector<Rank>& members) {
    if (spec.send) return {.name = spec.id, .schedule = message_schedule(), .members = members, .elements = spec.send->count};
    const Scenario alone = scenario_of_operation(scenario_, row_, spec);
    const AlgorithmChoice& asked = alone.workload.algorithms.front();
    std::vector<int> seats;
    for (int i = 0; i < ranks_of(alone); ++i)
      seats.push_back(site_.placement[static_cast<std::size_t>(members.empty() ? i : members[static_cast<std::size_t>(i)])]);
    const SizedChoice sized = for_call({alone, scenario_.hardware, site_.fabric, seats, spec.size.value_or(Bytes{})}, asked);
    const Request request = request_of(alone, sized.choice);
    auto& schedule = schedules_[{name_of(request.collective), label_as_run(sized.choice), request.ranks, request.machines}];
    if (!schedule) {
      auto built = std::make_shared<Schedule>(weft::build(request));
      site_.prover.require_correct(*built, request);
      schedule = std::move(built);
    }
    const auto bytes = static_cast<std::int64_t>(size_of(scenario_.workload.dtype));
    return {.name = spec.id,
            .schedule = schedule,
            .members = members,
            .elements = in_equal_blocks(*schedule, spec.size.value_or(Bytes{}).count / bytes),
            .element_bytes = bytes,
            .regime = sized.regime};
  }

  const Scenario& scenario_;
  const AlgorithmChoice& row_;
  const ProgramSite& site_;
  Program out_;
  std::map<std::string, std::map<Rank, int>> index_;  // of an operation's id, in each rank's list
  std::map<std::tuple<std::string_view, std::string, int, std::vector<std::vector<Rank>>>, std::shared_ptr<const Schedule>> schedules_;
};

}  // namespace

Program program_of_workload(const Scenario& scenario, const AlgorithmChoice& row, const ProgramSite& site) {
  return WorkloadBuilder(scenario, row, site).build();
}

}  // namespace weft
