// The table a person reads: nccl-tests' columns, what was in effect above it, the fastest marked.
#pragma once

#include "sim/results/result.hpp"
#include "sim/results/text_table.hpp"

#include <string>
#include <vector>

namespace weft {

// "1.875MiB": to four digits, in a unit that leaves one to four of them before the point.
std::string rounded_size(Bytes size);
// What is said where others are compared with NCCL and only_nccl_has_latencies(hardware).
std::string no_latencies_beside_nccl(std::string_view hardware);

std::string to_table(const std::vector<Result>& results, const std::vector<Case>& cases, const TableStyle& style = {});

// The same as tables of GitHub, one for each case.
std::string to_markdown(const std::vector<Result>& results, const std::vector<Case>& cases);

}  // namespace weft
