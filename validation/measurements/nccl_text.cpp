// The table that nccl-tests prints: a row is "size count type redop root | time algbw busbw #wrong | the same in place".
#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace weft {
namespace {

// What stands above the rows of one run. A file may hold several, each with a header of its own.
struct NcclHeader {
  std::string collective;
  std::string algorithm;  // as weft bench says, whose table this is too
  std::set<std::string, std::less<>> hosts;
  int ranks = 0;
  bool has_root = true;
  bool has_statistics = false;  // -I: four more fields behind each #wrong
  bool has_rows = false;        // what is above the next rows is of the next run
  bool is_refused = false;      // it has no collective that Weft simulates, or no times in us
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

// The first lines that a run prints, or the command line that a shell or scheduler printed.
bool begins_a_run(std::span<const std::string_view> words, std::string_view text) {
  return text.find("nccl-tests version") != text.npos || text.find("Collective test starting") != text.npos ||
         text.starts_with("# weft bench:") || program_in(words) || (words.size() > 1 && (words[1] == "nThread" || words[1] == "Rank")) ||
         text.find("Using devices") != text.npos;
}

void read_header_line(std::size_t line, std::string_view text, NcclHeader& header, RowSink& sink) {
  const auto words = words_in(text);
  if (header.has_rows && begins_a_run(words, text)) header = {};
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  if (const auto program = program_in(words)) {
    header.collective = *collective_of_nccl_program(*program);
    header.is_refused = header.collective.empty();
    if (header.is_refused) sink.problem(line, unknown_nccl_program(*program));
  }
  if (!text.starts_with('#')) return;
  if (words.size() > 3 && words[1] == "weft" && words[2] == "bench:") header.collective = words[3];
  if (words.size() == 3 && words[1] == "algorithm") header.algorithm = words[2];
  if (words.size() > 2 && words[2].starts_with("ranks")) header.ranks = count_in(words[1]);
  if (words.size() > 3 && words[1] == "Rank" && has("Pid")) {
    ++header.ranks;
    if (const auto on = std::ranges::find(words, "on"); on != words.end() && on + 1 != words.end()) header.hosts.emplace(*(on + 1));
  }
  if (has("size") && has("count")) {
    header.has_root = has("root");
    header.has_statistics = has("i_min");
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

// One "time algbw busbw #wrong"; says what is wrong with it, or nothing.
std::string read_block(std::span<const std::string_view> words, Block& out) {
  const auto time = number_in(words[0]);
  if (!time) return fmt::format("the time must be a number, got \"{}\"", words[0]);
  out.time_us = *time;
  out.algbw = number_in(words[1]);
  out.busbw = number_in(words[2]);
  if (!out.algbw || !out.busbw) return fmt::format("bandwidths must be numbers, got \"{}\" and \"{}\"", words[1], words[2]);
  if (words[3] == "N/A") return {};
  const auto wrong = number_in(words[3]);
  if (!wrong) return fmt::format("#wrong must be a number or N/A, got \"{}\"", words[3]);
  if (*wrong != 0) return fmt::format("{} values of the result were wrong; the time of a wrong result is none", words[3]);
  return {};
}

// Reductions to all are told apart by busbw / algbw: 2(n-1)/n or (n-1)/n; not where these have too few digits.
std::string collective_by_bandwidths(std::string_view redop, std::optional<std::int64_t> root, const Block& block) {
  if (redop == "none" || !root || *root != -1 || !block.algbw || *block.algbw < 0.1) return {};
  return *block.busbw / *block.algbw > 0.99 ? "allreduce" : "reduce_scatter";
}

// The fields of a row before its first block, and of a block.
std::size_t lead_of(const NcclHeader& header) { return header.has_root ? 5 : 4; }
std::size_t block_of(const NcclHeader& header) { return header.has_statistics ? 8 : 4; }

std::vector<std::string_view> fields_in(std::string_view text) {
  auto words = words_in(text);
  while (!words.empty() && is_date(words.back())) words.pop_back();
  return words;
}

bool is_row(std::string_view line) { return !line.empty() && line[0] >= '0' && line[0] <= '9'; }

// Old versions do not print their name: of a run whose first row is the first of these lines, what its rows' bandwidths say.
std::string collective_of_run(std::span<const std::string_view> lines, const NcclHeader& header) {
  const std::size_t lead = lead_of(header);
  for (const std::string_view line : lines) {
    const auto words = fields_in(trimmed(line));
    if (!is_row(trimmed(line))) {
      if (begins_a_run(words, line)) return {};
      continue;
    }
    Block times;
    if (words.size() < lead + block_of(header) || !read_block(std::span(words).subspan(lead, 4), times).empty()) continue;
    const auto root = header.has_root ? whole_number_in(words[4]) : std::nullopt;
    if (std::string told = collective_by_bandwidths(words[3], root, times); !told.empty()) return told;
  }
  return {};
}

void read_row(std::size_t line, std::string_view text, const NcclHeader& header, RowSink& sink) {
  const auto words = fields_in(text);
  const std::size_t lead = lead_of(header), block = block_of(header);
  if (words.size() != lead + block && words.size() != lead + 2 * block)
    return sink.problem(line, fmt::format("must have {} fields, or {} where only one buffer was measured, got {}", lead + 2 * block,
                                          lead + block, words.size()));
  Measurement row;
  const auto size = whole_number_in(words[0]);
  if (!size) return sink.problem(line, fmt::format("the size must be a whole number of bytes, got \"{}\"", words[0]));
  if (!whole_number_in(words[1])) return sink.problem(line, fmt::format("the count must be a whole number, got \"{}\"", words[1]));
  row.size_bytes = *size;
  row.algorithm = header.algorithm;
  row.ranks = header.ranks;
  row.nodes = static_cast<int>(header.hosts.size());
  row.gpus = row.nodes > 0 ? row.ranks / row.nodes : 0;
  row.collective = header.collective;
  const std::span<const std::string_view> all(words);
  const bool one_block = words.size() == lead + block;  // out of place was left out
  for (std::size_t b = 0; b < (one_block ? 1 : 2); ++b) {
    row.in_place = one_block || b == 1;
    if (!sink.wants(line, row)) continue;
    Block times;
    if (const std::string problem = read_block(all.subspan(lead + b * block, 4), times); !problem.empty())
      return sink.problem(line, problem);
    row.time_us = times.time_us;
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

void read_nccl_text(std::string_view text, RowSink& sink) {
  NcclHeader header;
  const auto lines = lines_in(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (is_row(line)) {
      if (!std::exchange(header.has_rows, true) && header.collective.empty())
        header.collective = collective_of_run(std::span(lines).subspan(i), header);
      if (!header.is_refused) read_row(i + 1, line, header, sink);
    } else if (!line.empty() && line[0] == '-') {
      sink.problem(i + 1, fmt::format("must start with a size in bytes, got \"{}\"", words_in(line).front()));
    } else {
      read_header_line(i + 1, line, header, sink);  // or what MPI or NCCL print in between
    }
  }
}

}  // namespace weft
