// The rows of the tables that nccl-tests prints.
#include "validation/measurements/nccl_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <string>
#include <utility>

namespace weft {
namespace {

// Not-a-number and infinity too.
bool is_number(std::string_view word) {
  double value = 0;
  return std::from_chars(word.data(), word.data() + word.size(), value).ptr == word.data() + word.size();
}

// Where NCCL's log begins in a line: "HOST:PID:TID [DEVICE] NCCL INFO ...", of a host that the table lists, perhaps right behind a number.
std::size_t log_in(std::string_view line, const NcclHeader& header) {
  const std::size_t nccl = line.find("] NCCL ");
  std::size_t first = std::string_view::npos;
  for (const std::string& host : header.hosts)
    if (const std::size_t at = line.find(host + ":"); at < nccl) first = std::min(first, at);
  return nccl == std::string_view::npos ? nccl : first;
}

// NCCL's log has a line for each call (NCCL_DEBUG_SUBSYS=TUNING or COLL), which it prints while nccl-tests has printed a part of a row:
// such rows become whole again, on their first line.
void join_rows(std::span<std::string_view> lines, const NcclHeader& header, std::deque<std::string>& joined) {
  const auto begins_row = [](std::span<const std::string_view> words) {
    return words.size() > 1 && whole_number_in(words[0]) && whole_number_in(words[1]);
  };
  std::string* row = nullptr;
  std::string_view* first = nullptr;
  const auto end_row = [&] {
    if (row) *first = *row;
    row = nullptr;
  };
  for (std::string_view& line : lines) {
    const std::size_t log = log_in(line, header);
    const std::string_view part = line.substr(0, log);
    const auto words = words_in(part);
    if (begins_row(words)) {
      end_row();
      if (log == std::string_view::npos) continue;
      row = &joined.emplace_back(part);
      first = &line;
    } else if (row && (words.empty() || are_mostly_numbers(words))) {
      *row += " ";
      *row += part;
      line = {};
      if (!words.empty() && log == std::string_view::npos) end_row();
    } else if (log == std::string_view::npos) {
      end_row();
    }
  }
  end_row();
}

// How many results of the run were wrong: "# Out of bounds values : 2 FAILED".
std::int64_t wrong_results_in(std::span<const std::string_view> words) {
  constexpr std::array<std::string_view, 6> footer = {"#", "Out", "of", "bounds", "values", ":"};
  if (words.size() <= footer.size() || !std::ranges::equal(words.first(footer.size()), footer)) return 0;
  return whole_number_in(words[footer.size()]).value_or(0);
}

bool has_problem(const NcclRow& row) {
  NcclBlock times;
  return std::ranges::any_of(row.blocks, [&](const auto& block) { return !read_block(block, row.max_error, times).empty(); });
}

bool asks_in_place(const RowSink& sink) { return sink.options().select && sink.options().select->in_place; }

int ranks_of(const NcclHeader& header, const RowSink& sink) { return header.ranks > 0 ? header.ranks : sink.options().ranks; }

// Whether the list of ranks lacks so many that it may not name all hosts, each of which has as many as the others.
bool may_lack_hosts(const NcclHeader& header) {
  const auto listed = static_cast<int>(header.host_of.size());
  std::map<std::string_view, int> of_host;
  for (const auto& [rank, host] : header.host_of) ++of_host[host];
  const auto most = std::ranges::max_element(of_host, {}, [](const auto& host) { return host.second; });
  return most != of_host.end() && listed * header.gpus_of_a_process != header.ranks && header.ranks - listed >= most->second;
}

// At its first row, which is of this line of the file, with all lines from there on.
void begin_rows(std::size_t first, std::span<const std::string_view> lines, NcclHeader& header, RowSink& sink) {
  const auto refuse = [&](std::size_t line, const std::string& why) {
    if (!std::exchange(header.is_refused, true)) sink.problem(line, why);
  };
  if (header.second_run_at > 0)
    refuse(header.second_run_at,
           "lists a rank for the second time: two runs wrote into this file at once, as of a launcher without MPI; give the output of one");
  if (header.groups.size() > 1) refuse(header.second_group_at, several_groups(header.groups.size()));
  if (sink.options().nodes == 0 && may_lack_hosts(header))
    refuse(
        header.listed_at,
        fmt::format("lists {} of {} ranks, so that hosts may be missing from the list: it names {}; say on how many nodes the ranks were "
                    "(FILE:nodes=N), or give the whole list",
                    header.host_of.size(), header.ranks, header.hosts.size()));
  const NcclAnswer answer = collective_of(lines, header, {ranks_of(header, sink), collective_spelled(sink.options().collective)});
  header.collective = answer.collective;
  if (answer.refused_at > 0) refuse(answer.refused_at, answer.refusal);
  bool rows_say = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto words = fields_in(lines[i]);
    if (!is_row(words) && begins_a_run(words, lines[i])) break;
    if (const std::int64_t wrong = wrong_results_in(words); wrong > 0 && !rows_say) refuse(first + i, wrong_somewhere(wrong));
    const auto row = is_row(words) ? row_in(words, header) : std::nullopt;
    if (row && row->blocks.size() == 2) header.has_two_blocks = true;
    rows_say |= row && has_problem(*row);
  }
  if (!header.has_two_blocks && !is_one_block_in_place(header))
    sink.note(fmt::format("does not say of which buffer its one block of times is; taken for the {} one",
                          asks_in_place(sink) ? "in-place" : "out-of-place"));
}

void read_row(std::size_t line, std::span<const std::string_view> words, const NcclHeader& header, RowSink& sink) {
  const auto found = row_in(words, header);
  if (!found)
    return sink.problem(line, fmt::format("must have {} fields, or {} where only one buffer was measured, got {}",
                                          header.lead + 2 * block_of(header), header.lead + block_of(header), words.size()));
  Measurement row;
  const auto size = whole_number_in(found->size);
  if (!size) return sink.problem(line, fmt::format("the size must be a whole number of bytes, got \"{}\"", found->size));
  if (!whole_number_in(found->count)) return sink.problem(line, fmt::format("the count must be a whole number, got \"{}\"", found->count));
  if (header.has_type && is_number(found->type))
    return sink.problem(line, fmt::format("the type must be a name such as float, got \"{}\"", found->type));
  if (*size == 0) return;  // less than an element of each rank: what a call takes that does nothing
  row.size_bytes = *size;
  row.algorithm = header.algorithm;
  row.ranks = header.ranks;
  row.nodes = static_cast<int>(header.hosts.size());
  row.gpus = row.nodes > 0 ? row.ranks / row.nodes : 0;
  set_ranks_of_nodes(header.host_of, row);
  row.collective = header.collective;
  row.back_to_back = header.has_statistics ? 1 : header.iterations;  // -I waits for every one
  row.gpus_of_a_process = header.gpus_of_a_process;
  row.elements = elements_of(found->type, found->redop);
  const bool may_divide = row.collective.empty() || row.collective == "allgather" || row.collective == "reduce_scatter";
  const bool one_block = found->blocks.size() == 1;
  for (std::size_t b = 0; b < found->blocks.size(); ++b) {
    row.in_place = one_block ? is_one_block_in_place(header).value_or(asks_in_place(sink)) : (b == 1) != header.is_in_place_first;
    NcclBlock times;
    const std::string problem = read_block(found->blocks[b], found->max_error, times);
    if (one_block && header.has_two_blocks)
      return sink.problem(line, problem.empty() ? fmt::format("has {} fields where other rows of the same run have {}: it was cut",
                                                              words.size(), words.size() + block_of(header))
                                                : problem);
    const bool wanted = sink.wants(line, row);
    if (!wanted) {
      if (problem.empty()) sink.add_other_buffer(line, times.time_us);
      continue;
    }
    if (!problem.empty()) return sink.problem(line, problem);
    row.time_us = times.time_us;
    const std::string collective = collective_spelled(row.collective.empty() ? sink.options().collective : row.collective);
    row.told_ranks = ranks_told(collective, found->blocks[b][1], found->blocks[b][2]);
    if (may_divide && has_old_algbw(*size, times)) times.algbw = algbw_of_all_bytes(*size, times, ranks_of(header, sink));
    sink.add(line, row, times.algbw);
  }
}

}  // namespace

void read_nccl_text(std::string_view text, RowSink& sink) {
  NcclHeader header;
  auto lines = lines_in(text);
  std::deque<std::string> joined;  // which some lines are then
  // A number or two above all of a table, such as what `wc -l` printed, are no row that was cut.
  const auto begins_none = [&](std::span<const std::string_view> words) { return !header.has_columns && words.size() <= 2; };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto words = fields_in(lines[i]); !is_row(words) || begins_none(words)) {
      const std::string_view line = trimmed(lines[i]);
      const auto row = line.starts_with('#') ? std::nullopt : row_behind_prefix(line, header);  // or somebody's comment
      if (row && !header.is_refused) sink.problem(i + 1, row_behind(*row));
      read_header_line(i + 1, line, header, sink);
      continue;
    }
    if (!std::exchange(header.has_rows, true)) {
      join_rows(std::span(lines).subspan(i), header, joined);
      begin_rows(i + 1, std::span(lines).subspan(i), header, sink);
    }
    if (!header.is_refused) read_row(i + 1, fields_in(lines[i]), header, sink);
  }
}

}  // namespace weft
