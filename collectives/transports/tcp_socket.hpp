// Sockets for the tcp transport: owned file descriptors, and calls that give up at a deadline. What goes wrong is a
// RunError that names the address.
#pragma once

#include "kernels/base/units.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace weft {

using Deadline = std::chrono::steady_clock::time_point;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() { close(); }

  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }
  void close();

  // All of it, or false if the other side closed or the deadline passed.
  bool read_all(std::span<std::byte> into, Deadline) const;
  bool write_all(std::span<const std::byte> bytes, Deadline) const;
  // What is possible without waiting: bytes moved, 0 if none, or nothing if the connection is over.
  std::optional<std::size_t> read_some(std::span<std::byte> into) const;
  std::optional<std::size_t> write_some(std::span<const std::byte> head, std::span<const std::byte> body) const;

  // From now on what is written leaves at this rate at most. Throws RunError where the kernel cannot.
  void pace(BitsPerSecond rate) const;

  // Writing without a copy, where the kernel offers it: the bytes must stay as they are until the write is finished.
  bool allow_zero_copy() const;
  struct Written {
    std::size_t bytes = 0;
    bool copied = false;  // nothing more can be pinned, so these were copied: they may change at once
  };
  std::optional<Written> write_some_without_copy(std::span<const std::byte> bytes) const;
  struct Finished {
    std::uint32_t writes = 0;  // without copy, that are over
    bool copied = false;       // the kernel copied all the same, as it does on the loopback: not worth its cost here
  };
  Finished finished_writes() const;

 private:
  int descriptor_ = -1;
};

// Listens on "host:port"; port 0 lets the system choose.
class TcpListener {
 public:
  explicit TcpListener(const std::string& address);
  std::string address() const;  // with the port that was chosen
  int descriptor() const { return socket_.descriptor(); }
  // The next that has called, without waiting. Throws RunError where there is no room for one more.
  std::optional<Socket> accept() const;

 private:
  Socket socket_;
  std::string host_;
};

// Whether errno says that a call that never waits has nothing for us yet.
bool try_again_later();

// Connects to "host:port" and tries again while nobody listens there yet.
Socket tcp_connect(const std::string& address, Deadline);

}  // namespace weft
