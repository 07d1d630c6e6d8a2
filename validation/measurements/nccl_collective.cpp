// Which collective a table of nccl-tests is of.
#include "kernels/dtype.hpp"
#include "validation/measurements/nccl_table.hpp"

#include <algorithm>
#include <deque>
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

// Whether results were compared out of place only, as sendrecv_perf does it; all_reduce_perf does it of both buffers or, with -c 0, of
// none.
bool checks_one_buffer(const NcclRow& row) {
  const auto is_checked = [](std::span<const std::string_view> block) { return block.size() > 3 && block[3] != "N/A"; };
  return row.blocks.size() == 2 && is_checked(row.blocks[0]) && row.blocks[1].size() > 3 && !is_checked(row.blocks[1]);
}

// Of programs with the columns redop and, since 2.13, a root of -1: all_reduce_perf, reduce_scatter_perf and sendrecv_perf, by the count
// and by busbw / algbw, which are 2(n-1)/n, (n-1)/n and 1. `ranks` is n, 0 if nobody says it.
std::string collective_that_reduces(const NcclRow& row, const NcclBlock& block, int ranks) {
  const std::int64_t blocks = blocks_of(row);
  if (blocks > 1 && (ranks == 0 || blocks == ranks)) return "reduce_scatter";
  const bool sends = checks_one_buffer(row);
  if (blocks == 1 && ranks == 2) return sends ? "" : "allreduce";
  if (*block.algbw < 10 * bandwidth_step) return {};
  const double ratio = *block.busbw / *block.algbw;
  if (ratio > 1.15) return "allreduce";
  if (blocks == 1) return {};
  if (ranks > 2 || ratio < 0.9 || has_old_algbw(whole_number_in(row.size).value_or(0), block)) return "reduce_scatter";
  return ranks == 2 && !sends ? "allreduce" : "";
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

// Whether busbw / algbw can be of it, whatever the ranks and the version. Of one rank busbw is 0.
bool has_bandwidths_of(const NcclBlock& block, std::string_view collective) {
  if (!block.algbw || !block.busbw || *block.busbw == 0) return true;
  if (collective == "allreduce") return *block.busbw >= *block.algbw - bandwidth_step;
  const bool has_share = collective == "reduce_scatter" || collective == "allgather" || collective == "alltoall";
  return !has_share || *block.busbw <= *block.algbw + bandwidth_step;
}

// Whether the column redop is that of the collective.
bool has_redop_of(const NcclRow& row, const NcclHeader& header, std::string_view collective) {
  const bool reduces = collective == "allreduce" || collective == "reduce_scatter" || collective == "reduce";
  return !header.has_redop || row.redop.empty() || (row.redop != "none") == reduces;
}

bool has_columns_of(const NcclRow& row, const NcclHeader& header, std::string_view collective) {
  return has_redop_of(row, header, collective) && (!header.has_root || (row.root != "-1") == has_root(collective));
}

struct RowOfRun {
  NcclRow row;
  NcclBlock times;
};

// Those that can be read of the run whose first row is the first of these lines; they point into `words`.
std::vector<RowOfRun> rows_of_run(std::span<const std::string_view> lines, const NcclHeader& header,
                                  std::deque<std::vector<std::string_view>>& words) {
  std::vector<RowOfRun> out;
  for (const std::string_view line : lines) {
    auto fields = fields_in(line);
    if (!is_row(fields)) {
      if (begins_a_run(fields, line)) break;
      continue;
    }
    words.push_back(std::move(fields));
    NcclBlock times;
    const auto row = row_in(words.back(), header);
    if (row && read_block(row->blocks.front(), row->max_error, times).empty()) out.push_back({*row, times});
  }
  return out;
}

// Old versions do not print their name: what the rows say, or what the user says where every row allows it.
std::string collective_by_rows(const std::vector<RowOfRun>& rows, const NcclHeader& header, const KnownOfNcclRun& asked) {
  if (!asked.collective.empty() && std::ranges::all_of(rows, [&](const RowOfRun& r) {
        return has_columns_of(r.row, header, asked.collective) && has_bandwidths_of(r.times, asked.collective);
      }))
    return asked.collective;
  for (const auto& [row, times] : rows)
    if (std::string told = collective_by_columns(row, times, asked.ranks); !told.empty()) return told;
  return {};
}

// One that shows that the run is not of the collective; nothing if most rows, which one that was garbled is not, do not.
const RowOfRun* row_against(const std::vector<RowOfRun>& rows, const NcclHeader& header, std::string_view collective) {
  const RowOfRun* against = nullptr;
  std::ptrdiff_t others = 0;
  for (const RowOfRun& one : rows) {
    const bool fits = has_redop_of(one.row, header, collective) && has_bandwidths_of(one.times, collective);
    const bool has_digits = one.times.algbw.value_or(0) >= 10 * bandwidth_step;
    if (!fits && !against) against = &one;
    others += fits ? (has_digits ? 1 : 0) : -1;
  }
  return others < 0 ? against : nullptr;
}

// A listing of programs, one in a line, names none of them.
std::vector<NcclName> without_lists(const std::vector<NcclName>& named) {
  std::vector<NcclName> out;
  for (const NcclName& one : named)
    if (std::ranges::none_of(named, [&](const NcclName& other) {
          return one.is_alone && other.is_alone && other.program != one.program &&
                 (other.line + 1 == one.line || one.line + 1 == other.line);
        }))
      out.push_back(one);
  return out;
}

}  // namespace

// Whose programs are named above the rows, as in a job's script: of several, what the rows say, or the last that they can be of.
NcclAnswer collective_of(std::span<const std::string_view> lines, const NcclHeader& header, const KnownOfNcclRun& asked) {
  if (!header.collective.empty()) return {header.collective};
  const std::vector<NcclName> named = without_lists(header.named);
  std::deque<std::vector<std::string_view>> words;
  const std::vector<RowOfRun> rows = rows_of_run(lines, header, words);
  std::string told = collective_by_rows(rows, header, asked);
  if (named.empty()) return {std::move(told)};
  const NcclName& last = named.back();
  const bool is_one = std::ranges::all_of(named, [&](const NcclName& one) { return one.program == last.program; });
  const auto fits = std::find_if(named.rbegin(), named.rend(), [&](const NcclName& one) {
    return !one.collective.empty() && !row_against(rows, header, one.collective) &&
           (is_one || rows.empty() || has_columns_of(rows.front().row, header, one.collective));
  });
  const bool simulates_none = std::ranges::all_of(named, [](const NcclName& one) { return one.collective.empty(); });
  // A send and receive between two ranks has the columns of an all-reduce.
  if (simulates_none || (last.collective.empty() && (told.empty() || asked.ranks == 2)))
    return {{}, last.line, unknown_nccl_program(last.program)};
  if (is_one && fits != named.rend()) return {fits->collective};
  if (!told.empty()) return {std::move(told)};
  if (fits != named.rend()) return {fits->collective};
  const RowOfRun* found = row_against(rows, header, last.collective);
  const RowOfRun& against = found ? *found : rows.front();
  return {
      {},
      last.line,
      fmt::format(
          "names {}, whose rows cannot have redop {}, root {} and {:g} GB/s of busbw at {:g} of algbw, as the row of {} bytes below has; "
          "give what was measured with --collective NAME",
          last.program, against.row.redop, against.row.root, *against.times.busbw, *against.times.algbw, against.row.size)};
}

}  // namespace weft
