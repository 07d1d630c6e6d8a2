#include "collectives/bench/start.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/program_folder.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::bench {

int start_bench(int argc, char** argv) { return become_program("weft_bench", argc, argv); }

int run_bench(const std::vector<std::string>& arguments) {
  std::string bench = "bench";
  std::vector<std::string> copies = arguments;
  std::vector<char*> all = {bench.data()};
  for (std::string& argument : copies) all.push_back(argument.data());
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw RunError(fmt::format("cannot start weft_bench: {}", std::strerror(errno)));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    const int status = start_bench(static_cast<int>(all.size()), all.data());
    std::fflush(stderr);
    ::_exit(status);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw RunError(fmt::format("cannot wait for weft_bench: {}", std::strerror(errno)));
  if (WIFSIGNALED(status))
    throw RunError(fmt::format("weft_bench was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status))));
  return WEXITSTATUS(status);
}

}  // namespace weft::bench
