#include "collectives/transports/socket_address.hpp"

#include "kernels/base/error.hpp"

#include <array>
#include <charconv>

namespace weft {
namespace {

struct HostPort {
  std::string host, port;
};

HostPort split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size())
    throw InputError(fmt::format("address \"{}\" must be written host:port", address));
  int port = 0;
  const char* const end = address.data() + address.size();
  if (const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, port);
      error != std::errc{} || stop != end || port < 0 || port > 65535)
    throw InputError(fmt::format("address \"{}\": the port must be a number from 0 to 65535", address));
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

}  // namespace

Addresses resolve(const std::string& address, int type, int flags) {
  const HostPort parts = split(address);
  addrinfo hints{};
  hints.ai_socktype = type;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found); error != 0)
    throw RunError(fmt::format("address \"{}\": {}", address, ::gai_strerror(error)));
  return {found, ::freeaddrinfo};
}

std::string host_in(const std::string& address) { return address.substr(0, address.rfind(':')); }
std::string port_in(const std::string& address) { return address.substr(address.rfind(':') + 1); }

std::string port_of(int descriptor) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size);
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, nullptr, 0, port.data(), port.size(), NI_NUMERICSERV);
  return port.data();
}

std::string peer_host(int descriptor) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  std::array<char, NI_MAXHOST> host{};
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&peer), size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return "an unknown host";
  return host.data();
}

}  // namespace weft
