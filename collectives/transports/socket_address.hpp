// Addresses as people write them, "host:port", for sockets.
#pragma once

#include <memory>
#include <string>

#include <netdb.h>
#include <sys/socket.h>

namespace weft {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// "host:port", or "[host]:port" where the host has colons itself. `type` is SOCK_STREAM or SOCK_DGRAM, `flags` those of
// getaddrinfo. Throws InputError where it is not written so, RunError where no such host is known.
Addresses resolve(const std::string& address, int type, int flags);

// Of "host:port" what stands before the last colon, and behind it.
std::string host_in(const std::string& address);
std::string port_in(const std::string& address);

// The port that a socket is bound to.
std::string port_of(int descriptor);
// The host, as a number, that a socket is connected to; "an unknown host" where it is gone.
std::string peer_host(int descriptor);

}  // namespace weft
