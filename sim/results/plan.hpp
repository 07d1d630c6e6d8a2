// The rows that some cases ask for, and what has become of them.
#pragma once

#include "sim/results/row.hpp"
#include "sim/scenario/cases.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weft {

// A row to be simulated; the cases must outlive it.
struct RowRequest {
  std::size_t case_index = 0;
  const Scenario* scenario = nullptr;
  const AlgorithmChoice* algorithm = nullptr;
  Bytes size;
  const EngineChoice* engine = nullptr;  // where the workload trains
};

struct Result {
  RowRequest request;
  std::optional<Row> row = {};  // or why there is none:
  std::string failure = {};
  bool bad_input = false;  // the failure is the scenario's
  std::string trace = {};  // Perfetto events, when asked for
};

// Case after case, size after size, the algorithms of one size together; where the workload trains, engine after engine.
std::vector<RowRequest> rows_of(const std::vector<Case>& cases);

// What the sweep set, less what a row says of itself: "bigraph, 32 switches x 8 nodes, placement=random"; empty when
// nothing is swept.
std::string axes_label(const Case&);

// The algorithm, after the engine where the workload trains: "ddp, ring".
std::string name_of(const RowRequest&);

// "quickstart: hdrm, 256KiB, bigraph 8 x 4"
std::string label(const RowRequest&, const std::vector<Case>& cases);

}  // namespace weft
