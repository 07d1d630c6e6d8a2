#include "kernels/standard_output.hpp"

#include "kernels/base/error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace weft {

void finish_standard_output() {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (std::cout && flushed && std::ferror(stdout) == 0) return;
  const std::string why = errno != 0 ? std::strerror(errno) : "an earlier write failed";
  throw RunError(fmt::format("what was printed is not complete: cannot write to standard output: {}", why));
}

}  // namespace weft
