#include "sim/report/csv_table.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace weft {

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto at = std::ranges::find(header, name);
  if (at == header.end()) return std::nullopt;
  return static_cast<std::size_t>(at - header.begin());
}

CsvTable parse_csv(std::string_view text, const std::string& file) {
  CsvTable out;
  std::vector<std::string> fields(1);
  std::vector<std::string> problems;
  bool quotes = false;
  constexpr std::size_t max_problems = 5;  // the rest of a file that is no CSV says no more
  std::size_t line = 1, began = 1, uneven = 0;
  const auto end_line = [&] {
    if (fields.size() == 1 && fields[0].empty()) return;  // an empty line
    if (out.header.empty()) {
      out.header = fields;
      std::set<std::string> seen;
      for (const std::string& name : fields)
        if (!name.empty() && !seen.insert(name).second)
          problems.push_back(fmt::format("{}:{}: has the column \"{}\" twice", file, began, name));
    } else if (fields.size() == out.header.size()) {
      out.lines.push_back(fields);
    } else if (++uneven <= max_problems) {
      problems.push_back(fmt::format("{}:{}: has {} fields, the header {}", file, began, fields.size(), out.header.size()));
    }
    fields.assign(1, "");
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quotes && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      fields.back() += text[++i];
    else if (c == '"')
      quotes = !quotes;
    else if (quotes)
      fields.back() += c;
    else if (c == ',')
      fields.emplace_back();
    else if (c == '\n')
      end_line(), began = line;
    else if (c != '\r')
      fields.back() += c;
  }
  if (quotes)
    problems.push_back(fmt::format("{}:{}: a quote is not closed", file, began));
  else
    end_line();
  if (uneven > max_problems) problems.push_back(fmt::format("{}: and {} more lines like these", file, uneven - max_problems));
  if (out.header.empty())
    problems.push_back(fmt::format("{}: is empty; it must be CSV with a header, as weft run -o writes", file));
  else if (problems.empty() && out.lines.empty())
    problems.push_back(fmt::format("{}: has no lines below its header", file));
  if (!problems.empty()) throw InputError(problems);
  return out;
}

}  // namespace weft
