// The operations of MSCCL++'s execution plans, by their names.
#pragma once

#include "collectives/interchange/mscclpp_plan.hpp"

#include <string>
#include <string_view>

namespace weft {

// How the sources and results of an operation belong together.
enum class PlanLayout { none, pairs, forward, sum };

struct PlanOperationKind {
  std::string_view name;
  PlanLayout layout = PlanLayout::none;
  PlanSync sync = PlanSync::none;
  int source_packets = 1 << 10, result_packets = 1 << 10;  // from which source, and which result, on they are packets
};

// Null where no operation that is read has the name.
const PlanOperationKind* plan_operation(std::string_view name);

// Why it is not read.
std::string unknown_plan_operation(const std::string& name);

}  // namespace weft
