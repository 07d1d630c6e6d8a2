// What a user would be told.
#pragma once

#include "kernels/base/error.hpp"

#include <concepts>
#include <string>
#include <vector>

namespace weft {

// Of the InputError that it throws; none where it throws none.
template <std::invocable F>
std::vector<std::string> problems_of(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.problems();
  }
  return {};
}

}  // namespace weft
