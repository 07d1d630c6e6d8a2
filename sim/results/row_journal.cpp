#include "sim/results/row_journal.hpp"

#include "kernels/files/files.hpp"
#include "sim/json/json_text.hpp"
#include "sim/results/row_key.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string head_of(const std::vector<std::string>& names) { return Json{{"weft_rows_of", names}}.dump() + "\n"; }

[[noreturn]] void cannot_write(const fs::path& file) {
  throw RunError(fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
}

bool is_row(const Json& json) {
  const auto is = [&](const char* key, auto of_type) { return !json.contains(key) || (json.at(key).*of_type)(); };
  return json.is_object() && json.contains("key") && is("key", &Json::is_string) && is("what_if", &Json::is_number_unsigned) &&
         is("place", &Json::is_number_unsigned) && is("trace", &Json::is_string) && is("details", &Json::is_string);
}

// each(line, its key, its JSON) for each line that is a row, in their order.
template <class Each>
void for_rows(std::string_view lines, const Each& each) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(line.size() + 1);
    const Json json = Json::parse(line, nullptr, false);
    if (is_row(json)) each(line, json.at("key").get<std::string>(), json);
  }
}

// Nothing where it is no longer what was written.
std::optional<Row> row_if_whole(const std::string& text) {
  try {
    return row_from_text(text);
  } catch (const std::logic_error&) {
    return {};
  }
}

// The whole lines of rows of these names; of a last one that a killed run has begun nothing is kept.
std::string whole_lines(const fs::path& file, const std::vector<std::string>& names) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return {};
  std::string text = read_file(file);
  if (!is_journal_of(text, names)) return {};
  text.resize(text.rfind('\n') + 1);
  return text.substr(text.find('\n') + 1);
}

void write_all(int fd, std::string_view text, const fs::path& file) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) cannot_write(file);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

RowJournal::RowJournal(const fs::path& folder, const std::vector<std::string>& names, bool resume, int what_if)
    : names_(names), file_(folder / "rows.jsonl"), beside_(folder / "rows.new.jsonl"), what_if_(what_if) {
  const std::string head = head_of(names);
  std::string old = whole_lines(file_, names);
  for (const char c : old) old_rows_ += c == '\n' ? 1U : 0U;
  if (!resume) {
    is_beside_ = old_rows_ > 0;
    open(is_beside_ ? beside_ : file_, head);
    return;
  }
  old += whole_lines(beside_, names);  // of a run after it that was killed before it had as many
  for_rows(old, [&](std::string_view line, const std::string& key, const Json&) { lines_[key] = line; });
  open(file_, head + old);
  std::error_code gone;
  if (fd_ >= 0) fs::remove(beside_, gone);
}

RowJournal::~RowJournal() {
  if (fd_ >= 0) ::close(fd_);
}

// With this content, in one go, and further lines behind it.
void RowJournal::open(const fs::path& file, const std::string& content) try {
  write_file(file, content);
  fd_ = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) cannot_write(file);
} catch (const RunError& error) {
  why_not_ = error.what();
}

std::vector<Result> RowJournal::known(const std::vector<RowRequest>& requests, Wanted wanted) const {
  std::vector<Result> out;
  for (const RowRequest& request : requests) {
    out.push_back({.request = request});
    const auto line = lines_.empty() ? lines_.end() : lines_.find(row_key(request));
    if (line == lines_.end()) continue;
    const Json json = Json::parse(line->second);
    if (json.value("what_if", 0) != what_if_) continue;
    if (wanted.trace && (!json.contains("trace") || json.value("place", requests.size()) != out.size() - 1)) continue;
    if (wanted.details && !json.contains("details")) continue;
    if (!json.contains("row") || !json.at("row").is_string()) continue;
    out.back().row = row_if_whole(json.at("row").get<std::string>());
    if (!out.back().row) continue;  // damaged: simulated again
    if (wanted.trace) out.back().trace = json.at("trace").get<std::string>();
    if (wanted.details) out.back().details = json.at("details").get<std::string>();
  }
  return out;
}

void RowJournal::add(std::size_t place, const Result& result) {
  if (!result.row) return;
  if (fd_ < 0) throw RunError(why_not_);
  Json line = {{"key", row_key(result.request)}, {"row", to_text(*result.row)}};
  if (!result.trace.empty()) line["place"] = place, line["trace"] = result.trace;
  if (what_if_ > 0) line["what_if"] = what_if_;
  if (!result.details.empty()) line["details"] = result.details;
  write_all(fd_, line.dump() + "\n", is_beside_ ? beside_ : file_);
  if (++rows_ >= old_rows_) replace_old();
}

void RowJournal::finish(const std::vector<RowRequest>& requests) {
  replace_old();
  if (fd_ < 0) return;
  std::map<std::string, std::size_t> first;  // of the requests with this key
  for (const RowRequest& request : requests) first.try_emplace(row_key(request), first.size());
  struct Line {
    std::size_t request, place;
    std::string_view text;
  };
  std::vector<Line> lines;
  const std::string text = whole_lines(file_, names_);
  for_rows(text, [&](std::string_view line, const std::string& key, const Json& json) {
    const auto request = first.find(key);
    lines.push_back({request == first.end() ? first.size() : request->second, json.value("place", std::size_t{0}), line});
  });
  std::ranges::stable_sort(lines, {}, [](const Line& line) { return std::pair(line.request, line.place); });
  lines.erase(std::unique(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.text == b.text; }), lines.end());
  std::string out = head_of(names_);
  for (const Line& line : lines) out.append(line.text).push_back('\n');
  ::close(std::exchange(fd_, -1));
  write_file(file_, out);
}

void RowJournal::replace_old() {
  if (fd_ < 0 || !std::exchange(is_beside_, false)) return;
  if (std::rename(beside_.c_str(), file_.c_str()) != 0) cannot_write(file_);
}

bool is_journal_of(std::string_view text, const std::vector<std::string>& names) { return text.starts_with(head_of(names)); }

}  // namespace weft
