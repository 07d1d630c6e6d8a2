#include "sim/cases/plan.hpp"

#include "sim/cases/describe.hpp"
#include "sim/scenario/fault_fields.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace weft {
namespace {

std::vector<const EngineChoice*> engines_of(const Workload& workload) {
  if (!workload.training.given()) return {nullptr};
  std::vector<const EngineChoice*> out;
  for (const EngineChoice& engine : workload.training.engines) out.push_back(&engine);
  return out;
}

// Only the first where the engine pushes to parameter servers of its own instead: all others would be the same row.
std::span<const AlgorithmChoice> algorithms_of(const Workload& workload, const EngineChoice* engine) {
  const std::span<const AlgorithmChoice> all = workload.algorithms;
  return engine && std::holds_alternative<BytepsSettings>(engine->settings) ? all.first(std::min<std::size_t>(all.size(), 1)) : all;
}

std::vector<const CompressionChoice*> compressions_of(const Workload& workload) {
  if (workload.compressions.empty()) return {nullptr};
  std::vector<const CompressionChoice*> out;
  for (const CompressionChoice& compression : workload.compressions) out.push_back(&compression);
  return out;
}

}  // namespace

std::vector<RowRequest> rows_of(const std::vector<Case>& cases) {
  std::vector<RowRequest> out;
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (const Bytes size : cases[i].scenario.workload.sizes)
      for (const EngineChoice* engine : engines_of(cases[i].scenario.workload))
        for (const CompressionChoice* compression : compressions_of(cases[i].scenario.workload))
          for (const AlgorithmChoice& algorithm : algorithms_of(cases[i].scenario.workload, engine))
            out.push_back({.case_index = i,
                           .scenario = &cases[i].scenario,
                           .algorithm = &algorithm,
                           .size = size,
                           .engine = engine,
                           .compression = compression});
  return out;
}

std::string name_of(const RowRequest& request) {
  return (request.engine ? label(*request.engine) + ", " : "") + label(*request.algorithm) +
         (request.compression ? ", " + label(*request.compression) : "");
}

Scenario scenario_of(const RowRequest& request) {
  Scenario out = *request.scenario;
  if (request.engine) out.workload.training.engines = {*request.engine};
  if (request.compression) out.workload.compressions = {*request.compression};
  return out;
}

std::string axes_label(const Case& one) {
  std::vector<std::string> parts;
  bool fabric_described = false;
  for (const Setting& axis : one.axes) {
    if (axis.pointer == "/workload/algorithm" || axis.pointer == "/workload/size") continue;
    if (axis.pointer == "/fabric" ||
        (axis.pointer.starts_with("/fabric/") && axis.value.is_number() && std::ranges::count(axis.pointer, '/') == 2)) {
      if (!std::exchange(fabric_described, true)) parts.push_back(describe(one.scenario.fabric.spec));
      continue;
    }
    if (axis.pointer == "/faults") {
      parts.push_back(one.scenario.faults.any() ? describe(one.scenario.faults) : "nothing fails");
      continue;
    }
    const std::string value = axis.value.is_string() ? axis.value.get<std::string>() : shown(axis.value);
    parts.push_back(fmt::format("{}={}", axis.pointer.substr(1), value));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string label(const RowRequest& request, const std::vector<Case>& cases) {
  const std::string axes = axes_label(cases[request.case_index]);
  return fmt::format("{}: {}, {}{}{}", request.scenario->name, name_of(request), to_string(request.size), axes.empty() ? "" : ", ", axes);
}

}  // namespace weft
