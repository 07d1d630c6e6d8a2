#include "validation/lab/ranks.hpp"

#include "kernels/base/program_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::lab {
namespace {

constexpr int first_port = 5201;  // a host may have a rank and servers

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  ~Pipe() {
    ::close(ends_[0]);
    close_writing();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

 private:
  std::array<int, 2> ends_{};
};

// The processes of a run; ended and waited for when this goes.
class Processes {
 public:
  ~Processes() {
    for (const pid_t p : running_) ::kill(p, SIGKILL);
    wait();
  }
  void add(pid_t process) { running_.push_back(process); }
  // The first status that is not 0, of a process that ended by itself.
  int wait() {
    int first = 0;
    for (const pid_t p : running_) {
      int status = 0;
      while (::waitpid(p, &status, 0) < 0 && errno == EINTR) {
      }
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      if (first == 0) first = code;
    }
    running_.clear();
    return first;
  }

 private:
  std::vector<pid_t> running_;
};

// What such a process does between fork and its program. Only what is safe there: no memory is taken.
[[noreturn]] void become_node(const char* space, char* const* arguments, int out, int err) {
  const auto stop = [&](const char* what) {
    ::dprintf(err, "%s: %s\n", what, std::strerror(errno));
    ::_exit(1);
  };
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int entry = ::open(space, O_RDONLY | O_CLOEXEC);
  if (entry < 0 || ::setns(entry, CLONE_NEWNET) != 0) stop(space);
  const sched_param least{.sched_priority = 1};
  ::sched_setscheduler(0, SCHED_RR, &least);  // without it the times are those of a busy machine
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(out >= 0 ? out : nowhere, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  stop(arguments[0]);
  ::_exit(1);
}

pid_t start_node(const BenchRun& run, int node, const std::string& addresses, const Pipe& out, const Pipe& err) {
  const std::string space = "/run/netns/" + run.nodes[static_cast<std::size_t>(node)].in;
  std::vector<std::string> words = run.program;
  words.front() = program_folder() + words.front();
  words.insert(words.end(), {"--transport", run.transport, "--hosts", addresses, "--rank", std::to_string(node)});
  words.insert(words.end(), run.arguments.begin(), run.arguments.end());
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw RunError(fmt::format("cannot start process {}: {}", node, std::strerror(errno)));
  if (child == 0) become_node(space.c_str(), arguments.data(), node == 0 ? out.writing() : -1, err.writing());
  return child;
}

// Both to their ends.
void read_both(const Pipe& out, const Pipe& err, std::string& said, std::string& complained) {
  std::array<pollfd, 2> open = {pollfd{out.reading(), POLLIN, 0}, pollfd{err.reading(), POLLIN, 0}};
  std::array<char, 4096> some;
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (::poll(open.data(), open.size(), -1) < 0) continue;
    for (pollfd& p : open) {
      if (p.fd < 0 || p.revents == 0) continue;
      const ssize_t got = ::read(p.fd, some.data(), some.size());
      if (got > 0) (p.fd == out.reading() ? said : complained).append(some.data(), static_cast<std::size_t>(got));
      if (got == 0) p.fd = -1;
    }
  }
}

// Processes that fail together say the same.
std::string each_line_once(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

std::string run_bench(const BenchRun& run) {
  std::vector<std::string> addresses;
  for (const Host& host : run.nodes)
    addresses.push_back(fmt::format("{}:{}", host.address, first_port + static_cast<int>(addresses.size())));
  const std::string all = fmt::format("{}", fmt::join(addresses, ","));
  Pipe out, err;
  Processes processes;
  for (int node = 0; node < static_cast<int>(run.nodes.size()); ++node) processes.add(start_node(run, node, all, out, err));
  out.close_writing();
  err.close_writing();
  std::string said, complained;
  read_both(out, err, said, complained);
  const int status = processes.wait();
  constexpr int bad_input = 2;
  if (status == bad_input) throw InputError(each_line_once(complained));
  if (status != 0)
    throw RunError(fmt::format("{} {} ended with status {}\n{}\n{}", fmt::join(run.program, " "), fmt::join(run.arguments, " "), status,
                               each_line_once(complained), said));
  return said;
}

}  // namespace weft::lab
