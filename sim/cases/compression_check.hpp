// What keeps a workload's all-reduces from being compressed.
#pragma once

#include "models/compressed_allreduce.hpp"
#include "sim/json/json_text.hpp"
#include "sim/scenario/scenario.hpp"

#include <optional>
#include <vector>

namespace weft {

// Of a workload that was read without a problem; `json` is the scenario as written.
std::vector<Problem> compression_problems(const Json& json, const Scenario& scenario);

// The compressed all-reduce of a row, by the first of its compressions; none where that compresses nothing. Only for what has no problems.
std::optional<CompressedAllreduce> compressed_allreduce(const Scenario& scenario, const AlgorithmChoice& algorithm);

// Whether its kernels keep the GPU that trains from computing.
bool shares_the_gpu(const Scenario& scenario);

}  // namespace weft
