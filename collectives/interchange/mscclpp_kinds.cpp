#include "collectives/interchange/mscclpp_kinds.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/xml.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace weft {
namespace {

constexpr std::array kinds = {
    PlanOperationKind{"nop"},
    PlanOperationKind{"flush"},
    PlanOperationKind{"signal", PlanLayout::none, PlanSync::signal},
    PlanOperationKind{"rlxsignal", PlanLayout::none, PlanSync::signal},
    PlanOperationKind{"wait", PlanLayout::none, PlanSync::wait},
    PlanOperationKind{"rlxwait", PlanLayout::none, PlanSync::wait},
    PlanOperationKind{"barrier", PlanLayout::none, PlanSync::barrier},
    PlanOperationKind{"sem_acquire", PlanLayout::none, PlanSync::acquire},
    PlanOperationKind{"sem_release", PlanLayout::none, PlanSync::release},
    PlanOperationKind{"copy", PlanLayout::forward},
    PlanOperationKind{"put", PlanLayout::pairs},
    PlanOperationKind{"pws", PlanLayout::pairs, PlanSync::signal},
    PlanOperationKind{"pwsf", PlanLayout::pairs, PlanSync::signal},
    PlanOperationKind{"get", PlanLayout::pairs},
    PlanOperationKind{"re", PlanLayout::sum},
    PlanOperationKind{"res", PlanLayout::sum},
    PlanOperationKind{"rre", PlanLayout::sum},
    PlanOperationKind{"rres", PlanLayout::sum},
    PlanOperationKind{.name = "ppkt", .layout = PlanLayout::pairs, .result_packets = 0},
    PlanOperationKind{.name = "cpkt", .layout = PlanLayout::forward, .result_packets = 0},
    PlanOperationKind{.name = "upkt", .layout = PlanLayout::forward, .source_packets = 0},
    PlanOperationKind{.name = "rppkt", .layout = PlanLayout::forward, .source_packets = 0, .result_packets = 0},
    PlanOperationKind{.name = "repkt", .layout = PlanLayout::sum, .source_packets = 1},
    PlanOperationKind{.name = "respkt", .layout = PlanLayout::sum, .source_packets = 1, .result_packets = 1},
    PlanOperationKind{.name = "recpkt", .layout = PlanLayout::sum, .source_packets = 1, .result_packets = 1},
    PlanOperationKind{.name = "recspkt", .layout = PlanLayout::sum, .source_packets = 1, .result_packets = 1},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> in_the_switch = {{
    {"glre", "adds what all GPUs of the group hold in the switch (NVLS multimem load-reduce)"},
    {"glres", "adds what all GPUs of the group hold in the switch and stores the sum to all (NVLS multimem load-reduce and store)"},
    {"gstore", "stores to all GPUs of the group at once in the switch (NVLS multimem store)"},
    {"gstorepkt", "stores packets to all GPUs of the group at once in the switch (NVLS multimem store)"},
}};

}  // namespace

const PlanOperationKind* plan_operation(std::string_view name) {
  const auto kind = std::ranges::find(kinds, name, &PlanOperationKind::name);
  return kind == kinds.end() ? nullptr : &*kind;
}

std::string unknown_plan_operation(const std::string& name) {
  for (const auto& [known, does] : in_the_switch)
    if (known == name) return fmt::format("{} {}: a schedule of sends, receives and sums has no such transfer", name, does);
  std::vector<std::string> names;
  for (const PlanOperationKind& kind : kinds) names.emplace_back(kind.name);
  const auto near = nearest_name(name, names);
  return fmt::format("unknown operation {}{}; read are {}", shown_value(name), near ? fmt::format(" (did you mean \"{}\"?)", *near) : "",
                     fmt::join(names, ", "));
}

}  // namespace weft
