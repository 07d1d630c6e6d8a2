// A table as `weft run -o` writes it, read again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// CSV (RFC 4180): a header, and lines with as many fields. Throws InputError "FILE:LINE: found, allowed".
struct CsvTable {
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> lines = {};

  std::optional<std::size_t> column(std::string_view name) const;
};
CsvTable parse_csv(std::string_view text, const std::string& file);

}  // namespace weft
