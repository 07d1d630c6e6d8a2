#include "sim/results/text_table.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr const char *green = "1;32", *dim = "2";

bool is_constant(const TextTable& table, std::size_t column) {
  return table.columns[column].constant_moves && table.rows.size() > 1 &&
         std::ranges::all_of(table.rows, [&](const TableRow& row) { return row.cells[column] == table.rows.front().cells[column]; });
}

// Columns of a table that stand in it, with their widths.
struct ShownColumn {
  std::size_t column;
  std::size_t width;
};

std::size_t width_of(const std::vector<ShownColumn>& shown) {
  std::size_t sum = 3;  // the mark, and what a row begins with
  for (const ShownColumn& s : shown) sum += s.width + 2;
  return sum;
}

std::string titled(const TableColumn& column, const std::string& cell) {
  return column.title + " " + cell + (column.unit.empty() ? "" : " " + column.unit);
}

std::string header_line(const TextTable& table, const std::vector<ShownColumn>& shown, bool of_units) {
  std::string out = "#";
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const TableColumn& column = table.columns[shown[i].column];
    const std::string text = of_units ? (column.unit.empty() ? "" : "(" + column.unit + ")") : column.title;
    out += i == 0 ? " " : "  ";
    out += column.left ? fmt::format("{:<{}}", text, shown[i].width) : fmt::format("{:>{}}", text, shown[i].width);
    if (shown[i].column == table.mark_behind) out += "  ";
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

// Cells that are wider than their column, which the first may be, stand in a line of their own.
std::string row_line(const TextTable& table, const TableRow& row, const std::vector<ShownColumn>& shown, const TableStyle& style) {
  std::string out = " ", before;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    std::string cell = row.cells[shown[i].column];
    if (cell.size() > shown[i].width) {
      before += fmt::format("#   {}\n", titled(table.columns[shown[i].column], cell));
      cell.clear();
    }
    out += i == 0 ? " " : "  ";
    out += table.columns[shown[i].column].left ? fmt::format("{:<{}}", cell, shown[i].width) : fmt::format("{:>{}}", cell, shown[i].width);
    if (shown[i].column == table.mark_behind) out += row.marked ? " *" : "  ";
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return wrapped(before, style.width) + (row.marked ? coloured(out, green, style) : out) + "\n";
}

// The columns that fit, and those that do not. A column that must stay is as wide as is left for it.
std::vector<ShownColumn> fitting(const TextTable& table, std::size_t most, std::vector<std::size_t>& left_out) {
  std::vector<ShownColumn> shown;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (is_constant(table, c)) continue;
    std::size_t width = std::max(table.columns[c].title.size(), table.columns[c].unit.empty() ? 0 : table.columns[c].unit.size() + 2);
    for (const TableRow& row : table.rows) width = std::max(width, row.cells[c].size());
    shown.push_back({c, width});
  }
  if (most == 0) return shown;
  for (auto last = shown.end(); width_of(shown) > most && last != shown.begin();) {
    --last;
    if (!table.columns[last->column].optional) continue;
    left_out.push_back(last->column);
    last = shown.erase(last);
  }
  std::ranges::sort(left_out);
  const std::size_t wide = width_of(shown);
  if (wide <= most) return shown;
  ShownColumn& widest = *std::ranges::max_element(shown, {}, &ShownColumn::width);
  const std::size_t least = std::max<std::size_t>(12, table.columns[widest.column].title.size());
  widest.width = std::max(least, widest.width - std::min(widest.width, wide - most));
  return shown;
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    const std::size_t indent = std::min(line.find_first_not_of("# "), line.size());
    while (line.size() > width) {
      std::size_t at = line.rfind(' ', width);
      while (at != std::string::npos && at > 0 && line.compare(at, 2, " %") == 0) at = line.rfind(' ', at - 1);  // stays with its number
      if (at == std::string::npos || at <= indent + 2) at = line.find(' ', indent + 3);
      if (at == std::string::npos) break;
      out += line.substr(0, at) + "\n";
      line = "#" + std::string(std::max<std::size_t>(indent, 1) + 1, ' ') + line.substr(at + 1);
    }
    out += line + "\n";
    begin = end + 1;
  }
  return out;
}

std::string coloured(const std::string& text, const char* colour, const TableStyle& style) {
  return style.colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
}

std::string to_text(const TextTable& table, const TableStyle& style) {
  if (table.rows.empty()) return "";
  std::vector<std::string> same;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (is_constant(table, c)) same.push_back(titled(table.columns[c], table.rows.front().cells[c]));
  std::vector<std::size_t> left_out;
  const std::vector<ShownColumn> shown = fitting(table, style.width, left_out);
  std::string out;
  if (!same.empty()) out += wrapped(fmt::format("#   in all rows: {}\n", fmt::join(same, ", ")), style.width);
  out += "#\n" + coloured(header_line(table, shown, false) + header_line(table, shown, true), dim, style);
  for (const TableRow& row : table.rows) {
    out += row_line(table, row, shown, style);
    std::vector<std::string> beside;
    for (const std::size_t c : left_out)
      if (!row.cells[c].empty() && row.cells[c] != "-") beside.push_back(titled(table.columns[c], row.cells[c]));
    std::string notes;
    if (!beside.empty()) notes += fmt::format("#   {}\n", fmt::join(beside, ", "));
    for (const std::string& note : row.notes) notes += "#   " + note + "\n";
    out += wrapped(notes, style.width);
  }
  return out;
}

std::string to_markdown(const TextTable& table) {
  const auto escaped = [](const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
  };
  const bool notes = std::ranges::any_of(table.rows, [](const TableRow& row) { return !row.notes.empty(); });
  std::string head = "|", rule = "|", body;
  for (const TableColumn& column : table.columns) {
    head += fmt::format(" {}{} |", column.title, column.unit.empty() ? "" : " (" + column.unit + ")");
    rule += column.left ? "---|" : "---:|";
  }
  if (notes) head += " notes |", rule += "---|";
  for (const TableRow& row : table.rows) {
    body += "|";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string cell = escaped(row.cells[c]);
      body += row.marked && c == table.mark_behind ? fmt::format(" **{}** |", cell) : fmt::format(" {} |", cell);
    }
    if (notes) body += fmt::format(" {} |", escaped(fmt::format("{}", fmt::join(row.notes, "; "))));
    body += "\n";
  }
  return head + "\n" + rule + "\n" + body;
}

}  // namespace weft
