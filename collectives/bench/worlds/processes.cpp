#include "collectives/bench/worlds/processes.hpp"

#include "kernels/base/error.hpp"
#include "kernels/standard_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <new>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// What the processes could not print themselves without saying it once each. Messages are short: a write of up to PIPE_BUF
// bytes is not mixed with others.
class Complaints {
 public:
  Complaints() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;
  ~Complaints() {
    for (const int end : ends_) ::close(end);
  }
  void say(std::string text) const {
    text.resize(std::min<std::size_t>(text.size(), 4000));
    text.push_back('\n');
    static_cast<void>(!::write(ends_[1], text.data(), text.size()));
  }
  // Reads what is said until the timeout.
  void listen(std::chrono::milliseconds at_most) {
    pollfd p{ends_[0], POLLIN, 0};
    if (::poll(&p, 1, static_cast<int>(at_most.count())) <= 0) return;
    std::array<char, 4096> some;
    const ssize_t got = ::read(ends_[0], some.data(), some.size());
    if (got > 0) all_.append(some.data(), static_cast<std::size_t>(got));
  }
  bool more() const {
    pollfd p{ends_[0], POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
  }
  // Each line once.
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (std::size_t from = 0, end; (end = all_.find('\n', from)) != std::string::npos; from = end + 1)
      if (const std::string line = all_.substr(from, end - from); std::find(out.begin(), out.end(), line) == out.end()) out.push_back(line);
    return out;
  }

 private:
  std::array<int, 2> ends_{};
  std::string all_;
};

int run_one(const std::function<int(int)>& run, int i, const Complaints& complaints) {
  try {
    const int status = run(i);
    finish_standard_output();
    return status;
  } catch (const InputError& e) {
    complaints.say(e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    complaints.say("a process got no more memory; fewer ranks (-n) or a smaller largest size (-e) need less");
    return 1;
  } catch (const std::exception& e) {
    complaints.say(e.what());
    return 1;
  }
}

struct Child {
  pid_t id = 0;
  std::string name = {};
  bool running = true, killed = false;
  int status = 0;
  std::string ended_by = {};  // what else is to be said
};

pid_t start(const std::function<int(int)>& run, int i, const Complaints& complaints) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int status = ::getppid() == parent ? run_one(run, i, complaints) : 1;
  ::_exit(status);
}

void see_whether_it_ended(Child& c) {
  int status = 0;
  const pid_t found = ::waitpid(c.id, &status, WNOHANG);
  if (found == 0 || (found < 0 && errno == EINTR)) return;
  c.running = false;
  if (found > 0 && WIFEXITED(status)) {
    c.status = WEXITSTATUS(status);
    return;
  }
  c.status = 1;
  c.ended_by = c.killed ? fmt::format("{} did not end with the others and was killed", c.name)
                        : fmt::format("{} was ended by signal {} ({})", c.name, WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

}  // namespace

int run_processes(const std::vector<std::string>& names, std::chrono::milliseconds patience, const std::function<int(int)>& run) {
  Complaints complaints;
  std::cout.flush();
  std::vector<Child> children;
  bool failed = false;
  for (const std::string& name : names) {
    const pid_t id = start(run, static_cast<int>(children.size()), complaints);
    if (id < 0) {
      complaints.say(fmt::format("cannot start {}: {}", name, std::strerror(errno)));
      failed = true;
      break;
    }
    children.push_back({.id = id, .name = name});
  }
  auto last = Clock::time_point::max();
  while (std::any_of(children.begin(), children.end(), [](const Child& c) { return c.running; })) {
    complaints.listen(5ms);
    for (Child& c : children) {
      if (c.running) see_whether_it_ended(c);
      failed |= c.status != 0;
      if (c.running && Clock::now() > last) {
        c.killed = true;
        ::kill(c.id, SIGKILL);
      }
    }
    if (failed && last == Clock::time_point::max()) last = Clock::now() + std::min<std::chrono::milliseconds>(patience, 10s);
  }
  while (complaints.more()) complaints.listen(0ms);
  std::vector<std::string> said = complaints.lines();
  int worst = failed ? 1 : 0;
  for (const Child& c : children) {
    worst = std::max(worst, c.status);
    if (!c.ended_by.empty()) said.push_back(c.ended_by);
  }
  if (worst == 2) throw InputError(said);
  if (!said.empty()) throw RunError(fmt::format("{}", fmt::join(said, "\n")));
  return worst;
}

}  // namespace weft::bench
