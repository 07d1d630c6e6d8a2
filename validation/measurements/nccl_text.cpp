// The table that nccl-tests prints: a row is "size count type redop root | time algbw busbw #wrong | the same in place".
#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <set>
#include <span>

namespace weft {
namespace {

// What stands above the rows.
struct Header {
  std::string collective;
  std::set<std::string, std::less<>> hosts;
  int ranks = 0;
  bool has_root = true;
  bool has_statistics = false;  // -I: four more fields behind each #wrong
  bool time_in_us = true;
  std::size_t units_line = 0;
};

void read_header_line(std::size_t line, std::string_view text, Header& header) {
  const auto words = words_in(text);
  const auto follows = [&](std::string_view word) -> std::string_view {
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == word) return words[i + 1];
    return {};
  };
  const auto has = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (const auto program = follows("starting:"); !program.empty()) header.collective = collective_of_nccl_program(program);
  if (words.size() > 3 && words[1] == "Rank" && has("Pid")) {
    ++header.ranks;
    if (const auto host = follows("on"); !host.empty()) header.hosts.emplace(host);
  }
  if (has("size") && has("count")) {
    header.has_root = has("root");
    header.has_statistics = has("i_min");
  }
  if (has("(B)") && has("(elements)")) {
    header.time_in_us = has("(us)") && !has("(ms)") && !has("(s)");
    header.units_line = line;
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

// Old versions do not print their name. Reductions to all are told apart by busbw / algbw: 2(n-1)/n or (n-1)/n.
std::string collective_of_row(const Header& header, std::string_view redop, std::optional<std::int64_t> root, const Block& block) {
  if (!header.collective.empty()) return header.collective;
  if (redop == "none" || !root || *root != -1 || !block.algbw || *block.algbw < 0.1) return {};
  return *block.busbw / *block.algbw > 0.99 ? "allreduce" : "reduce_scatter";
}

void read_row(std::size_t line, std::string_view text, const Header& header, RowSink& sink) {
  auto words = words_in(text);
  while (!words.empty() && is_date(words.back())) words.pop_back();
  const std::size_t lead = header.has_root ? 5 : 4, block = header.has_statistics ? 8 : 4;
  if (words.size() != lead + block && words.size() != lead + 2 * block)
    return sink.problem(line, fmt::format("must have {} fields, or {} where only one buffer was measured, got {}", lead + 2 * block,
                                          lead + block, words.size()));
  Measurement row;
  const auto size = whole_number_in(words[0]);
  if (!size) return sink.problem(line, fmt::format("the size must be a whole number of bytes, got \"{}\"", words[0]));
  if (!whole_number_in(words[1])) return sink.problem(line, fmt::format("the count must be a whole number, got \"{}\"", words[1]));
  row.size_bytes = *size;
  row.ranks = header.ranks;
  row.nodes = static_cast<int>(header.hosts.size());
  row.gpus = row.nodes > 0 ? row.ranks / row.nodes : 0;
  const auto root = header.has_root ? whole_number_in(words[4]) : std::nullopt;
  const std::span<const std::string_view> all(words);
  const bool one_block = words.size() == lead + block;  // out of place was left out
  for (std::size_t b = 0; b < (one_block ? 1 : 2); ++b) {
    Block times;
    if (const std::string problem = read_block(all.subspan(lead + b * block, 4), times); !problem.empty())
      return sink.problem(line, problem);
    row.time_us = times.time_us;
    row.in_place = one_block || b == 1;
    row.collective = collective_of_row(header, words[3], root, times);
    if (sink.agrees(line, row, times.algbw)) sink.add(line, row);
  }
}

}  // namespace

std::string collective_of_nccl_program(std::string_view program) {
  if (const auto slash = program.rfind('/'); slash != program.npos) program.remove_prefix(slash + 1);
  for (const auto& [name, collective] : {std::pair{"all_reduce_perf", "allreduce"},
                                         {"reduce_scatter_perf", "reduce_scatter"},
                                         {"all_gather_perf", "allgather"},
                                         {"broadcast_perf", "broadcast"},
                                         {"reduce_perf", "reduce"},
                                         {"alltoall_perf", "alltoall"}})
    if (program == name) return collective;
  return {};
}

void read_nccl_text(std::string_view text, RowSink& sink) {
  Header header;
  const auto lines = lines_in(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (line.starts_with('#')) {
      read_header_line(i + 1, line, header);
      if (header.units_line == i + 1 && !header.time_in_us)
        sink.problem(i + 1, fmt::format("times must be in (us), the units are \"{}\"", trimmed(line.substr(1))));
    } else if (!line.empty() && line[0] >= '0' && line[0] <= '9') {
      read_row(i + 1, line, header, sink);
    } else if (!line.empty() && line[0] == '-') {
      sink.problem(i + 1, fmt::format("must start with a size in bytes, got \"{}\"", words_in(line).front()));
    }  // anything else is what MPI or NCCL print in between
  }
}

}  // namespace weft
