#pragma once

#include "kernels/base/error.hpp"

#include <string>
#include <vector>

namespace weft {

// What the action says where it throws InputError, beside what is wrong elsewhere: so that users learn of all of it at once.
template <class Action>
void gather(std::vector<std::string>& problems, const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    problems.insert(problems.end(), error.problems().begin(), error.problems().end());
  }
}

// Of one file no more are told: who has so many has one cause.
inline constexpr std::size_t max_problems_of_a_file = 100;

}  // namespace weft
