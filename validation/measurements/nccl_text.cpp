// The table that nccl-tests prints: a row is "size count type redop root | time algbw busbw #wrong | the same in place". Before 2.13 the
// columns redop and root are there where the program has a choice, and "error" is the largest difference to the right result.
#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace weft {
namespace {

// What stands above the rows of one run. A file may hold several, each with a header of its own.
struct NcclHeader {
  std::string collective;
  std::vector<std::string> named = {};  // all collectives whose programs are named, as where the job's script stands above the rows
  std::string algorithm;                // as weft bench says, whose table this is too
  std::set<std::string, std::less<>> hosts;
  std::map<int, std::string> processes = {};  // by rank
  std::size_t second_run_at = 0;              // line where a rank is listed again, as one of another process; 0: none
  int ranks = 0;
  int iterations = nccl_iterations;
  int gpus_of_a_process = 1;
  std::set<std::string, std::less<>> groups;  // of ranks, each of which calls its own collective at the same time
  std::size_t second_group_at = 0;            // line
  std::size_t lead = 5;                       // columns before the first time
  bool has_redop = true, has_root = true;
  bool has_differences = false;  // "error" instead of "#wrong"
  bool has_wrong = true;         // some scripts cut #wrong off
  bool has_statistics = false;   // -I: four more fields behind each #wrong
  bool has_two_blocks = false;   // some row
  bool is_blocking = false;      // -z: a barrier behind each call
  bool has_rows = false;         // what is above the next rows is of the next run
  bool is_refused = false;       // it has no collective that Weft simulates, or no times in us
};

// Of ranks; 0 if the word is no number that could be one.
int count_in(std::string_view word) {
  const std::int64_t count = whole_number_in(word).value_or(0);
  return count > 0 && count <= 1 << 20 ? static_cast<int>(count) : 0;
}

// Nothing if the words name no program of nccl-tests.
std::optional<std::string_view> program_in(std::span<const std::string_view> words) {
  const auto found = std::ranges::find_if(words, [](std::string_view word) { return collective_of_nccl_program(word).has_value(); });
  return found == words.end() ? std::nullopt : std::optional(*found);
}

// "#  Rank  3 Group  0 Pid   4104 on node0 device  1 [...]"; the first of them loses its # where a page of text took it for a heading.
bool names_a_rank(std::span<const std::string_view> words) {
  if (!words.empty() && words[0] == "#") words = words.subspan(1);
  return words.size() > 2 && words[0] == "Rank" && number_in(words[1]) && std::ranges::find(words, "Pid") != words.end();
}

// The word behind this one, empty if there is none.
std::string_view behind(std::string_view name, std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, name);
  return found == words.end() || found + 1 == words.end() ? std::string_view() : *(found + 1);
}

bool has_parameters(std::span<const std::string_view> words) {
  return words.size() > 1 && (words[0] == "nThread" || words[1] == "nThread");
}

// The first lines that a run prints, or the command line that a shell or scheduler printed.
bool begins_a_run(std::span<const std::string_view> words, std::string_view text) {
  return text.find("nccl-tests version") != text.npos || text.find("Collective test starting") != text.npos ||
         text.starts_with("# weft bench:") || program_in(words) || names_a_rank(words) || has_parameters(words) ||
         text.find("Using devices") != text.npos;
}

// "# nThread 1 nGpus 8 minBytes 8 ...".
void read_parameters(std::span<const std::string_view> words, NcclHeader& header) {
  const auto count_behind = [&](std::string_view name) { return std::clamp(count_in(behind(name, words)), 1, 1024); };
  header.gpus_of_a_process = count_behind("nThread") * count_behind("nGpus");
  if (count_in(behind("graph:", words)) > 0) header.gpus_of_a_process = 1;  // one launch for all calls
}

void read_columns(std::span<const std::string_view> words, NcclHeader& header) {
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  header.has_redop = has("redop"), header.has_root = has("root");
  header.lead = header.has_redop && header.has_root ? 5 : header.has_redop || header.has_root ? 4 : 3;
  header.has_differences = has("error");
  header.has_wrong = header.has_differences || has("#wrong") || has("wrong");
  header.has_statistics = has("i_min");
}

void read_header_line(std::size_t line, std::string_view text, NcclHeader& header, RowSink& sink) {
  const auto words = words_in(text);
  if (header.has_rows && begins_a_run(words, text)) header = {};
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  if (const auto program = program_in(words)) {
    header.collective = *collective_of_nccl_program(*program);
    header.named.push_back(header.collective);
    header.is_refused = header.collective.empty();
    if (header.is_refused) sink.problem(line, unknown_nccl_program(*program));
  }
  if (names_a_rank(words)) {
    const int rank = count_in(words[words[0] == "#" ? 2 : 1]);
    header.ranks = std::max(header.ranks, rank + 1);
    const std::string process = fmt::format("{} {}", behind("Pid", words), behind("on", words));
    if (header.processes.try_emplace(rank, process).first->second != process && header.second_run_at == 0) header.second_run_at = line;
    if (const auto host = behind("on", words); !host.empty()) header.hosts.emplace(host);
    if (const auto group = behind("Group", words); !group.empty() && header.groups.emplace(group).second && header.groups.size() == 2)
      header.second_group_at = line;
  }
  if (has_parameters(words)) read_parameters(words, header);
  if (!text.starts_with('#')) return;
  if (text.starts_with("# Blocking Enabled")) header.iterations = 1, header.is_blocking = true;
  if (words.size() > 3 && words[1] == "weft" && words[2] == "bench:") header.collective = words[3];
  if (words.size() == 3 && words[1] == "algorithm") header.algorithm = words[2];
  if (words.size() > 2 && words[1] == "compression") {
    header.is_refused = true;
    sink.problem(line, compressed_is_none(words[2].substr(0, words[2].find_last_not_of(':') + 1)));
  }
  if (words.size() > 2 && words[2].starts_with("ranks")) header.ranks = count_in(words[1]);
  for (std::size_t i = 2; i + 1 < words.size(); ++i)  // "warmup iters: 5 iters: 20 agg iters: 1"
    if (words[i] == "iters:" && words[i - 1] != "warmup" && words[i - 1] != "agg" && !header.is_blocking)
      header.iterations = std::max(1, count_in(words[i + 1]));
  if (has("size") && has("count")) {
    read_columns(words, header);
    if (has("cputime")) {
      header.is_refused = true;
      sink.problem(line, cpu_time_is_none("the columns are of \"cputime\" (-C)"));
    }
  }
  if (has("(B)") && has("(elements)") && (!has("(us)") || has("(ms)") || has("(s)"))) {
    header.is_refused = true;
    sink.problem(line, fmt::format("times must be in (us), the units are \"{}\"", trimmed(text.substr(1))));
  }
}

bool is_date(std::string_view word) {
  return word.size() >= 8 && (word.find(':') != word.npos || word.find('-', 1) != word.npos) && !word.empty() && word[0] >= '0' &&
         word[0] <= '9';
}

struct Block {
  double time_us = 0;
  std::optional<double> algbw, busbw;
};

// The largest difference to the right result that nccl-tests before 2.13 let pass, by type: of rounding only, and of each sum.
double allowed_difference(std::string_view type, int ranks) {
  if (ranks == 0) return std::numeric_limits<double>::infinity();  // it depends on how many were added
  const double of_one = type == "half" || type == "bfloat16" ? 1e-2 : type == "float" ? 1e-5 : type == "double" ? 1e-12 : 0;
  return of_one * std::max(1, ranks - 1);
}

// One "time algbw busbw #wrong", with "error" of at most so much instead, or without the last; says what is wrong with it, or nothing.
std::string read_block(std::span<const std::string_view> words, std::optional<double> max_error, Block& out) {
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

// One row of the table, cut into its columns.
struct NcclRow {
  std::string_view size, count, type, redop = "none", root = "-1";
  std::vector<std::span<const std::string_view>> blocks;
  std::optional<double> max_error;  // where the table tells differences
};

// Not-a-number and infinity too.
bool is_number(std::string_view word) {
  double value = 0;
  return std::from_chars(word.data(), word.data() + word.size(), value).ptr == word.data() + word.size();
}

// Fields of what was measured with one buffer.
std::size_t block_of(const NcclHeader& header) { return header.has_statistics ? 8 : header.has_wrong ? 4 : 3; }

std::vector<std::string_view> fields_in(std::string_view text) {
  auto words = words_in(text);
  while (!words.empty() && is_date(words.back())) words.pop_back();
  return words;
}

// Nothing if the words are not as many as the columns.
std::optional<NcclRow> row_in(std::span<const std::string_view> words, const NcclHeader& header) {
  const std::size_t block = block_of(header);
  std::size_t lead = header.lead;
  // Before 2.13 alltoall_perf has a column redop and leaves it empty.
  const bool no_redop = header.has_redop && !header.has_root && words.size() == lead - 1 + 2 * block;
  if (no_redop) --lead;
  if (words.size() != lead + block && words.size() != lead + 2 * block) return {};
  NcclRow out{.size = words[0], .count = words[1], .type = words[2], .blocks = {}, .max_error = {}};
  if (header.has_redop) out.redop = no_redop ? "" : words[3];
  if (header.has_root) out.root = words[lead - 1];
  for (std::size_t at = lead; at < words.size(); at += block) out.blocks.push_back(words.subspan(at, std::min<std::size_t>(block, 4)));
  if (header.has_differences) out.max_error = allowed_difference(out.type, header.ranks);
  return out;
}

double gbps_of(std::int64_t bytes, const Block& block) { return static_cast<double>(bytes) / block.time_us * 1e-3; }

// Before nccl-tests' commit ec1b5e2 (June 2020) algbw of all_gather_perf and reduce_scatter_perf counted the (n-1)/n of the bytes that
// busbw counts, so that both were the same; the size was the whole message's, as it is now.
bool has_old_algbw(std::int64_t bytes, const Block& block) {
  return block.algbw && block.algbw == block.busbw && gbps_of(bytes, block) > 1.01 * *block.algbw;
}

// As it is counted now; of an unknown number of ranks, 0, by the number that comes nearest.
double algbw_of_all_bytes(std::int64_t bytes, const Block& block, int ranks) {
  const double gbps = gbps_of(bytes, block);
  const double n = ranks > 1 ? ranks : std::max(2.0, std::round(gbps / (gbps - *block.algbw)));
  return *block.algbw * n / (n - 1);
}

// What the columns of a row say of the collective, and busbw / algbw where several programs have the same columns: 2(n-1)/n for an
// all-reduce, 1 for a broadcast, (n-1)/n for reduce_scatter, gather and scatter; not where these have too few digits. `ranks` is n, 0 if
// nobody says it.
std::string collective_by_columns(const NcclRow& row, const Block& block, int ranks) {
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

// Of size and count at least, or of numbers mostly; NCCL, MPI and schedulers print other lines in between.
bool is_row(std::span<const std::string_view> words) {
  return (words.size() > 1 && whole_number_in(words[0]) && whole_number_in(words[1])) || are_mostly_numbers(words);
}

// Old versions do not print their name: of a run whose first row is the first of these lines, what its rows say.
std::string collective_of_run(std::span<const std::string_view> lines, const NcclHeader& header, int ranks) {
  for (const std::string_view line : lines) {
    const auto words = fields_in(line);
    if (!is_row(words)) {
      if (begins_a_run(words, line)) return {};
      continue;
    }
    Block times;
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

// How many results of the run were wrong: "# Out of bounds values : 2 FAILED".
std::int64_t wrong_results_in(std::span<const std::string_view> words) {
  constexpr std::array<std::string_view, 6> footer = {"#", "Out", "of", "bounds", "values", ":"};
  if (words.size() <= footer.size() || !std::ranges::equal(words.first(footer.size()), footer)) return 0;
  return whole_number_in(words[footer.size()]).value_or(0);
}

bool has_problem(const NcclRow& row) {
  Block times;
  return std::ranges::any_of(row.blocks, [&](const auto& block) { return !read_block(block, row.max_error, times).empty(); });
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
  bool rows_say = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto words = fields_in(lines[i]);
    if (!is_row(words) && begins_a_run(words, lines[i])) break;
    if (const std::int64_t wrong = wrong_results_in(words); wrong > 0 && !rows_say) refuse(first + i, wrong_somewhere(wrong));
    const auto row = is_row(words) ? row_in(words, header) : std::nullopt;
    if (row && row->blocks.size() == 2) header.has_two_blocks = true;
    rows_say |= row && has_problem(*row);
  }
}

int ranks_of(const NcclHeader& header, const RowSink& sink) { return header.ranks > 0 ? header.ranks : sink.options().ranks; }

void read_row(std::size_t line, std::span<const std::string_view> words, const NcclHeader& header, RowSink& sink) {
  const auto found = row_in(words, header);
  if (!found)
    return sink.problem(line, fmt::format("must have {} fields, or {} where only one buffer was measured, got {}",
                                          header.lead + 2 * block_of(header), header.lead + block_of(header), words.size()));
  Measurement row;
  const auto size = whole_number_in(found->size);
  if (!size) return sink.problem(line, fmt::format("the size must be a whole number of bytes, got \"{}\"", found->size));
  if (!whole_number_in(found->count)) return sink.problem(line, fmt::format("the count must be a whole number, got \"{}\"", found->count));
  if (is_number(found->type)) return sink.problem(line, fmt::format("the type must be a name such as float, got \"{}\"", found->type));
  if (*size == 0) return;  // less than an element of each rank: what a call takes that does nothing
  row.size_bytes = *size;
  row.algorithm = header.algorithm;
  row.ranks = header.ranks;
  row.nodes = static_cast<int>(header.hosts.size());
  row.gpus = row.nodes > 0 ? row.ranks / row.nodes : 0;
  row.collective = header.collective;
  row.back_to_back = header.has_statistics ? 1 : header.iterations;  // -I waits for every one
  row.gpus_of_a_process = header.gpus_of_a_process;
  row.elements = elements_of(found->type, found->redop);
  const bool may_divide = row.collective.empty() || row.collective == "allgather" || row.collective == "reduce_scatter";
  const bool one_block = found->blocks.size() == 1;  // out of place was left out
  for (std::size_t b = 0; b < found->blocks.size(); ++b) {
    row.in_place = one_block || b == 1;
    Block times;
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

std::optional<std::string_view> collective_of_nccl_program(std::string_view program) {
  if (const auto slash = program.rfind('/'); slash != program.npos) program.remove_prefix(slash + 1);
  if (program.ends_with("_mpi")) program.remove_suffix(4);
  for (const auto& [name, collective] : {std::pair<std::string_view, std::string_view>{"all_reduce_perf", "allreduce"},
                                         {"reduce_scatter_perf", "reduce_scatter"},
                                         {"all_gather_perf", "allgather"},
                                         {"broadcast_perf", "broadcast"},
                                         {"reduce_perf", "reduce"},
                                         {"alltoall_perf", "alltoall"},
                                         {"alltoallv_perf", ""},
                                         {"gather_perf", ""},
                                         {"hypercube_perf", ""},
                                         {"scatter_perf", ""},
                                         {"sendrecv_perf", ""}})
    if (program == name) return collective;
  return {};
}

std::string unknown_nccl_program(std::string_view program) {
  return fmt::format(
      "\"{}\" is none of the programs of nccl-tests that Weft simulates: all_gather_perf, all_reduce_perf, alltoall_perf, broadcast_perf, "
      "reduce_perf, reduce_scatter_perf",
      program);
}

std::string several_groups(std::size_t count) {
  return fmt::format(
      "the ranks are in {} groups (NCCL_TESTS_SPLIT), which all call the collective at the same time; only one group of all ranks is "
      "simulated",
      count);
}

std::string compressed_is_none(std::string_view compression) {
  return fmt::format("what was measured is compressed ({}), and costs are fitted to calls that are not", compression);
}

std::string cpu_time_is_none(std::string_view found) {
  return fmt::format("{}: the CPU time of a launch is no time of the collective; measure without -C", found);
}

std::string wrong_somewhere(std::int64_t results) {
  return fmt::format("{} result{} of the run {} wrong and no row says which; the time of a wrong result is none", results,
                     results == 1 ? "" : "s", results == 1 ? "was" : "were");
}

std::string elements_of(std::string_view type, std::string_view operation) {
  if (operation.empty() || operation == "none") return std::string(type);
  return fmt::format("{} {}", type, operation);
}

void read_nccl_text(std::string_view text, RowSink& sink) {
  NcclHeader header;
  const auto lines = lines_in(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    const auto words = fields_in(line);
    if (!is_row(words)) {
      read_header_line(i + 1, line, header, sink);
      continue;
    }
    if (!std::exchange(header.has_rows, true)) {
      begin_rows(i + 1, std::span(lines).subspan(i), header, sink);
      header.collective = collective_of(std::span(lines).subspan(i), header, ranks_of(header, sink));
    }
    if (!header.is_refused) read_row(i + 1, words, header, sink);
  }
}

}  // namespace weft
