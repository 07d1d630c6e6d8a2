// The two error families. The user's world is wrong: InputError (exit status 2) or RunError (exit status 1), caught by
// main only. Our own rule is broken: check(), always on, never for user input.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weft {

// One thing wrong with an input: where (a JSON pointer such as "/fabric/switches", a flag, a line) and what is found and
// allowed there, ready to be read after the place.
struct Problem {
  std::string where;
  std::string what;
  friend bool operator==(const Problem&, const Problem&) = default;
};

// Input that cannot be used, with every problem found: each is one line that says place, found and allowed.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string problem) : std::runtime_error(problem), problems_{std::move(problem)} {}
  explicit InputError(std::vector<std::string> problems)
      : std::runtime_error(fmt::format("{}", fmt::join(problems, "\n"))), problems_(std::move(problems)) {}
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

// A run that could not be finished: a deadlock, wrong data, a lost peer.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
void check(bool ok, fmt::format_string<Args...> message, Args&&... args) {
  if (!ok) [[unlikely]]
    throw std::logic_error("internal error: " + fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace weft
