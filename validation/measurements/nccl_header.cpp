// What nccl-tests prints above the rows of a run.
#include "validation/measurements/nccl_table.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace weft {
namespace {

// Of ranks; 0 if the word is no number that could be one.
int count_in(std::string_view word) {
  const std::int64_t count = whole_number_in(word).value_or(0);
  return count > 0 && count <= 1 << 20 ? static_cast<int>(count) : 0;
}

bool is_program(std::string_view word) { return collective_of_nccl_program(word).has_value(); }

// "all_reduce_perf done", "# Collective test concluded: all_reduce_perf"; "for i in 1 2; do all_reduce_perf; done" is a command.
bool says_end(std::span<const std::string_view> words) {
  const auto has = [&](std::string_view end) {
    return std::ranges::any_of(words, [&](std::string_view word) {
      return std::ranges::equal(word.substr(0, word.find_last_not_of(".,:;!") + 1), end, {},
                                [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    });
  };
  return !has("do") && (has("done") || has("concluded") || has("finished") || has("completed") || has("ended") || has("exited"));
}

// "cd /home/x/alltoall_perf", "Working directory: /home/x/alltoall_perf", "PWD=/home/x/alltoall_perf".
bool is_folder(std::string_view word, std::string_view before) {
  if (const auto equals = word.find('='); equals != word.npos) before = word.substr(0, equals);
  std::string name(before.substr(0, before.find_last_not_of(":=") + 1));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool says_folder = name == "cd" || name.ends_with("dir") || name.ends_with("directory") || name.ends_with("folder") ||
                           name.ends_with("cwd") || name.ends_with("pwd");
  return says_folder && name.find('/') == name.npos && word.find('/') != word.npos;
}

// What the line names as the program of the rows below it; of several programs it names none.
std::optional<NcclName> name_in(std::size_t line, std::span<const std::string_view> words) {
  const auto found = std::ranges::find_if(words, is_program);
  if (found == words.end() || says_end(words) || is_folder(*found, found == words.begin() ? "" : *(found - 1))) return {};
  const auto name_of = [](std::string_view program) { return program.substr(program.rfind('/') + 1); };
  if (std::any_of(found, words.end(), [&](std::string_view word) { return is_program(word) && name_of(word) != name_of(*found); }))
    return {};
  return NcclName{line, std::string(name_of(*found)), std::string(*collective_of_nccl_program(*found)), words.size() == 1};
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

// "# nThread 1 nGpus 8 minBytes 8 ...".
void read_parameters(std::span<const std::string_view> words, NcclHeader& header) {
  const auto count_behind = [&](std::string_view name) { return std::clamp(count_in(behind(name, words)), 1, 1024); };
  header.gpus_of_a_process = count_behind("nThread") * count_behind("nGpus");
  if (count_in(behind("graph:", words)) > 0) header.gpus_of_a_process = 1;  // one launch for all calls
}

void read_columns(std::span<const std::string_view> words, NcclHeader& header) {
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  header.has_columns = true;
  header.has_type = has("type"), header.has_redop = has("redop"), header.has_root = has("root");
  header.lead = std::size_t{2} + (header.has_type ? 1 : 0) + (header.has_redop ? 1 : 0) + (header.has_root ? 1 : 0);
  header.has_differences = has("error");
  header.has_wrong = header.has_differences || has("#wrong") || has("wrong");
  header.has_statistics = has("i_min");
  header.blocks_named = std::ranges::count(words, "time");
}

// The lines right above the rows, of which some programs print no # and pages of text lose it.
bool heads_columns(std::span<const std::string_view> words) {
  if (words.size() > 1 && ((words[0] == "size" && words[1] == "count") || (words[0] == "(B)" && words[1] == "(elements)"))) return true;
  return !words.empty() && std::ranges::all_of(words, [](std::string_view word) { return word == "out-of-place" || word == "in-place"; });
}

}  // namespace

bool begins_a_run(std::span<const std::string_view> words, std::string_view text) {
  return text.find("nccl-tests version") != text.npos || text.find("Collective test starting") != text.npos ||
         text.starts_with("# weft bench:") || std::ranges::any_of(words, is_program) || names_a_rank(words) || has_parameters(words) ||
         text.find("Using devices") != text.npos;
}

void read_header_line(std::size_t line, std::string_view text, NcclHeader& header, RowSink& sink) {
  const auto words = words_in(text);
  if (header.has_rows && begins_a_run(words, text)) header = {};
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  if (auto name = name_in(line, words)) {
    if (has("starting:")) header.named.clear();  // nccl-tests says it itself
    header.named.push_back(std::move(*name));
  }
  if (names_a_rank(words)) {
    const int rank = count_in(words[words[0] == "#" ? 2 : 1]);
    header.ranks = std::max(header.ranks, rank + 1);
    const std::string process = fmt::format("{} {}", behind("Pid", words), behind("on", words));
    if (header.processes.try_emplace(rank, process).first->second != process && header.second_run_at == 0) header.second_run_at = line;
    header.listed_at = line;
    if (const auto host = behind("on", words); !host.empty()) header.hosts.emplace(host), header.host_of.try_emplace(rank, host);
    if (const auto group = behind("Group", words); !group.empty() && header.groups.emplace(group).second && header.groups.size() == 2)
      header.second_group_at = line;
  }
  if (has_parameters(words)) read_parameters(words, header);
  if (!text.starts_with('#') && !heads_columns(words)) return;
  if (text.starts_with("# Blocking Enabled")) header.iterations = 1, header.is_blocking = true;
  if (words.size() > 3 && words[1] == "weft" && words[2] == "bench:") header.collective = words[3], header.says_in_place = true;
  if (words.size() == 3 && words[1] == "algorithm") header.algorithm = words[2];
  if (words.size() > 2 && words[1] == "compression") {
    header.is_refused = true;
    sink.problem(line, compressed_is_none(words[2].substr(0, words[2].find_last_not_of(':') + 1)));
  }
  if (words.size() > 2 && words[2].starts_with("ranks")) header.ranks = count_in(words[1]);
  for (std::size_t i = 2; i + 1 < words.size(); ++i)  // "warmup iters: 5 iters: 20 agg iters: 1"
    if (words[i] == "iters:" && words[i - 1] != "warmup" && words[i - 1] != "agg" && !header.is_blocking)
      header.iterations = std::max(1, count_in(words[i + 1]));
  if (has("out-of-place") || has("in-place")) {
    header.says_out_of_place = has("out-of-place"), header.says_in_place = has("in-place");
    header.is_in_place_first = header.says_out_of_place && header.says_in_place && text.find("in-place") < text.find("out-of-place");
  }
  if (has("size") && has("count")) {
    read_columns(words, header);
    if (has("cputime")) {
      header.is_refused = true;
      sink.problem(line, cpu_time_is_none("the columns are of \"cputime\" (-C)"));
    }
  }
  if (has("bytes") && has("N") && has("time") && has("algbw")) {
    header.is_refused = true;
    sink.problem(line,
                 "the columns are those of nccl-tests of 2019 and before (\"bytes N type op\"), whose times are in ms; write the sizes "
                 "and times as CSV, with size_bytes and time_us");
  }
  if (has("(B)") && has("(elements)") && (!has("(us)") || has("(ms)") || has("(s)"))) {
    header.is_refused = true;
    sink.problem(line, fmt::format("times must be in (us), the units are \"{}\"", trimmed(text.substr(1))));
  }
}

}  // namespace weft
