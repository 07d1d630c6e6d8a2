// Which collective a table of nccl-tests is of.
#include "kernels/dtype.hpp"
#include "validation/measurements/nccl_table.hpp"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr double bandwidth_step = 0.01;  // of a bandwidth as it is printed

// Of nccl-tests' names and of those of weft bench; nothing of other types.
std::optional<std::int64_t> bytes_of_an_element(std::string_view type) {
  for (const auto& [name, bytes] : {std::pair<std::string_view, std::int64_t>{"char", 1},
                                    {"int", 4},
                                    {"uint32", 4},
                                    {"uint64", 8},
                                    {"int8", 1},
                                    {"half", 2},
                                    {"float", 4},
                                    {"double", 8},
                                    {"f8e4m3", 1},
                                    {"f8e5m2", 1}})
    if (type == name) return bytes;
  const auto dtype = dtype_named(type);
  return dtype ? std::optional(static_cast<std::int64_t>(size_of(*dtype))) : std::nullopt;
}

// How often the elements that are counted stand in the size: once where the count is of the whole message (all-reduce, broadcast, reduce,
// send and receive), n times where it is of one rank's block of n (all_gather, reduce_scatter, alltoall, gather, scatter), in all
// versions. 0 if the columns are of nothing like that.
std::int64_t blocks_of(const NcclRow& row) {
  const auto size = whole_number_in(row.size), count = whole_number_in(row.count), bytes = bytes_of_an_element(row.type);
  if (!size || !count || !bytes || *size <= 0 || *count <= 0 || *count > *size / *bytes || *size % (*count * *bytes) != 0) return 0;
  return *size / (*count * *bytes);
}

// Of programs with the columns redop and, since 2.13, a root of -1: all_reduce_perf, reduce_scatter_perf and sendrecv_perf, by the count
// and by busbw / algbw, which are 2(n-1)/n, (n-1)/n and 1. `ranks` is n, 0 if nobody says it.
std::string collective_that_reduces(const NcclRow& row, const NcclBlock& block, int ranks) {
  const std::int64_t blocks = blocks_of(row);
  if (blocks > 1 && (ranks == 0 || blocks == ranks)) return "reduce_scatter";
  if (blocks == 1 && ranks == 2) return "allreduce";
  if (*block.algbw < 10 * bandwidth_step) return {};
  const double ratio = *block.busbw / *block.algbw;
  if (ratio > 1.15) return "allreduce";
  if (blocks == 1) return {};
  if (ranks > 2 || ratio < 0.9 || has_old_algbw(whole_number_in(row.size).value_or(0), block)) return "reduce_scatter";
  return ranks == 2 ? "allreduce" : "";
}

// What the columns of a row say of the collective, where no other program has the same; `ranks` as above.
std::string collective_by_columns(const NcclRow& row, const NcclBlock& block, int ranks) {
  if (row.redop.empty()) return "alltoall";
  const bool reduces = row.redop != "none", has_root = row.root != "-1";
  if (reduces && has_root) return "reduce";
  if (!block.algbw || !block.busbw || reduces == has_root) return {};
  if (reduces) return collective_that_reduces(row, block, ranks);
  // busbw of gather_perf and scatter_perf is (n-1)/n of algbw
  constexpr int max_ranks = 1024;
  const bool has_digits = *block.algbw > 2 * bandwidth_step * (ranks > 0 ? ranks : max_ranks);
  const std::int64_t blocks = blocks_of(row);
  return block.algbw == block.busbw && (blocks == 1 || (blocks == 0 && has_digits)) ? "broadcast" : "";
}

// Whether busbw / algbw can be of it, whatever the ranks and the version.
bool has_bandwidths_of(const NcclBlock& block, std::string_view collective) {
  if (!block.algbw || !block.busbw) return true;
  if (collective == "allreduce") return *block.busbw >= *block.algbw - bandwidth_step;
  return collective != "reduce_scatter" || *block.busbw <= *block.algbw + bandwidth_step;
}

// Whether the columns redop and root are those of the collective.
bool has_columns_of(const NcclRow& row, const NcclHeader& header, std::string_view collective) {
  const bool reduces = collective == "allreduce" || collective == "reduce_scatter" || collective == "reduce";
  if (header.has_redop && !row.redop.empty() && (row.redop != "none") != reduces) return false;
  return !header.has_root || (row.root != "-1") == has_root(collective);
}

// Old versions do not print their name: of a run whose first row is the first of these lines, what its rows say, or what the user says
// where every row allows it.
std::string collective_of_run(std::span<const std::string_view> lines, const NcclHeader& header, const NcclQuestion& asked) {
  std::string told;
  bool is_allowed = !asked.collective.empty();
  for (const std::string_view line : lines) {
    const auto words = fields_in(line);
    if (!is_row(words)) {
      if (begins_a_run(words, line)) break;
      continue;
    }
    NcclBlock times;
    const auto row = row_in(words, header);
    if (!row || !read_block(row->blocks.front(), row->max_error, times).empty()) continue;
    is_allowed = is_allowed && has_columns_of(*row, header, asked.collective) && has_bandwidths_of(times, asked.collective);
    if (told.empty()) told = collective_by_columns(*row, times, asked.ranks);
  }
  return is_allowed ? asked.collective : told;
}

}  // namespace

// Whose programs are named above the rows, as in a job's script: of several, what the rows say, or the last that the first of them can be
// of.
std::string collective_of(std::span<const std::string_view> lines, const NcclHeader& header, const NcclQuestion& asked) {
  if (std::ranges::all_of(header.named, [&](const std::string& one) { return one == header.collective; }) && !header.collective.empty())
    return header.collective;
  if (std::string told = collective_of_run(lines, header, asked); !told.empty()) return told;
  const auto words = fields_in(lines.front());
  const auto row = row_in(words, header);
  const auto fits = std::find_if(header.named.rbegin(), header.named.rend(),
                                 [&](const std::string& one) { return !one.empty() && row && has_columns_of(*row, header, one); });
  return fits != header.named.rend() ? *fits : header.collective;
}

}  // namespace weft
