#include "validation/measurements/lines.hpp"

#include "collectives/schedule/schedule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace weft {
namespace {

constexpr std::string_view blanks = " \t\r\n\f\v";
constexpr std::size_t max_problems = 50;

template <class T>
std::optional<T> parsed(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> lines_in(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string_view> words_in(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const auto begin = line.find_first_not_of(blanks);
    if (begin == line.npos) return words;
    const auto end = std::min(line.find_first_of(blanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

std::optional<double> number_in(std::string_view text) {
  const auto value = parsed<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> whole_number_in(std::string_view text) { return parsed<std::int64_t>(text); }

std::size_t decimals_in(std::string_view number) {
  const auto point = number.find('.');
  return point == number.npos ? 0 : number.size() - point - 1;
}

std::optional<RowBehindPrefix> behind_prefix(std::string_view line, std::size_t count) {
  auto words = words_in(line);
  if (words.size() < count || count == 0) return {};
  words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(count));
  const auto tag = words.front().find_last_of(":|])>");
  if (tag != std::string_view::npos) words.front().remove_prefix(tag + 1);
  const std::string_view prefix = trimmed(line.substr(0, static_cast<std::size_t>(words.front().data() - line.data())));
  if (prefix.empty() || words.front().empty()) return {};
  return RowBehindPrefix{std::string(prefix), std::move(words)};
}

std::string row_behind(const RowBehindPrefix& found) {
  return fmt::format("looks like a row behind \"{}\"; a row must begin with its size: remove what stands before it", found.prefix);
}

std::optional<std::string> before_title(std::span<const std::string_view> lines, std::size_t line, std::string_view title,
                                        std::string_view next) {
  constexpr std::size_t soon = 4;  // with lines of settings in between
  const std::size_t at = lines[line].find(title);
  if (at == std::string_view::npos) return {};
  if (trimmed(lines[line].substr(0, at)).find_first_not_of('#') == std::string_view::npos) return {};  // or a heading of Markdown
  const auto below = lines.subspan(line + 1, std::min(soon, lines.size() - line - 1));
  if (std::ranges::none_of(below, [&](std::string_view one) { return one.size() > at && one.substr(at).starts_with(next); })) return {};
  return std::string(trimmed(lines[line].substr(0, at)));
}

std::string title_behind(std::string_view prefix) {
  return fmt::format("looks like the title of a table behind \"{}\"; it must begin its line: remove what stands before each line", prefix);
}

// "4,194,304", which no program of measurements prints: somebody's spreadsheet did.
bool has_thousands(std::string_view word) {
  const auto first = word.find(',');
  if (first == word.npos || first == 0 || first > 3 || (word.size() - first) % 4 != 0) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if ((i >= first && (i - first) % 4 == 0) != (word[i] == ',') || (word[i] != ',' && (word[i] < '0' || word[i] > '9'))) return false;
  return true;
}

bool are_mostly_numbers(std::span<const std::string_view> words) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto looks_like_one = [&](std::string_view word) {
    if (word == "N/A" || word.ends_with("nan") || word.ends_with("inf")) return true;
    const bool begins = is_digit(word[0]) || (word.size() > 1 && (word[0] == '-' || word[0] == '+' || word[0] == '.') && is_digit(word[1]));
    const auto dash = word.find('-', 1);
    const bool is_address = std::ranges::count(word, '.') == 3;  // of a host
    return begins && !is_address && (word.find_first_of(":/%,[](){}=_") == word.npos || has_thousands(word)) &&
           (dash == word.npos || word[dash - 1] == 'e' || word[dash - 1] == 'E');
  };
  return !words.empty() && looks_like_one(words.front()) && 3 * std::ranges::count_if(words, looks_like_one) >= 2 * std::ssize(words);
}

void RowSink::problem(std::size_t line, std::string_view text, std::string_view place) {
  if (is_excluded(line)) return;
  LineProblem problem{line == 0 || !place.empty() ? file_ : fmt::format("{}:{}", file_, line),
                      place.empty() ? std::string(text) : fmt::format("{}: {}", place, text)};
  if (problems_.empty() || problems_.back() != problem) problems_.push_back(std::move(problem));  // of both buffers of a row once
}

void RowSink::note(std::string_view text) {
  std::string note = fmt::format("{}: {}", file_, text);
  if (std::ranges::find(out_.notes, note) == out_.notes.end()) out_.notes.push_back(std::move(note));
}

void set_ranks_of_nodes(const std::map<int, std::string>& node_of, Measurement& row) {
  std::map<std::string_view, int> listed;
  for (const auto& [rank, node] : node_of) ++listed[node];
  const int all = static_cast<int>(node_of.size());
  if (all == 0 || (all != row.ranks && all * row.gpus_of_a_process != row.ranks)) return;
  const auto [fewest, most] =
      std::ranges::minmax_element(listed, {}, [](const std::pair<const std::string_view, int>& node) { return node.second; });
  row.fewest_of_a_node = fewest->second * (row.ranks / all), row.most_of_a_node = most->second * (row.ranks / all);
}

std::string collective_spelled(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (c != '_' && c != '-') letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> others = {
      {{"bcast", "broadcast"}, {"reducescatter", "reduce_scatter"}}};
  for (const auto& [other, ours] : others)
    if (letters == other) return std::string(ours);
  if (const auto of_program = collective_of_nccl_program(name); of_program && !of_program->empty()) return std::string(*of_program);
  return collective_named(letters) ? letters : std::string(name);
}

bool is_measured_collective(std::string_view name) {
  return collective_named(name) || name == "latency" || name == "bandwidth" || name == "bidirectional_bandwidth";
}

bool RowSink::is_excluded(std::size_t line) {
  if (!options_.select || line == 0) return false;
  const auto& excluded = options_.select->exclude;
  const auto found = std::find(excluded.begin(), excluded.end(), fmt::format("{}:{}", file_, line));
  if (found == excluded.end()) return false;
  out_.excluded.insert(*found);
  return true;
}

bool RowSink::wants(std::size_t line, const Measurement& row) {
  const std::string& algorithm = row.algorithm.empty() ? options_.algorithm : row.algorithm;
  out_.algorithms.insert(algorithm);
  out_.systems.insert(row.system);
  if (!options_.select) return true;
  const RowSelection& s = *options_.select;
  const bool excluded = is_excluded(line);
  const bool asked = s.only.empty() || std::ranges::any_of(s.only, [&](const std::string& only) {
                       return only == algorithm || only == without_settings(algorithm);
                     });
  const bool named = !excluded && asked && row.system.find(s.system) != row.system.npos;
  if (named && row.in_place == s.in_place) return true;
  ++out_.not_selected;
  if (named) ++out_.of_other_buffer;
  return false;
}

void RowSink::place(Measurement& row) const {
  if (options_.back_to_back > 0) row.back_to_back = options_.back_to_back, row.mean_of_ranks = false;
  if (options_.ranks == 0 && options_.nodes == 0) return;
  if (row.ranks == 0) row.ranks = row.nodes * row.gpus;
  if (row.ranks == 0) row.ranks = options_.ranks;
  if (options_.nodes == 0) return;
  if (row.nodes != options_.nodes) row.fewest_of_a_node = row.most_of_a_node = 0;
  row.nodes = options_.nodes;
  row.gpus = 0;
}

void RowSink::miss_collective(std::size_t line) {
  auto& lines = without_collective_;
  if (is_excluded(line) || lines.last == line) return;
  if (lines.lines++ == 0) {
    lines.first = line, lines.told_at = problems_.size();
    problems_.emplace_back();
  }
  lines.last = line;
}

std::string RowSink::problem_of(const Measurement& row, std::optional<double> printed_gbps) const {
  if (!is_measured_collective(row.collective)) return fmt::format("\"{}\" is no collective that Weft simulates", row.collective);
  if (options_.ranks > 0 && row.ranks != options_.ranks && collective_named(row.collective))
    return fmt::format("{} ranks were measured, but ranks={} is given with the file", row.ranks, options_.ranks);
  if (row.size_bytes < 0) return fmt::format("the size must not be negative, got {}", row.size_bytes);
  if (row.size_bytes > largest_bytes) return fmt::format("the size must be at most {} bytes, got {}", largest_bytes, row.size_bytes);
  if (!(row.time_us > 0)) return fmt::format("the time must be more than 0 us, got {:g}", row.time_us);
  if (row.time_us > longest_us) return fmt::format("the time must be at most {:g} us (106 days), got {:g}", longest_us, row.time_us);
  if (!printed_gbps || *printed_gbps < 0.5) return {};  // fewer digits than it takes
  const double gbps = static_cast<double>(row.size_bytes) / row.time_us * 1e-3;
  if (std::abs(gbps - *printed_gbps) <= 0.05 * gbps + 0.01) return {};
  return fmt::format("{} bytes in {:g} us are {:.4g} GB/s, but the line says {:g}; sizes must be in bytes, times in us, algbw in GB/s",
                     row.size_bytes, row.time_us, gbps, *printed_gbps);
}

void RowSink::add(std::size_t line, Measurement row, std::optional<double> printed_gbps, std::string_view place_in_file) {
  if (row.source.empty()) row.source = file_;
  row.where = fmt::format("{}:{}", file_, line);
  row.collective = collective_spelled(row.collective.empty() ? options_.collective : row.collective);
  if (row.algorithm.empty() && collective_named(row.collective)) row.algorithm = options_.algorithm;
  place(row);
  if (options_.select && row.size_bytes >= 0) {
    const auto size = static_cast<double>(row.size_bytes);
    if (size < options_.select->smallest_bytes || size > options_.select->largest_bytes.value_or(size)) {
      ++out_.not_selected;
      return;
    }
  }
  if (row.collective.empty()) return miss_collective(line);
  if (const std::string found = problem_of(row, printed_gbps); !found.empty()) return problem(line, found, place_in_file);
  out_.rows.push_back(std::move(row));
  lines_.push_back(line);
}

std::string told(const LineProblem& problem) {
  return problem.place.empty() ? problem.text : fmt::format("{}: {}", problem.place, problem.text);
}

std::vector<LineProblem> grouped(const std::vector<LineProblem>& problems) {
  std::map<std::string_view, std::size_t> lines;  // by text
  for (const LineProblem& problem : problems) ++lines[problem.text];
  std::vector<LineProblem> out;
  for (const LineProblem& problem : problems) {
    const std::size_t more = std::exchange(lines[problem.text], 0);
    if (more > 1) out.push_back({problem.place, fmt::format("{} (and {} more line{})", problem.text, more - 1, more > 2 ? "s" : "")});
    if (more == 1) out.push_back(problem);
  }
  return out;
}

Measurements RowSink::finish(std::string format) {
  if (out_.rows.empty() && problems_.empty() && out_.not_selected == 0)
    problem(0, fmt::format("holds no measurement (read as {})", format));
  if (const auto& lines = without_collective_; lines.lines > 0)
    problems_[lines.told_at] = {
        fmt::format("{}:{}", file_, lines.first),
        fmt::format("does not say which collective was measured{}; give it with --collective NAME or {}:collective=NAME",
                    lines.lines > 1 ? fmt::format(", nor do {} other lines", lines.lines - 1) : "", file_)};
  if (!refusal_.empty()) problems_.insert(problems_.begin(), {file_, refusal_});
  if (!problems_.empty() && (!options_.skip_bad || !refusal_.empty() || out_.rows.empty())) {
    if (problems_.size() > max_problems) problems_ = grouped(problems_);
    if (problems_.size() > max_problems) {
      const std::size_t more = problems_.size() - max_problems;
      problems_.resize(max_problems);
      problems_.push_back({file_, fmt::format("and {} more lines like these", more)});
    }
    std::vector<std::string> lines;
    for (const LineProblem& problem : problems_) lines.push_back(told(problem));
    throw InputError(std::move(lines));
  }
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (const auto other = other_buffer_us_.find(lines_[i]); other != other_buffer_us_.end())
      out_.rows[i].other_buffer_us = std::clamp(other->second, 0.0, longest_us);
  out_.format = std::move(format);
  for (const LineProblem& problem : grouped(problems_)) out_.skipped.push_back(told(problem));
  return std::move(out_);
}

}  // namespace weft
