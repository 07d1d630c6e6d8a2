#include "sim/engine/in_child.hpp"

#include "kernels/base/error.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string_view>
#include <utility>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft {
namespace {

// The first byte of what a child sends says how it ended.
constexpr char returned = 'v', bad_input = 'i', run_failed = 'r', other_error = 'e';

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ::_exit(1);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string outcome(const Child::Work& work) {
  try {
    return returned + work();
  } catch (const InputError& e) {
    return std::string(1, bad_input) + e.what();
  } catch (const RunError& e) {
    return std::string(1, run_failed) + e.what();
  } catch (const std::exception& e) {
    return std::string(1, other_error) + e.what();
  }
}

// Dies with the parent, whatever ends that. Interrupts go to a whole group of processes: the parent decides what they mean.
void depend_on(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);                                                         // it ended before that was set
  for (const int s : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM}) ::signal(s, SIG_DFL);  // the parent's handlers are not for it
  for (const int s : {SIGINT, SIGHUP}) ::signal(s, SIG_IGN);
}

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const auto end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Child::Child(const Work& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::cout.flush();
  std::fflush(nullptr);  // or what is buffered could be printed twice
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) {
    ::close(ends[0]), ::close(ends[1]);
    throw RunError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (pid_ == 0) {
    ::close(ends[0]);
    depend_on(parent);
    write_all(ends[1], outcome(work));
    ::_exit(0);  // nothing of the parent's (buffered output, exit handlers) is the child's to finish
  }
  ::close(ends[1]);
  fd_ = ends[0];
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      fd_(std::exchange(other.fd_, -1)),
      status_(other.status_),
      received_(std::move(other.received_)) {}

Child::~Child() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  reap();
}

bool Child::read_some() {
  if (fd_ < 0) return false;
  std::array<char, 1 << 16> buffer;
  ssize_t n = 0;
  do n = ::read(fd_, buffer.data(), buffer.size());
  while (n < 0 && errno == EINTR);
  if (n > 0) {
    received_.append(buffer.data(), static_cast<std::size_t>(n));
    return true;
  }
  reap();
  return false;
}

void Child::reap() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (pid_ > 0)
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
  pid_ = -1;
}

bool Child::was_killed() const { return pid_ < 0 && WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }

std::string Child::result() {
  while (read_some()) {
  }
  if (WIFSIGNALED(status_)) throw RunError(fmt::format("the simulating process died: {}", ::strsignal(WTERMSIG(status_))));
  if (received_.empty()) throw RunError(fmt::format("the simulating process ended with status {} and no result", WEXITSTATUS(status_)));
  std::string text = received_.substr(1);
  switch (received_.front()) {
    case returned:
      return text;
    case bad_input:
      throw InputError(lines(text));
    case run_failed:
      throw RunError(text);
    default:
      throw std::logic_error(text);
  }
}

}  // namespace weft
