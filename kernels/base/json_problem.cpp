#include "kernels/base/json_problem.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

// The library repeats all it has read of a string or number: the beginning and the end of that are enough.
std::string cut_short(const std::string& text) {
  constexpr std::size_t longest = 200, half = longest / 2;
  return text.size() <= longest ? text : text.substr(0, half) + "..." + text.substr(text.size() - half);
}

// What the library says, less its prefixes: "unexpected '}'; expected string literal".
std::string syntax_error(std::string_view message) {
  for (const std::string_view mark : {"parsing value - ", "parsing object key - ", "parsing object separator - ", "parsing object - ",
                                      "parsing array - ", ": syntax error "}) {
    if (const auto at = message.find(mark); at != message.npos) return cut_short(printable(message.substr(at + mark.size())));
  }
  const auto close = message.find("] ");
  return cut_short(printable(close == message.npos ? message : message.substr(close + 2)));
}

// Reads on to where the library finds no JSON any more.
class FirstProblem final : public nlohmann::json_sax<nlohmann::json> {
 public:
  FirstProblem(std::string_view text, std::size_t first_line) : text_(text), first_line_(first_line) {}
  const Problem& found() const { return found_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    found_ = json_problem(text_, position, error.what(), first_line_);
    return false;
  }

 private:
  std::string_view text_;
  std::size_t first_line_;
  Problem found_;
};

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string line_and_column(std::string_view text, std::size_t offset, std::size_t first_line) {
  std::size_t line = first_line, line_start = 0;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i)
    if (text[i] == '\n') ++line, line_start = i + 1;
  return fmt::format("line {}, column {}", line, offset - line_start + 1);
}

Problem json_problem(std::string_view text, std::size_t position, std::string_view message, std::size_t first_line) {
  const std::size_t offset = position > 0 ? position - 1 : 0;
  const bool cut_off = message.find("unexpected end of input") != message.npos || offset >= text.size();
  return {line_and_column(text, std::min(offset, text.size()), first_line),
          cut_off ? "the text ends in the middle of the JSON (truncated?)" : "not JSON: " + syntax_error(message)};
}

Problem json_problem(std::string_view text, std::size_t first_line) {
  FirstProblem reader(text, first_line);
  nlohmann::json::sax_parse(text, &reader);
  return reader.found();
}

}  // namespace weft
