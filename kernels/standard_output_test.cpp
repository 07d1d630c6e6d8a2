#include "kernels/standard_output.hpp"

#include "kernels/base/error.hpp"

#include <cstdio>
#include <iostream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// What a process of its own that prints to this file is told in the end, through a pipe; "" for nothing.
std::string error_of_printing_to(const char* file) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(file, O_WRONLY), STDOUT_FILENO);
    std::cout << "a table\n";
    std::string error;
    try {
      weft::finish_standard_output();
    } catch (const weft::RunError& e) {
      error = e.what();
    }
    static_cast<void>(!::write(ends[1], error.data(), error.size()));
    ::_exit(0);
  }
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  std::string error(1000, '\0');
  const ssize_t got = ::read(ends[0], error.data(), error.size());
  ::close(ends[0]);
  error.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return error;
}

}  // namespace

TEST_CASE("standard output: what could not be written is an error with its reason") {
  CHECK(error_of_printing_to("/dev/null") == "");
  CHECK(error_of_printing_to("/dev/full") == "what was printed is not complete: cannot write to standard output: No space left on device");
}
