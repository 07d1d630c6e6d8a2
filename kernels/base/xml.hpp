// XML as a tree of elements with their lines, for readers of other programs' files. Read by Expat; text between elements is skipped,
// and nothing outside the file is ever looked up.
#pragma once

#include "kernels/base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // in the order of the file
  std::vector<XmlElement> children;
  int line = 0;  // of its tag, from 1

  const std::string* attribute(std::string_view key) const;  // null: not there
};

inline constexpr int max_xml_depth = 64;

// The root element. Throws InputError "line 7: ..." with what is wrong.
XmlElement read_xml(std::string_view text);

// A whole decimal number and nothing else, not even blanks.
std::optional<std::int64_t> whole_number(std::string_view text);

// What is wrong with a file, line by line, as far as a reader got with it.
class LineProblems {
 public:
  static constexpr std::size_t most = 20;

  template <class... Args>
  void add(int line, fmt::format_string<Args...> what, Args&&... args) {
    if (lines_.size() <= most) lines_.push_back(fmt::format("line {}: {}", line, fmt::format(what, std::forward<Args>(args)...)));
  }
  bool none() const { return lines_.empty(); }
  // Throws InputError with what was added, if anything was.
  void refuse();

 private:
  std::vector<std::string> lines_;
};

// Attributes of one element as numbers and words; what is missing or wrong is added to the problems.
class XmlReader {
 public:
  XmlReader(const XmlElement& element, LineProblems& problems) : element_(element), problems_(problems) {}

  std::string text(const char* key);
  std::int64_t number(const char* key, std::int64_t least, std::int64_t most);
  std::int64_t number_or(const char* key, std::int64_t otherwise, std::int64_t least, std::int64_t most);

 private:
  const XmlElement& element_;
  LineProblems& problems_;
};

// A value of a file as a message shows it: printable, and cut where nobody would read on.
std::string shown_value(std::string_view value);

}  // namespace weft
