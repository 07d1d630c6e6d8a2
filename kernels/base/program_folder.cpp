#include "kernels/base/program_folder.hpp"

#include <array>

#include <unistd.h>

namespace weft {

std::string program_folder() {
  std::array<char, 4096> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
  const std::string path(self.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace weft
