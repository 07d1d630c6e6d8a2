// A command of the shell, as a test runs it.
#pragma once

#include "kernels/base/error.hpp"

#include <array>
#include <cstdio>
#include <string>

#include <sys/wait.h>

namespace weft {

struct Ran {
  int status = -1;
  std::string printed;
};

// What it prints to standard output; to standard error too where the command says 2>&1.
inline Ran shell(const std::string& command) {
  Ran out;
  FILE* const pipe = ::popen(command.c_str(), "r");
  check(pipe != nullptr, "no shell can be started for {}", command);
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) out.printed.append(buffer.data(), n);
  out.status = WEXITSTATUS(::pclose(pipe));
  return out;
}

}  // namespace weft
