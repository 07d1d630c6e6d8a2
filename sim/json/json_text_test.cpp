#include "sim/json/json_text.hpp"

#include "sim/cases/testing.hpp"

using namespace weft;

namespace {

Lines problems_in(const std::string& text) {
  std::vector<Problem> problems;
  parse_json(text, problems);
  return lines_of("f.json", problems);
}

}  // namespace

TEST_CASE("an empty text is refused as empty") {
  for (const char* text : {"", " ", "\n\t\r\n"}) {
    CAPTURE(text);
    CHECK(problems_in(text) == Lines{"f.json: the text is empty; a JSON object was expected"});
  }
}

TEST_CASE("a truncated text is refused as truncated, wherever it is cut") {
  const std::string whole = good_scenario().dump(2);
  for (std::size_t length = 1; length < whole.size(); ++length) {
    CAPTURE(whole.substr(0, length));
    const Lines lines = problems_in(whole.substr(0, length));
    REQUIRE(lines.size() == 1);
    CHECK(lines.front().find("the text ends in the middle of the JSON (truncated?)") != std::string::npos);
  }
  CHECK(problems_in("{\n  \"schema\": 1,\n  \"na") ==
        Lines{"f.json: line 3, column 6: the text ends in the middle of the JSON (truncated?)"});
}

TEST_CASE("a syntax error has its line and column") {
  CHECK(problems_in("{\"a\":\n [1,}") == Lines{"f.json: line 2, column 5: not JSON: unexpected '}'; expected '[', '{', or a literal"});
  CHECK(problems_in("{\"a\" 2}") == Lines{"f.json: line 1, column 6: not JSON: unexpected number literal; expected ':'"});
  CHECK(problems_in("{} {}") == Lines{"f.json: line 1, column 4: not JSON: unexpected '{'; expected end of input"});
}

TEST_CASE("numbers too large for a double and bytes that are not UTF-8 are refused, in printable words") {
  CHECK(problems_in("{\"a\": 1e999}") == Lines{"f.json: line 1, column 11: not JSON: number overflow parsing '1e999'"});
  CHECK(problems_in("{\"a\": \"\xff\"}") ==
        Lines{"f.json: line 1, column 8: not JSON: invalid string: ill-formed UTF-8 byte; last read: '\"\\xff'"});
}

TEST_CASE("64 levels are read, 65 are not") {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
  };
  CHECK(problems_in(nested(64)) == Lines{});
  CHECK(problems_in(nested(65)) == Lines{"f.json: line 1, column 65: nested more than 64 levels deep"});
  CHECK(problems_in(std::string(1'000'000, '[')) == Lines{"f.json: line 1, column 65: nested more than 64 levels deep"});
  CHECK(problems_in(fmt::format("[\"{:[<1000}\\\"[[\"]", "")) == Lines{});  // brackets in a string open nothing
}

TEST_CASE("every key that is given twice is reported, and the first one counts") {
  std::vector<Problem> problems;
  const Json json = parse_json(R"({"a": 1, "b": [{"c": 1, "c": {"d": 1, "d": 2}}], "a": 2})", problems);
  CHECK(lines_of("f.json", problems) == Lines{"f.json: /b/0/c: this key is given twice", "f.json: /b/0/c/d: this key is given twice",
                                              "f.json: /a: this key is given twice"});
  CHECK(json == Json::parse(R"({"a": 1, "b": [{"c": 1}]})"));
}

TEST_CASE("a NUL character ends no text: what follows would be left out") {
  CHECK(problems_in(std::string("{}\n\0 {\"a\": 1}", 13)) == Lines{"f.json: line 2, column 1: not JSON: a NUL character"});
  CHECK(problems_in(std::string("\0", 1)) == Lines{"f.json: line 1, column 1: not JSON: a NUL character"});
}

TEST_CASE("keys are repeated printable and cut short") {
  CHECK(problems_in("{\"\\u001b[31m\": 1, \"\\u001b[31m\": 2}") == Lines{"f.json: /\\x1b[31m: this key is given twice"});
  CHECK(lines_for(with("/\x1b]0;title\a", 1)).front().starts_with("f.json: /\\x1b]0;title\\x07: unknown key; "));
  const std::string page(10'000'000, 'x');
  for (const Lines& lines : {lines_for(with(fmt::format("/{}", page), 1)), problems_in(fmt::format("{{\"{}\"}}", page)),
                             problems_in(fmt::format("{{\"a\": \"{}\n\"}}", page))}) {
    REQUIRE(lines.size() == 1);
    CHECK(lines.front().size() < 700);
  }
}

TEST_CASE("what is shown of a value stays short and printable") {
  CHECK(shown(Json("tab\there \xff")) == "\"tab\\there \\ufffd\"");
  CHECK(shown(Json(std::string(1000, 'x'))).size() == 60);
  CHECK(shown(Json::parse("[1,2,3,4,5,6,7,8,9]")) == "a list of 9");
  CHECK(shown(Json::parse(R"({"a":1,"b":2,"c":3,"d":4,"e":5})")) == "an object of 5 keys");
}
