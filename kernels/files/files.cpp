#include "kernels/files/files.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace weft {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& file) {
  throw RunError(fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
}

// Signals wait for as long as it lives.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &old_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &old_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t old_;
};

// A file beside the target that no other process writes: gone with the object unless it has been renamed.
class Temporary {
 public:
  explicit Temporary(const std::filesystem::path& target) : target_(target) {
    std::random_device any;
    do {
      name_ = fmt::format("{}.{:08x}.tmp", target.string(), any());
      fd_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EEXIST);
    if (fd_ < 0) cannot_write(target);
  }
  ~Temporary() {
    if (fd_ >= 0) ::close(fd_);
    ::unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& name() const { return name_; }
  void write(std::string_view content) {
    while (!content.empty()) {
      const auto n = ::write(fd_, content.data(), content.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) cannot_write(target_);
      content.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::close(std::exchange(fd_, -1)) != 0) cannot_write(target_);  // some file systems say only now that they are full
  }

 private:
  std::filesystem::path target_;
  std::string name_;
  int fd_ = -1;
};

}  // namespace

std::string read_file(const std::filesystem::path& file) {
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) throw InputError(fmt::format("{}: cannot be read: it is a folder", file.string()));
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

std::string read_file(const std::filesystem::path& file, std::size_t max_bytes) {
  std::error_code unknown;
  const auto bytes = std::filesystem::is_regular_file(file, unknown) ? std::filesystem::file_size(file, unknown) : 0;
  if (!unknown && bytes > max_bytes)
    throw InputError(fmt::format("{}: has {} bytes, at most {} are allowed", file.string(), bytes, max_bytes));
  return read_file(file);
}

void write_file(const std::filesystem::path& file, std::string_view content) {
  check(!content.empty(), "nobody writes an empty {}", file.string());
  const NoSignals whole_or_gone;
  std::error_code unknown;
  const std::filesystem::path target = std::filesystem::is_symlink(file, unknown) ? std::filesystem::weakly_canonical(file) : file;
  Temporary temporary(target);
  temporary.write(content);
  if (std::rename(temporary.name().c_str(), target.c_str()) != 0) cannot_write(target);
}

void make_folder_of(const std::filesystem::path& file) {
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
}

namespace {

// What would end a line, or what is printed, is written as JSON writes it.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (const auto code = static_cast<unsigned char>(c); code < 0x20 || code == 0x7f)
      out += fmt::format("\\u{:04x}", code);
    else
      out += c;
  return out;
}

}  // namespace

std::vector<std::string> lines_of(std::string_view file, const std::vector<Problem>& problems) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const Problem& problem : problems) {
    std::string line = fmt::format("{}: {}{}{}", file, problem.where, problem.where.empty() ? "" : ": ", printable(problem.what));
    if (seen.insert(line).second) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace weft
