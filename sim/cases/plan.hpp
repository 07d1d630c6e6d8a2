// The rows that some cases ask for.
#pragma once

#include "sim/cases/cases.hpp"

#include <string>
#include <vector>

namespace weft {

// A row to be simulated; the cases must outlive it.
struct RowRequest {
  std::size_t case_index = 0;
  const Scenario* scenario = nullptr;
  const AlgorithmChoice* algorithm = nullptr;
  Bytes size;
  const EngineChoice* engine = nullptr;            // where the workload trains
  const CompressionChoice* compression = nullptr;  // where the workload names one
};

// Case after case, size after size, the algorithms of one size together; where the workload trains, engine after engine,
// and where it compresses, compression after compression. An engine that runs none of the algorithms has a row of the first only.
std::vector<RowRequest> rows_of(const std::vector<Case>& cases);

// What the sweep set, less what a row says of itself: "bigraph, 32 switches x 8 nodes, placement=random"; empty when
// nothing is swept.
std::string axes_label(const Case&);

// The algorithm, after the engine where the workload trains, before the compression: "ddp, ring, gs_sgd".
std::string name_of(const RowRequest&);

// Its scenario with the row's engine and compression only.
Scenario scenario_of(const RowRequest&);

// "quickstart: hdrm, 256KiB, bigraph 8 x 4"
std::string label(const RowRequest&, const std::vector<Case>& cases);

}  // namespace weft
