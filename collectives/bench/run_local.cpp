#include "collectives/bench/run_local.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::bench {
namespace {

// What the ranks could not print themselves without saying it once each. Messages are short: a write of up to PIPE_BUF
// bytes is not mixed with others.
class Complaints {
 public:
  Complaints() {
    if (::pipe(ends_.data()) != 0) throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  void say(std::string text) const {
    text.resize(std::min<std::size_t>(text.size(), 4000));
    text.push_back('\0');
    static_cast<void>(!::write(ends_[1], text.data(), text.size()));
  }
  // Until every rank has ended.
  std::vector<std::string> hear() {
    ::close(ends_[1]);
    std::string all;
    std::array<char, 4096> some;
    for (ssize_t got; (got = ::read(ends_[0], some.data(), some.size())) > 0;) all.append(some.data(), static_cast<std::size_t>(got));
    ::close(ends_[0]);
    std::vector<std::string> said;
    for (std::size_t from = 0, end; (end = all.find('\0', from)) != std::string::npos; from = end + 1) {
      const std::string text = all.substr(from, end - from);
      if (std::find(said.begin(), said.end(), text) == said.end()) said.push_back(text);
    }
    return said;
  }

 private:
  std::array<int, 2> ends_{};
};

int run_rank(const RunRank& run, Rank rank, const std::vector<std::string>& addresses, const TcpListener& own,
             const Complaints& complaints) {
  try {
    return run(rank, addresses, own);
  } catch (const InputError& e) {
    complaints.say(e.what());
    return 2;
  } catch (const std::exception& e) {
    complaints.say(e.what());
    return 1;
  }
}

// Waits for a rank's process: its exit status, with 1 and a line in `said` for a signal.
int status_of(pid_t child, Rank rank, std::vector<std::string>& said) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  said.push_back(fmt::format("rank {} was ended by signal {} ({})", rank, WTERMSIG(status), ::strsignal(WTERMSIG(status))));
  return 1;
}

}  // namespace

int run_local_processes(const Settings& settings, const RunRank& run) {
  std::vector<TcpListener> listeners;
  std::vector<std::string> addresses;
  for (Rank r = 0; r < settings.with_servers(); ++r) {
    listeners.emplace_back("127.0.0.1:0");
    addresses.push_back(listeners.back().address());
  }
  Complaints complaints;
  std::cout.flush();
  std::vector<pid_t> children;
  for (Rank r = 0; r < settings.with_servers(); ++r) {
    const pid_t child = ::fork();
    if (child == 0) {
      const int status = run_rank(run, r, addresses, listeners[static_cast<std::size_t>(r)], complaints);
      std::cout.flush();
      ::_exit(status);
    }
    if (child < 0)
      complaints.say(fmt::format("cannot start rank {}: {}", r, std::strerror(errno)));
    else
      children.push_back(child);
  }
  listeners.clear();
  std::vector<std::string> said = complaints.hear();
  int worst = children.size() < addresses.size() ? 1 : 0;
  for (std::size_t i = 0; i < children.size(); ++i) worst = std::max(worst, status_of(children[i], static_cast<Rank>(i), said));
  if (worst == 2) throw InputError(said);
  if (!said.empty()) throw RunError(fmt::format("{}", fmt::join(said, "\n")));
  return worst;
}

}  // namespace weft::bench
