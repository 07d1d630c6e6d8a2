#include "kernels/base/json_problem.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace weft {

TEST_CASE("a text that is no JSON is refused with its line and column, a number beyond a double like the rest") {
  const auto refused = [](std::string_view text, std::string_view prefix = "", std::size_t first_line = 1) {
    CHECK_THROWS_AS(json_of<nlohmann::json>(text, prefix, first_line), InputError);
    try {
      json_of<nlohmann::json>(text, prefix, first_line);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("{\"a\":\n [1,}") == "line 2, column 5: not JSON: unexpected '}'; expected '[', '{', or a literal");
  CHECK(refused("{\"a\": 1e400}", "m.json: ") == "m.json: line 1, column 11: not JSON: number overflow parsing '1e400'");
  CHECK(refused("[-1e400]", "t: ", 7) == "t: line 7, column 7: not JSON: number overflow parsing '-1e400'");
  CHECK(refused("{\"a\": [1, ") == "line 1, column 11: the text ends in the middle of the JSON (truncated?)");
  CHECK(refused("") == "line 1, column 1: the text ends in the middle of the JSON (truncated?)");
}

TEST_CASE("a text that is JSON is read as the class that is asked for") {
  CHECK(json_of<nlohmann::json>("[1, 2.5, null]") == nlohmann::json::parse("[1, 2.5, null]"));
  CHECK(json_of<nlohmann::ordered_json>(R"({"b": 1, "a": 2})").dump() == R"({"b":1,"a":2})");
}

}  // namespace weft
