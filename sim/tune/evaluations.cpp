#include "sim/tune/evaluations.hpp"

#include "sim/results/result_fields.hpp"

#include <algorithm>

namespace weft {
namespace {

using Cells = std::vector<std::string>;

constexpr const char* own_columns[] = {"evaluation", "technique", "share", "objective", "best", "failure"};
constexpr std::size_t own = std::size(own_columns);

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2U : 1U, c);
  return out + "\"";
}

std::string line_of(const Cells& cells) {
  Cells out;
  for (const std::string& cell : cells) out.push_back(quoted(cell));
  return fmt::format("{}\n", fmt::join(out, ","));
}

Cells header_of(const Cells& pointers) {
  Cells out(std::begin(own_columns), std::end(own_columns));
  for (const std::string& name : row_columns()) out.push_back(name);
  out.insert(out.end(), pointers.begin(), pointers.end());
  return out;
}

// RFC 4180: the lines of a table, each with its cells.
std::vector<Cells> lines_from(std::string_view text) {
  std::vector<Cells> lines;
  bool inside = false, begins = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins) lines.emplace_back(1);
    begins = false;
    std::string& cell = lines.back().back();
    const char c = text[i];
    if (c == '"' && inside && i + 1 < text.size() && text[i + 1] == '"')
      cell += text[++i];
    else if (c == '"')
      inside = !inside;
    else if (c == ',' && !inside)
      lines.back().emplace_back();
    else if (c == '\n' && !inside)
      begins = true;
    else
      cell += c;
  }
  return lines;
}

bool is_column(const ResultField<Row>& field) { return field.where != Shown::json_only && std::string_view(field.name) != "wall_s"; }

std::optional<double> number_from(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string cell_of(const Json& value) { return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<std::string> row_columns() {
  Cells out;
  for (const ResultField<Row>& field : fields_of<Row>())
    if (is_column(field)) out.emplace_back(field.name);
  return out;
}

std::vector<std::string> row_cells(const Row& row) {
  Cells out;
  for (const ResultField<Row>& field : fields_of<Row>())
    if (is_column(field)) out.push_back(cell_of(field.show(row)));
  return out;
}

std::string to_csv(const std::vector<Evaluation>& evaluations, const std::vector<std::string>& pointers, bool larger_is_better) {
  std::string out = line_of(header_of(pointers));
  std::optional<double> best;
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    const Evaluation& e = evaluations[i];
    const bool counts = e.failure.empty() && e.share >= 1;
    if (counts && (!best || (larger_is_better ? e.objective > *best : e.objective < *best))) best = e.objective;
    const Cells about = {fmt::format("{}", i + 1),
                         e.technique,
                         fmt::format("{}", e.share),
                         e.failure.empty() ? fmt::format("{}", e.objective) : "",
                         best ? fmt::format("{}", *best) : "",
                         e.failure};
    const std::vector<Cells> rows = e.rows.empty() ? std::vector<Cells>{Cells(row_columns().size())} : e.rows;
    for (const Cells& row : rows) {
      Cells line = about;
      line.insert(line.end(), row.begin(), row.end());
      line.insert(line.end(), e.values.begin(), e.values.end());
      out += line_of(line);
    }
  }
  return out;
}

std::vector<Evaluation> evaluations_from_csv(std::string_view text, const std::string& where, const std::vector<std::string>& pointers) {
  const std::vector<Cells> lines = lines_from(text);
  const Cells header = header_of(pointers);
  if (lines.empty() || lines.front() != header)
    throw InputError(fmt::format("{}: line 1: is not the header of the evaluations of this scenario: {}", where, fmt::join(header, ",")));
  std::vector<Evaluation> out;
  std::string last;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Cells& line = lines[i];
    const auto bad = [&](const std::string& why) { return InputError(fmt::format("{}: line {}: {}", where, i + 1, why)); };
    if (line.size() != header.size()) throw bad(fmt::format("must have {} cells, got {}", header.size(), line.size()));
    const auto share = number_from(line[2]), objective = number_from(line[3]);
    if (!share || *share <= 0 || *share > 1) throw bad(fmt::format("\"share\" must be above 0 and at most 1, got \"{}\"", line[2]));
    if (!objective && line[5].empty()) throw bad(fmt::format("\"objective\" must be a number, got \"{}\"", line[3]));
    const Cells row(line.begin() + own, line.end() - static_cast<std::ptrdiff_t>(pointers.size()));
    if (line[0] != last)
      out.push_back({.values = Cells(line.end() - static_cast<std::ptrdiff_t>(pointers.size()), line.end()),
                     .share = *share,
                     .technique = line[1],
                     .objective = objective.value_or(NAN),
                     .failure = line[5],
                     .rows = {}});
    if (line[5].empty()) out.back().rows.push_back(row);
    last = line[0];
  }
  return out;
}

bool is_evaluations_csv(std::string_view text) { return text.starts_with(fmt::format("{},", fmt::join(own_columns, ","))); }

}  // namespace weft
