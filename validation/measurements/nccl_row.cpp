// One row of nccl-tests' table, cut into its columns: "size count type redop root | time algbw busbw #wrong | the same in place". Before
// 2.13 the columns redop and root are there where the program has a choice, and "error" is the largest difference to the right result.
#include "validation/measurements/nccl_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

bool is_date(std::string_view word) {
  return word.size() >= 8 && (word.find(':') != word.npos || word.find('-', 1) != word.npos) && !word.empty() && word[0] >= '0' &&
         word[0] <= '9';
}

// The largest difference to the right result that nccl-tests before 2.13 let pass, by type: of rounding only, and of each sum.
double allowed_difference(std::string_view type, int ranks) {
  if (ranks == 0) return std::numeric_limits<double>::infinity();  // it depends on how many were added
  const double of_one = type == "half" || type == "bfloat16" ? 1e-2 : type == "float" ? 1e-5 : type == "double" ? 1e-12 : 0;
  return of_one * std::max(1, ranks - 1);
}

double gbps_of(std::int64_t bytes, const NcclBlock& block) { return static_cast<double>(bytes) / block.time_us * 1e-3; }

}  // namespace

std::optional<bool> is_one_block_in_place(const NcclHeader& header) {
  if (header.blocks_named == 2) return true;
  return header.says_out_of_place == header.says_in_place ? std::nullopt : std::optional(header.says_in_place);
}

std::string read_block(std::span<const std::string_view> words, std::optional<double> max_error, NcclBlock& out) {
  const auto time = number_in(words[0]);
  if (!time) return fmt::format("the time must be a number, got \"{}\"", words[0]);
  out.time_us = *time;
  out.algbw = number_in(words[1]);
  out.busbw = number_in(words[2]);
  if (!out.algbw || !out.busbw) return fmt::format("bandwidths must be numbers, got \"{}\" and \"{}\"", words[1], words[2]);
  if (words.size() == 3 || words[3] == "N/A") return {};
  const auto wrong = number_in(words[3]);
  if (wrong && max_error && *wrong <= *max_error) return {};
  if (wrong && max_error)
    return fmt::format("the result was wrong by {}, more than rounding; the time of a wrong result is none", words[3]);
  if (!wrong) return fmt::format("#wrong must be a number or N/A, got \"{}\"", words[3]);
  if (*wrong != 0) return fmt::format("{} values of the result were wrong; the time of a wrong result is none", words[3]);
  return {};
}

std::size_t block_of(const NcclHeader& header) { return header.has_statistics ? 8 : header.has_wrong ? 4 : 3; }

std::vector<std::string_view> fields_in(std::string_view text) {
  auto words = words_in(text);
  while (!words.empty() && is_date(words.back())) words.pop_back();
  return words;
}

std::optional<NcclRow> row_in(std::span<const std::string_view> words, const NcclHeader& header) {
  const std::size_t block = block_of(header);
  const std::size_t behind_type = header.has_type ? 3 : 2;
  std::size_t lead = header.lead;
  // Before 2.13 alltoall_perf has a column redop and leaves it empty, as MetaX's programs do where nothing is added, before the root.
  const bool no_redop = header.has_redop && words.size() == lead - 1 + 2 * block && (!header.has_root || number_in(words[behind_type]));
  if (no_redop) --lead;
  if (words.size() != lead + block && words.size() != lead + 2 * block) return {};
  NcclRow out{.size = words[0], .count = words[1], .type = header.has_type ? words[2] : std::string_view(), .blocks = {}, .max_error = {}};
  if (header.has_redop) out.redop = no_redop ? "" : words[behind_type];
  if (header.has_root) out.root = words[lead - 1];
  for (std::size_t at = lead; at < words.size(); at += block) out.blocks.push_back(words.subspan(at, std::min<std::size_t>(block, 4)));
  if (header.has_differences) out.max_error = allowed_difference(out.type, header.ranks);
  return out;
}

std::optional<RowBehindPrefix> row_behind_prefix(std::string_view line, const NcclHeader& header) {
  const std::size_t block = block_of(header), lead = header.lead;
  for (const std::size_t count : {lead + 2 * block, lead - 1 + 2 * block, lead + block, lead - 1 + block}) {
    auto found = behind_prefix(line, count);
    const auto row = found ? row_in(found->words, header) : std::nullopt;
    if (!row || !whole_number_in(row->size) || !whole_number_in(row->count) || number_in(row->type) || number_in(row->redop)) continue;
    const auto is_block = [](std::span<const std::string_view> words) {
      return std::ranges::all_of(words, [](std::string_view word) { return word == "N/A" || number_in(word); });
    };
    if (whole_number_in(row->root) && std::ranges::all_of(row->blocks, is_block)) return found;
  }
  return {};
}

bool has_old_algbw(std::int64_t bytes, const NcclBlock& block) {
  constexpr double rounding = 0.005;  // of a bandwidth as it is printed
  return block.algbw && block.algbw == block.busbw && gbps_of(bytes, block) > 1.01 * (*block.algbw + rounding);
}

double algbw_of_all_bytes(std::int64_t bytes, const NcclBlock& block, int ranks) {
  const double gbps = gbps_of(bytes, block);
  const double n = ranks > 1 ? ranks : std::max(2.0, std::round(gbps / (gbps - *block.algbw)));
  return *block.algbw * n / (n - 1);
}

bool is_row(std::span<const std::string_view> words) {
  return (words.size() > 1 && whole_number_in(words[0]) && whole_number_in(words[1])) || are_mostly_numbers(words);
}

}  // namespace weft
