// A table as text that keeps to a width, and lines that are broken where they would not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft {

struct TableStyle {
  std::size_t width = 0;  // 0: as wide as it is
  bool colour = false;
};

struct TableColumn {
  std::string title;
  std::string unit = {};
  bool left = false;           // aligned
  bool optional = false;       // may leave the table where it has no room; the later of two first
  bool constant_moves = true;  // to the lines above, where all rows say the same
};

struct TableRow {
  std::vector<std::string> cells = {};  // by column
  bool marked = false;                  // with a star, behind the column `mark_behind`
  std::vector<std::string> notes = {};  // lines below it
};

struct TextTable {
  std::vector<TableColumn> columns = {};
  std::vector<TableRow> rows = {};
  std::size_t mark_behind = 0;
};

// "# " before what is no row; columns that are the same in all rows above the others, and below each row what found no room beside it.
std::string to_text(const TextTable& table, const TableStyle& style);

// Of GitHub: all columns, the notes of a row in a last one.
std::string to_markdown(const TextTable& table);

// Each line of `text`, which begins with '#', broken between words where it is wider; what follows is indented further.
std::string wrapped(const std::string& text, std::size_t width);

// The same in this colour (of ECMA-48: "1;32"), where colours are wanted.
std::string coloured(const std::string& text, const char* colour, const TableStyle& style);

}  // namespace weft
