#include "sim/farm/meeting_file.hpp"

#include "collectives/transports/job_secret.hpp"
#include "kernels/base/error.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = ".weft_meeting_";

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

// Of jobs that were killed. In the folder for temporary files others may be under way.
void remove_left(const fs::path& folder) {
  std::error_code unknown;
  if (folder == fs::temp_directory_path(unknown)) return;
  std::vector<fs::path> left;
  for (fs::directory_iterator it(folder, unknown), end; !unknown && it != end; it.increment(unknown))
    if (it->path().filename().string().starts_with(prefix)) left.push_back(it->path());
  for (const fs::path& file : left) fs::remove(file, unknown);
}

}  // namespace

fs::path meeting_file(const JobRanks& job, const fs::path& folder) {
  if (!folder.empty()) return folder / (std::string(prefix) + job.name);
  return fs::temp_directory_path() / fmt::format("{}{}_{}", prefix, ::getuid(), job.name);
}

void announce(const fs::path& file, const MeetingPlace& place) {
  const auto fail = [&] { throw RunError(fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno))); };
  remove_left(file.parent_path());
  const std::string text = fmt::format("{}\n{}\n", place.secret, fmt::join(place.addresses, "\n"));
  const std::string beside = file.string() + ".new";
  ::unlink(beside.c_str());
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) fail();
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (::close(fd) != 0 || !written || std::rename(beside.c_str(), file.c_str()) != 0) fail();
}

std::string new_secret() { return hex(random_secret()); }

std::optional<MeetingPlace> find_meeting(const fs::path& file) {
  std::error_code unknown;
  // Asking for the folder's entries makes a shared file system look again.
  for (fs::directory_iterator it(file.parent_path(), unknown), end; !unknown && it != end; it.increment(unknown)) break;
  struct stat status = {};
  if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::getuid() || (status.st_mode & 077) != 0)
    return std::nullopt;
  std::ifstream in(file);
  MeetingPlace out;
  std::string address;
  std::getline(in, out.secret);
  while (std::getline(in, address)) out.addresses.push_back(address);
  if (out.secret.empty() || out.addresses.empty()) return std::nullopt;
  return out;
}

std::vector<std::string> addresses_of_this_host(const std::string& listening, bool one_host) {
  const std::string port = listening.substr(listening.rfind(':'));
  if (one_host) return {"127.0.0.1" + port};
  std::vector<std::string> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) == 0) {
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, ::freeifaddrs);
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0 ||
          (one->ifa_flags & IFF_UP) == 0)
        continue;
      std::array<char, INET_ADDRSTRLEN> text{};
      ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text.data(), text.size());
      out.push_back(text.data() + port);
    }
  }
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0 && name.front() != '\0') out.push_back(name.data() + port);
  out.push_back("127.0.0.1" + port);  // of ranks beside this one
  return out;
}

}  // namespace weft
