// Why a text is no JSON, for everything that reads some: the line and column, and what the library found there in printable words.
#pragma once

#include "kernels/base/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Control characters and bytes outside ASCII as \xNN, so that a message is always printable.
std::string printable(std::string_view text);

// "line 3, column 14"
std::string line_and_column(std::string_view text, std::size_t offset, std::size_t first_line = 1);

// From the library's words and the position it gives, from 1 on, of the last byte it read.
Problem json_problem(std::string_view text, std::size_t position, std::string_view message, std::size_t first_line = 1);

// Of a text that the library has refused.
Problem json_problem(std::string_view text, std::size_t first_line = 1);

// The value that the whole text is, as one of the library's classes. Throws InputError "line 3, column 14: not JSON: ...", behind a prefix
// such as "FILE: ". A number beyond a double is refused like this, too: the library throws another exception there, with no place.
template <class Json>
Json json_of(std::string_view text, std::string_view prefix = "", std::size_t first_line = 1) {
  Json out = Json::parse(text, nullptr, false);
  if (!out.is_discarded()) return out;
  const Problem problem = json_problem(text, first_line);
  throw InputError(fmt::format("{}{}: {}", prefix, problem.where, problem.what));
}

}  // namespace weft
