#include "collectives/bench/start.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace weft::bench {

int start_bench(int argc, char** argv) {
  std::array<char, 4096> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
  const std::string path(self.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string program = path.substr(0, path.rfind('/') + 1) + "weft_bench";
  std::vector<char*> arguments(argv + 1, argv + argc);
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  std::fputs(fmt::format("weft bench: cannot start {}: {}\n", program, std::strerror(errno)).c_str(), stderr);
  return 2;
}

}  // namespace weft::bench
