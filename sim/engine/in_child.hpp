// Runs a function in a forked process and brings its result back. SimGrid allows one engine a process and its
// configuration is global, so every simulation on it runs this way.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace weft {

// A function under way in a process of its own, which ends with this one. Start it while no other thread runs: only the calling one is in
// the child.
class Child {
 public:
  using Work = std::function<std::string()>;  // returns the bytes to bring back

  explicit Child(const Work&);  // throws RunError where no process can be started
  Child(Child&&) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills the process if it still runs

  int fd() const { return fd_; }  // readable when there is something for read_some()
  bool read_some();               // waits for bytes and keeps them; false once the process has ended
  // The function's result. Throws what it threw (InputError, RunError, or logic_error for anything else), or RunError if
  // the process died.
  std::string result();
  bool was_killed() const;  // once it has ended: by SIGKILL, as somebody else or the kernel (out of memory) does

 private:
  void reap();

  pid_t pid_ = -1;
  int fd_ = -1;
  int status_ = 0;
  std::string received_;
};

inline std::string in_child(const Child::Work& work) { return Child(work).result(); }

}  // namespace weft
