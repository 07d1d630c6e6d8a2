#include "collectives/transports/tcp_socket.hpp"

#include "collectives/transports/socket_address.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1'000'000'000));
}

bool ready(int descriptor, short events, Deadline deadline) {
  pollfd p{descriptor, events, 0};
  int found;
  do found = ::poll(&p, 1, milliseconds_until(deadline));
  while (found < 0 && errno == EINTR);
  return found > 0;
}

// Small messages go at once, and no call ever waits: waiting is poll's work.
void prepare(const Socket& socket) {
  const int on = 1;
  ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(socket.descriptor(), F_SETFL, ::fcntl(socket.descriptor(), F_GETFL) | O_NONBLOCK);
}

// What waiting does not mend.
bool no_room() { return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM; }
std::string why_no_room() {
  const std::string why = std::strerror(errno);
  rlimit limit{};
  if (errno != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return why;
  return fmt::format("{} (this process may have {}, ulimit -n)", why, limit.rlim_cur);
}

// Connected, or the error that kept it from that.
int connect_once(const addrinfo& to, Socket& out, Deadline deadline) {
  Socket socket(::socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC, to.ai_protocol));
  if (!socket.open()) return errno;
  prepare(socket);
  if (::connect(socket.descriptor(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (!ready(socket.descriptor(), POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  out = std::move(socket);
  return 0;
}

}  // namespace

bool try_again_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

void Socket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

bool Socket::read_all(std::span<std::byte> into, Deadline deadline) const {
  while (!into.empty()) {
    if (!ready(descriptor_, POLLIN, deadline)) return false;
    const auto got = read_some(into);
    if (!got) return false;
    into = into.subspan(*got);
  }
  return true;
}

bool Socket::write_all(std::span<const std::byte> bytes, Deadline deadline) const {
  while (!bytes.empty()) {
    if (!ready(descriptor_, POLLOUT, deadline)) return false;
    const auto put = write_some(bytes, {});
    if (!put) return false;
    bytes = bytes.subspan(*put);
  }
  return true;
}

std::optional<std::size_t> Socket::read_some(std::span<std::byte> into) const {
  const ssize_t got = ::recv(descriptor_, into.data(), into.size(), 0);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got < 0 && try_again_later()) return 0;
  return std::nullopt;
}

std::optional<std::size_t> Socket::write_some(std::span<const std::byte> head, std::span<const std::byte> body) const {
  std::array<iovec, 2> parts = {iovec{const_cast<std::byte*>(head.data()), head.size()},
                                iovec{const_cast<std::byte*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t put = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
  if (put >= 0) return static_cast<std::size_t>(put);
  if (try_again_later()) return 0;
  return std::nullopt;
}

void Socket::pace(BitsPerSecond rate) const {
  const auto bytes_per_second = static_cast<unsigned long>(rate.bytes_per_second());
  if (::setsockopt(descriptor_, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_second, sizeof bytes_per_second) != 0)
    throw RunError(fmt::format("a connection cannot be held to {}: {}", to_string(rate), std::strerror(errno)));
}

#if defined(SO_ZEROCOPY) && defined(MSG_ZEROCOPY)
bool Socket::allow_zero_copy() const {
  const int on = 1;
  return ::setsockopt(descriptor_, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) == 0;
}

std::optional<Socket::Written> Socket::write_some_without_copy(std::span<const std::byte> bytes) const {
  const ssize_t put = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_ZEROCOPY);
  if (put >= 0) return Written{.bytes = static_cast<std::size_t>(put)};
  if (try_again_later()) return Written{};
  if (errno != ENOBUFS) return std::nullopt;
  // More than RLIMIT_MEMLOCK would be pinned. Where the limit is below one write, waiting for others to finish would not help.
  const auto copied = write_some(bytes, {});
  if (!copied) return std::nullopt;
  return Written{.bytes = *copied, .copied = true};
}

Socket::Finished Socket::finished_writes() const {
  Finished finished;
  for (;;) {
    alignas(cmsghdr) std::array<char, 256> space;
    msghdr message{};
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    if (::recvmsg(descriptor_, &message, MSG_ERRQUEUE) < 0) return finished;
    for (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(c))) {
      sock_extended_err notice;
      std::memcpy(&notice, CMSG_DATA(c), sizeof notice);
      if (notice.ee_origin != SO_EE_ORIGIN_ZEROCOPY) continue;
      finished.writes += notice.ee_data - notice.ee_info + 1;
      finished.copied |= (notice.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0;
    }
  }
}
#else
bool Socket::allow_zero_copy() const { return false; }
std::optional<Socket::Written> Socket::write_some_without_copy(std::span<const std::byte> bytes) const {
  const auto copied = write_some(bytes, {});
  if (!copied) return std::nullopt;
  return Written{.bytes = *copied, .copied = true};
}
Socket::Finished Socket::finished_writes() const { return {}; }
#endif

TcpListener::TcpListener(const std::string& address) : host_(host_in(address)) {
  const Addresses found = resolve(address, SOCK_STREAM, AI_PASSIVE);
  socket_ = Socket(::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol));
  const int on = 1;
  if (socket_.open()) ::setsockopt(socket_.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!socket_.open() || ::bind(socket_.descriptor(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket_.descriptor(), SOMAXCONN) != 0)
    throw RunError(fmt::format("cannot listen on {}: {}", address, std::strerror(errno)));
  prepare(socket_);
}

std::string TcpListener::address() const { return fmt::format("{}:{}", host_, port_of(socket_.descriptor())); }

std::optional<Socket> TcpListener::accept() const {
  for (;;) {
    Socket socket(::accept4(socket_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.open()) {
      prepare(socket);
      return socket;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (no_room()) throw RunError(fmt::format("cannot accept a connection at {}: {}", address(), why_no_room()));
    if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK || errno == EOPNOTSUPP || errno == EFAULT)
      throw RunError(fmt::format("cannot accept connections at {}: {}", address(), std::strerror(errno)));
    // Any other error is of a caller who went away again.
  }
}

Socket tcp_connect(const std::string& address, Deadline deadline) {
  constexpr auto pause = 20ms;
  const Addresses found = resolve(address, SOCK_STREAM, 0);
  for (;;) {
    int error = 0;
    for (const addrinfo* to = found.get(); to != nullptr; to = to->ai_next) {
      Socket socket;
      error = connect_once(*to, socket, deadline);
      if (error == 0) return socket;
      errno = error;
      if (no_room()) throw RunError(fmt::format("cannot connect to {}: {}", address, why_no_room()));
    }
    if (std::chrono::steady_clock::now() + pause > deadline)
      throw RunError(fmt::format("cannot connect to {}: {}", address, std::strerror(error)));
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace weft
