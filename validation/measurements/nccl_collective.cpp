// Which collective a table of nccl-tests is of.
#include "validation/measurements/nccl_table.hpp"

#include <algorithm>

namespace weft {
namespace {

// What the columns of a row say of the collective, and busbw / algbw where several programs have the same columns: 2(n-1)/n for an
// all-reduce, 1 for a broadcast, (n-1)/n for reduce_scatter, gather and scatter; not where these have too few digits. `ranks` is n, 0 if
// nobody says it.
std::string collective_by_columns(const NcclRow& row, const NcclBlock& block, int ranks) {
  if (row.redop.empty()) return "alltoall";
  const bool reduces = row.redop != "none", has_root = row.root != "-1";
  if (reduces && has_root) return "reduce";
  if (!block.algbw || !block.busbw || *block.algbw < 0.1 || reduces == has_root) return {};
  const double ratio = *block.busbw / *block.algbw;
  constexpr double digit = 0.01;  // the last of a bandwidth
  constexpr int max_ranks = 1024;
  if (has_root) return ratio == 1 && *block.algbw > 2 * digit * (ranks > 0 ? ranks : max_ranks) ? "broadcast" : "";
  if (ranks > 2) return ratio > 1.15 ? "allreduce" : "reduce_scatter";
  return ratio > 0.99 && !has_old_algbw(whole_number_in(row.size).value_or(0), block) ? "allreduce" : "reduce_scatter";
}

// Old versions do not print their name: of a run whose first row is the first of these lines, what its rows say.
std::string collective_of_run(std::span<const std::string_view> lines, const NcclHeader& header, int ranks) {
  for (const std::string_view line : lines) {
    const auto words = fields_in(line);
    if (!is_row(words)) {
      if (begins_a_run(words, line)) return {};
      continue;
    }
    NcclBlock times;
    const auto row = row_in(words, header);
    if (!row || !read_block(row->blocks.front(), row->max_error, times).empty()) continue;
    if (std::string told = collective_by_columns(*row, times, ranks); !told.empty()) return told;
  }
  return {};
}

// Whether the columns redop and root are those of the collective.
bool has_columns_of(const NcclRow& row, const NcclHeader& header, std::string_view collective) {
  const bool reduces = collective == "allreduce" || collective == "reduce_scatter" || collective == "reduce";
  if (header.has_redop && !row.redop.empty() && (row.redop != "none") != reduces) return false;
  return !header.has_root || (row.root != "-1") == has_root(collective);
}

}  // namespace

// Whose programs are named above the rows, as in a job's script: of several, what the rows say, or the last that the first of them can be
// of.
std::string collective_of(std::span<const std::string_view> lines, const NcclHeader& header, int ranks) {
  if (std::ranges::all_of(header.named, [&](const std::string& one) { return one == header.collective; }) && !header.collective.empty())
    return header.collective;
  if (std::string told = collective_of_run(lines, header, ranks); !told.empty()) return told;
  const auto words = fields_in(lines.front());
  const auto row = row_in(words, header);
  const auto fits = std::find_if(header.named.rbegin(), header.named.rend(),
                                 [&](const std::string& one) { return !one.empty() && row && has_columns_of(*row, header, one); });
  return fits != header.named.rend() ? *fits : header.collective;
}

}  // namespace weft
