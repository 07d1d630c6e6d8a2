#include "kernels/base/program_folder.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace weft {

std::string program_folder() {
  std::array<char, 4096> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
  const std::string path(self.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return path.substr(0, path.rfind('/') + 1);
}

int become_program(const std::string& name, int argc, char** argv) {
  const std::string program = program_folder() + name;
  std::vector<char*> arguments(argv, argv + argc);
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  std::fputs(fmt::format("weft: cannot start {}: {}\n", program, std::strerror(errno)).c_str(), stderr);
  return 2;
}

}  // namespace weft
