// What has become of a row that was asked for.
#pragma once

#include "sim/cases/plan.hpp"
#include "sim/results/row.hpp"

#include <optional>
#include <string>

namespace weft {

struct Result {
  RowRequest request;
  std::optional<Row> row = {};  // or why there is none:
  std::string failure = {};
  bool bad_input = false;    // the failure is the scenario's
  std::string trace = {};    // Perfetto events, when asked for
  std::string details = {};  // what the report shows besides, when asked for (sim/report/details.hpp)
};

}  // namespace weft
