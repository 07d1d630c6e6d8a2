#include "validation/lab/tools.hpp"

#include "kernels/base/error.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::lab {
namespace {

// A file without a name: unlike a pipe it takes all that is written while nobody reads.
class Scratch {
 public:
  explicit Scratch(const char* name) : file_(::memfd_create(name, MFD_CLOEXEC)) {
    if (file_ < 0) throw RunError(fmt::format("memfd_create: {}", std::strerror(errno)));
  }
  ~Scratch() { ::close(file_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  int descriptor() const { return file_; }
  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t put = ::write(file_, text.data(), text.size());
      if (put < 0 && errno != EINTR) throw RunError(fmt::format("memfd: {}", std::strerror(errno)));
      if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
    }
    ::lseek(file_, 0, SEEK_SET);
  }
  std::string read() const {
    std::string text;
    std::array<char, 4096> some;
    ::lseek(file_, 0, SEEK_SET);
    for (ssize_t got; (got = ::read(file_, some.data(), some.size())) > 0;) text.append(some.data(), static_cast<std::size_t>(got));
    return text;
  }

 private:
  int file_;
};

std::string path_with_sbin() {
  const char* path = std::getenv("PATH");
  return fmt::format("{}:/usr/sbin:/sbin", path != nullptr ? path : "/usr/bin:/bin");
}

}  // namespace

Ended run_tool(const std::vector<std::string>& command, std::string_view input) {
  const Scratch in("in"), out("out"), err("err");
  in.write(input);
  const std::string path = path_with_sbin();
  std::vector<char*> arguments;
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw RunError(fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing goes on building what is being torn down
    ::dup2(in.descriptor(), STDIN_FILENO);
    ::dup2(out.descriptor(), STDOUT_FILENO);
    ::dup2(err.descriptor(), STDERR_FILENO);
    ::setenv("PATH", path.c_str(), 1);
    ::execvp(arguments.front(), arguments.data());
    ::dprintf(STDERR_FILENO, "%s: %s\n", arguments.front(), std::strerror(errno));
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.read(), err.read()};
}

}  // namespace weft::lab
