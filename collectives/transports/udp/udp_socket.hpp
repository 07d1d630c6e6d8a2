// UDP sockets that send and receive many datagrams in one call.
#pragma once

#include "collectives/in_network/payload.hpp"
#include "collectives/transports/tcp_socket.hpp"
#include "collectives/transports/udp/udp_format.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace weft {

// Bound to "host:port"; port 0 lets the system choose. Throws RunError where that cannot be.
class UdpSocket {
 public:
  explicit UdpSocket(const std::string& address);
  std::string address() const;  // with the port that was chosen
  int descriptor() const { return socket_.descriptor(); }

  // Until something has arrived, or the timeout.
  void wait(std::chrono::microseconds at_most) const;

  struct Queue {
    bool long_ = false;         // more than half full: whoever sends should send less
    std::uint32_t dropped = 0;  // datagrams that found it full, so far
  };
  Queue queue() const;

 private:
  Socket socket_;
  std::string host_;
  std::uint32_t capacity_ = 0;  // of the queue, in the kernel's bytes
};

struct UdpPeer {
  sockaddr_storage address = {};
  socklen_t size = 0;
};
UdpPeer udp_peer(const std::string& address);

// Datagrams on their way out. Those to one peer leave as one train, which the kernel takes apart, where it can.
class UdpOutbox {
 public:
  // `peers` by number. All datagrams have so many values.
  UdpOutbox(const UdpSocket& socket, std::vector<UdpPeer> peers, int values);

  void put(const UdpHead& head, const Payload& payload, int peer);
  void flush();
  std::int64_t sent() const { return sent_; }
  std::int64_t refused() const { return refused_; }  // by the kernel, whose buffer was full: lost

 private:
  static constexpr std::size_t capacity = 64;
  struct Entry {
    UdpHead head;
    Payload payload;
    int peer;
  };
  void sort_by_peer();
  std::size_t train(std::size_t first) const;  // where the datagrams that leave as one with the first end
  const Entry& entry(std::size_t i) const { return entries_[order_[i]]; }
  void refuse(int error, std::size_t datagrams, int peer);

  const UdpSocket& socket_;
  std::vector<UdpPeer> peers_;
  std::size_t payload_bytes_;
  std::size_t longest_train_;
  std::array<Entry, capacity> entries_;
  std::array<std::uint8_t, capacity> order_;  // of the entries, by peer
  std::size_t count_ = 0;
  std::int64_t sent_ = 0, refused_ = 0;
};

// Datagrams that have come. A train comes as one, where the kernel has not taken it apart on its way.
class UdpInbox {
 public:
  // Payloads come from the pool, which must outlive this.
  UdpInbox(const UdpSocket& socket, PayloadPool& pool);
  UdpInbox(const UdpInbox&) = delete;
  UdpInbox& operator=(const UdpInbox&) = delete;

  // How many have come; then each can be looked at until the next call.
  std::size_t receive();
  bool more() const { return more_; }  // may have come, than the last call took
  bool whole(std::size_t i) const { return arrivals_[i].size() == sizeof(UdpHead) + payload_bytes_; }  // as long as all of the run are
  UdpHead head(std::size_t i) const;                                                                   // of a whole one, as payload()
  Payload payload(std::size_t i) const;

 private:
  static constexpr std::size_t trains = 16;
  static constexpr std::size_t train_bytes = 1 << 16;

  const UdpSocket& socket_;
  PayloadPool& pool_;
  std::size_t payload_bytes_;
  std::vector<std::byte> memory_;  // for each train
  std::array<mmsghdr, trains> messages_ = {};
  std::array<iovec, trains> parts_ = {};
  struct alignas(cmsghdr) Control {
    std::array<std::byte, 64> bytes;
  };
  std::array<Control, trains> controls_;
  std::vector<std::span<const std::byte>> arrivals_;
  bool more_ = false;
};

}  // namespace weft
