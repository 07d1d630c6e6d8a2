#include "validation/measurements/prefixes.hpp"

#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weft {
namespace {

constexpr std::string_view digits = "0123456789";

struct Prefix {
  std::size_t size = 0;       // 0: there is none
  std::string_view who = {};  // rank or pod; empty: it does not say
  std::string_view tag = {};  // what a launcher puts before each write of a rank, inside of lines too; empty: it does not
};

bool is_whole(std::string_view text) { return !text.empty() && text.find_first_not_of(digits) == text.npos; }

// "[1,0]<stdout>:", "[prterun-host-7@1,0]<stderr>: ", with a time before it or not.
Prefix tag_of_mpirun(std::string_view line) {
  for (const std::string_view stream : {"]<stdout>:", "]<stderr>:", "]<stddiag>:"}) {
    const auto close = line.find(stream);
    if (close == line.npos) continue;
    const auto comma = line.rfind(',', close), open = line.rfind('[', close);
    if (open == line.npos || comma == line.npos || comma < open) continue;
    const std::string_view rank = line.substr(comma + 1, close - comma - 1);
    const auto end = close + stream.size();
    if (is_whole(rank)) return {end + (line.substr(end).starts_with(' ') ? 1 : 0), rank, line.substr(open, end - open)};
  }
  return {};
}

// "[0] ", "[default0]:", "[pod/NAME/CONTAINER] ".
Prefix in_brackets(std::string_view line) {
  const auto close = line.find(']');
  if (!line.starts_with('[') || close == line.npos || close + 1 == line.size()) return {};
  const std::string_view name = line.substr(1, close - 1);
  constexpr std::string_view torchrun = "default";
  const bool is_torchrun = line[close + 1] == ':' && name.starts_with(torchrun) && is_whole(name.substr(torchrun.size()));
  const bool is_rank = line[close + 1] == ' ' && is_whole(name);
  if (is_torchrun || is_rank || (line[close + 1] == ' ' && name.starts_with("pod/")))
    return {close + 2, name, is_rank ? line.substr(0, close + 1) : std::string_view()};
  return {};
}

// "  0: ", of an empty line "0:".
Prefix label_of_srun(std::string_view line) {
  const auto begin = line.find_first_not_of(' ');
  const auto end = begin == line.npos ? line.npos : line.find_first_not_of(digits, begin);
  if (end == line.npos || end == begin || line[end] != ':' || (end + 1 < line.size() && line[end + 1] != ' ')) return {};
  return {std::min(end + 2, line.size()), line.substr(begin, end - begin)};
}

// Digits where the shape has them, and all else as it stands there.
bool begins_as(std::string_view shape, std::string_view text) {
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '0' ? digits.find(text[i]) == digits.npos : text[i] != shape[i]) return false;
  return true;
}

// "2026-01-02T03:04:05.678901234Z ", in a container runtime's files with "stdout F " behind it; "2026-01-02 03:04:05 ", "03:04:05.678 ".
Prefix time_of_line(std::string_view line) {
  const auto first = line.find(' ');
  if (first == line.npos) return {};
  if (begins_as("0000-00-00T00:00:00", line.substr(0, first))) {
    for (const std::string_view stream : {" stdout F ", " stderr F "})
      if (line.substr(first).starts_with(stream)) return {first + stream.size(), {}};
    return {first + 1, {}};
  }
  for (const std::string_view time : {"00:00:00", "0000-00-00 00:00:00"}) {
    const auto end = begins_as(time, line) ? line.find(' ', time.size()) : line.npos;
    if (end == line.npos) continue;
    const auto behind = line.substr(time.size(), end - time.size());
    if (behind.empty() || (behind[0] == '.' && is_whole(behind.substr(1)))) return {end + 1, {}};
  }
  return {};
}

// The backslash of "\# OSU MPI ...", which keeps Markdown from taking the line for a heading.
Prefix escape_of_markdown(std::string_view line) {
  const auto begin = line.find_first_not_of(' ');
  return begin != line.npos && line.substr(begin).starts_with("\\#") ? Prefix{begin + 1, {}} : Prefix{};
}

// "> ", as Markdown marks what it quotes, and of an empty line ">"; a quote within one has two.
Prefix quote_of_markdown(std::string_view line) {
  if (!line.starts_with('>')) return {};
  return {line.substr(1).starts_with(' ') ? std::size_t{2} : std::size_t{1}};
}

// A program may print a line in several writes, as nccl-tests does a row, each of which then has the tag of the line. Of "[0]" only one
// that touches the word before it, and nothing behind it, is taken for that: what NCCL prints holds " [0] ".
std::string without_tags(std::string_view line, std::string_view tag) {
  const bool is_number = !tag.ends_with(':');
  std::string out;
  for (std::size_t begin = 0;;) {
    const auto found = tag.empty() ? line.npos : line.find(tag, begin);
    out += line.substr(begin, found - begin);
    if (found == line.npos) return out;
    begin = found + tag.size();
    const bool touches = found > 0 && line[found - 1] != ' ' && (begin == line.size() || line[begin] == ' ');
    out += is_number && !touches ? tag : " ";
  }
}

struct Line {
  std::string text;
  std::string who = {};
  std::string launcher = {};  // which kinds of prefixes say who
};

// Several may stand one behind the other: of a pod, of a time, of a rank.
Line without_prefix(std::string_view text) {
  std::string who, launcher;
  std::string_view tag;
  std::size_t kind = 0;
  const auto found = [&] {
    kind = 0;
    for (const auto find : {tag_of_mpirun, in_brackets, label_of_srun, time_of_line, escape_of_markdown, quote_of_markdown}) {
      if (const Prefix prefix = find(text); prefix.size > 0) return prefix;
      ++kind;
    }
    return Prefix{};
  };
  // A line's own tag once more is inside of it.
  for (Prefix prefix = found(); prefix.size > 0 && (tag.empty() || prefix.tag != tag); prefix = found()) {
    text.remove_prefix(prefix.size);
    if (!prefix.who.empty()) who += fmt::format("{}{}", who.empty() ? "" : " ", prefix.who), launcher += fmt::format(" {}", kind);
    if (!prefix.tag.empty()) tag = prefix.tag;
  }
  return {without_tags(text, tag), std::move(who), std::move(launcher)};
}

// Numbers by their value.
bool comes_before(const std::string& a, const std::string& b) { return std::pair(a.size(), a) < std::pair(b.size(), b); }

using Chosen = std::map<std::string, std::string>;  // who, by launcher

// Of one for each launcher, as of runs that followed one another in one file; of launchers that are not among them, of the first one's.
std::string lines_of(const std::vector<Line>& lines, const Chosen& chosen) {
  std::string out;
  for (const Line& line : lines) {
    const auto of_launcher = chosen.find(line.launcher);
    if (line.who.empty() || line.who == (of_launcher == chosen.end() ? chosen.begin() : of_launcher)->second) out += line.text;
    out += '\n';
  }
  return out;
}

// "12:" before every line, as of grep -n: numbers that grow from line to line. Ranks begin at 0, or come again.
std::string without_line_numbers(std::string_view text) {
  constexpr std::size_t fewest = 8;
  std::string out;
  std::size_t lines = 0;
  std::int64_t last = 0;
  for (const std::string_view line : lines_in(text)) {
    const auto end = line.find(':');
    const auto number = end != line.npos && is_whole(line.substr(0, end)) ? whole_number_in(line.substr(0, end)) : std::nullopt;
    if (!number || *number <= last) return std::string(text);
    last = *number, ++lines;
    out += line.substr(end + 1);
    out += '\n';
  }
  return lines >= fewest ? out : std::string(text);
}

}  // namespace

std::string without_prefixes(std::string_view with_numbers, const std::function<bool(std::string_view)>& hold_table) {
  const std::string text = without_line_numbers(with_numbers);
  std::vector<Line> lines;
  std::map<std::string, std::set<std::string, decltype(&comes_before)>> all;  // by launcher
  bool any = false;
  for (const std::string_view line : lines_in(text)) {
    lines.push_back(without_prefix(line));
    const auto& [rest, who, launcher] = lines.back();
    any = any || rest.size() != line.size();
    if (!who.empty()) all.try_emplace(launcher, comes_before).first->second.insert(who);
  }
  if (!any) return text;
  Chosen chosen;
  for (const auto& [launcher, of_launcher] : all)
    for (const std::string& who : of_launcher)
      if (hold_table(lines_of(lines, {{launcher, who}}))) {
        chosen.emplace(launcher, who);
        break;
      }
  if (chosen.empty()) chosen.emplace("", all.empty() ? "" : *all.begin()->second.begin());
  return lines_of(lines, chosen);
}

std::string without_colours(std::string_view text) {
  std::string out;
  for (;;) {
    const auto escape = text.find("\x1b[");
    out += text.substr(0, escape);
    if (escape == text.npos) return out;
    const auto end = text.find_first_not_of("0123456789;?", escape + 2);
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
}

}  // namespace weft
