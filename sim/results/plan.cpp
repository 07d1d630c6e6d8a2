#include "sim/results/plan.hpp"

#include "sim/results/describe.hpp"

namespace weft {

std::vector<RowRequest> rows_of(const std::vector<Case>& cases) {
  std::vector<RowRequest> out;
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (const Bytes size : cases[i].scenario.workload.sizes)
      for (const AlgorithmChoice& algorithm : cases[i].scenario.workload.algorithms)
        out.push_back({.case_index = i, .scenario = &cases[i].scenario, .algorithm = &algorithm, .size = size});
  return out;
}

std::string axes_label(const Case& one) {
  std::string out;
  for (const Setting& axis : one.axes) {
    if (axis.pointer == "/workload/algorithm" || axis.pointer == "/workload/size") continue;
    const std::string value = axis.value.is_string() ? axis.value.get<std::string>() : shown(axis.value);
    if (!out.empty()) out += ", ";
    if (axis.pointer == "/fabric")
      out += describe(one.scenario.fabric.spec);
    else
      out += fmt::format("{}={}", axis.pointer.substr(axis.pointer.rfind('/') + 1), value);
  }
  return out;
}

std::string label(const RowRequest& request, const std::vector<Case>& cases) {
  const std::string axes = axes_label(cases[request.case_index]);
  return fmt::format("{}: {}, {}{}{}", request.scenario->name, label(*request.algorithm), to_string(request.size), axes.empty() ? "" : ", ", axes);
}

}  // namespace weft
