#include "collectives/transports/udp/udp_socket.hpp"

#include "collectives/transports/socket_address.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>

namespace weft {
namespace {

constexpr int wanted_queue_bytes = 4 << 20;
constexpr std::size_t longest_segmented = 65535 - 28;  // what the kernel takes apart, without the headers of IP and UDP

// Of each datagram of a train but the last, which may be shorter; nothing where it is a single one.
std::optional<std::size_t> datagram_bytes(msghdr& message) {
#ifdef UDP_GRO
  for (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
    int bytes = 0;
    std::memcpy(&bytes, CMSG_DATA(c), sizeof bytes);
    if (bytes > 0) return static_cast<std::size_t>(bytes);
  }
#else
  static_cast<void>(message);
#endif
  return std::nullopt;
}

}  // namespace

UdpSocket::UdpSocket(const std::string& address) : host_(host_in(address)) {
  const Addresses found = resolve(address, SOCK_DGRAM, AI_PASSIVE);
  socket_ = Socket(::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, found->ai_protocol));
  if (!socket_.open() || ::bind(socket_.descriptor(), found->ai_addr, found->ai_addrlen) != 0)
    throw RunError(fmt::format("cannot receive datagrams at {}: {}", address, std::strerror(errno)));
  for (const auto& [force, plain] : {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}})
    if (::setsockopt(descriptor(), SOL_SOCKET, force, &wanted_queue_bytes, sizeof wanted_queue_bytes) != 0)
      ::setsockopt(descriptor(), SOL_SOCKET, plain, &wanted_queue_bytes, sizeof wanted_queue_bytes);
  int got = 0;
  socklen_t size = sizeof got;
  ::getsockopt(descriptor(), SOL_SOCKET, SO_RCVBUF, &got, &size);
  capacity_ = static_cast<std::uint32_t>(got);
}

std::string UdpSocket::address() const { return fmt::format("{}:{}", host_, port_of(descriptor())); }

void UdpSocket::wait(std::chrono::microseconds at_most) const {
  pollfd p{descriptor(), POLLIN, 0};
  const timespec limit{at_most.count() / 1'000'000, at_most.count() % 1'000'000 * 1000};
  ::ppoll(&p, 1, &limit, nullptr);
}

UdpSocket::Queue UdpSocket::queue() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t size = sizeof memory;
  if (::getsockopt(descriptor(), SOL_SOCKET, SO_MEMINFO, memory.data(), &size) != 0) return {};
  return {.long_ = memory[SK_MEMINFO_RMEM_ALLOC] > capacity_ / 2, .dropped = memory[SK_MEMINFO_DROPS]};
}

UdpPeer udp_peer(const std::string& address) {
  const Addresses found = resolve(address, SOCK_DGRAM, 0);
  UdpPeer out;
  std::memcpy(&out.address, found->ai_addr, found->ai_addrlen);
  out.size = found->ai_addrlen;
  return out;
}

UdpOutbox::UdpOutbox(const UdpSocket& socket, std::vector<UdpPeer> peers, int values)
    : socket_(socket), peers_(std::move(peers)), payload_bytes_(static_cast<std::size_t>(values) * sizeof(std::int32_t)) {
  longest_train_ = std::clamp<std::size_t>(longest_segmented / (sizeof(UdpHead) + payload_bytes_), 1, capacity);
#ifdef UDP_SEGMENT
  const int none = 0;
  if (::setsockopt(socket.descriptor(), IPPROTO_UDP, UDP_SEGMENT, &none, sizeof none) != 0) longest_train_ = 1;
#else
  longest_train_ = 1;
#endif
}

void UdpOutbox::put(const UdpHead& head, const Payload& payload, int peer) {
  if (count_ == capacity) flush();
  entries_[count_++] = {head, payload, peer};
}

// Those to one peer in the order they were put.
void UdpOutbox::sort_by_peer() {
  for (std::size_t i = 0; i < count_; ++i) {
    std::size_t at = i;
    for (; at > 0 && entry(at - 1).peer > entries_[i].peer; --at) order_[at] = order_[at - 1];
    order_[at] = static_cast<std::uint8_t>(i);
  }
}

std::size_t UdpOutbox::train(std::size_t first) const {
  std::size_t end = first + 1;
  while (end < count_ && end - first < longest_train_ && entry(end).peer == entry(first).peer) ++end;
  return end;
}

void UdpOutbox::flush() {
  constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(std::uint16_t));
  std::array<mmsghdr, capacity> messages;
  std::array<iovec, 2 * capacity> parts;
  alignas(cmsghdr) std::array<std::array<std::byte, control_bytes>, capacity> controls;
  std::array<std::size_t, capacity + 1> begins;  // of each message's datagrams

  sort_by_peer();
  std::size_t trains = 0;
  for (std::size_t first = 0; first < count_;) {
    const std::size_t end = train(first);
    for (std::size_t i = first; i < end; ++i) {
      Entry& e = entries_[order_[i]];
      const auto values = std::as_bytes(e.payload.values());
      parts[2 * i] = {&e.head, sizeof e.head};
      parts[2 * i + 1] = {const_cast<std::byte*>(values.data()), values.size()};
    }
    UdpPeer& peer = peers_[static_cast<std::size_t>(entry(first).peer)];
    msghdr& m = messages[trains].msg_hdr;
    m = {};
    m.msg_name = &peer.address;
    m.msg_namelen = peer.size;
    m.msg_iov = &parts[2 * first];
    m.msg_iovlen = 2 * (end - first);
#ifdef UDP_SEGMENT
    if (end - first > 1) {
      m.msg_control = controls[trains].data();
      m.msg_controllen = control_bytes;
      cmsghdr* const c = CMSG_FIRSTHDR(&m);
      c->cmsg_level = IPPROTO_UDP;
      c->cmsg_type = UDP_SEGMENT;
      c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
      const auto segment = static_cast<std::uint16_t>(sizeof(UdpHead) + payload_bytes_);
      std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
    }
#endif
    begins[trains++] = first;
    first = end;
  }
  begins[trains] = count_;
  for (std::size_t at = 0; at < trains;) {
    const int went = ::sendmmsg(socket_.descriptor(), &messages[at], static_cast<unsigned>(trains - at), MSG_NOSIGNAL);
    if (went > 0) {
      const std::size_t next = at + static_cast<std::size_t>(went);
      sent_ += static_cast<std::int64_t>(begins[next] - begins[at]);
      at = next;
    } else if (errno != EINTR) {
      refuse(errno, begins[at + 1] - begins[at], entry(begins[at]).peer);
      ++at;
    }
  }
  for (std::size_t i = 0; i < count_; ++i) entries_[i].payload = {};
  count_ = 0;
}

// No room is a loss, as on any network; a kernel or device that does not take trains apart gets single ones from now on.
void UdpOutbox::refuse(int error, std::size_t datagrams, int peer) {
  refused_ += static_cast<std::int64_t>(datagrams);
  if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ECONNREFUSED) return;
  if (datagrams > 1) {
    longest_train_ = 1;
    return;
  }
  const UdpPeer& p = peers_[static_cast<std::size_t>(peer)];
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&p.address), p.size, host.data(), host.size(), port.data(), port.size(),
                NI_NUMERICHOST | NI_NUMERICSERV);
  throw RunError(
      fmt::format("cannot send {} bytes to {}:{}: {}", sizeof(UdpHead) + payload_bytes_, host.data(), port.data(), std::strerror(error)));
}

UdpInbox::UdpInbox(const UdpSocket& socket, PayloadPool& pool)
    : socket_(socket),
      pool_(pool),
      payload_bytes_(static_cast<std::size_t>(pool.values()) * sizeof(std::int32_t)),
      memory_(trains * train_bytes) {
#ifdef UDP_GRO
  const int on = 1;  // without it they come one by one
  ::setsockopt(socket.descriptor(), IPPROTO_UDP, UDP_GRO, &on, sizeof on);
#endif
  for (std::size_t i = 0; i < trains; ++i) {
    parts_[i] = {memory_.data() + i * train_bytes, train_bytes};
    messages_[i].msg_hdr.msg_iov = &parts_[i];
    messages_[i].msg_hdr.msg_iovlen = 1;
    messages_[i].msg_hdr.msg_control = controls_[i].bytes.data();
  }
  arrivals_.reserve(trains * (train_bytes / sizeof(UdpHead)));
}

std::size_t UdpInbox::receive() {
  arrivals_.clear();
  for (mmsghdr& m : messages_) m.msg_hdr.msg_controllen = sizeof(Control);
  const int got = ::recvmmsg(socket_.descriptor(), messages_.data(), trains, MSG_DONTWAIT, nullptr);
  more_ = got == static_cast<int>(trains);
  if (got < 0) {
    // A peer that has ended answers that its port is unreachable; the control connection says so better.
    if (try_again_later() || errno == ECONNREFUSED) return 0;
    throw RunError(fmt::format("cannot receive at {}: {}", socket_.address(), std::strerror(errno)));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
    const std::span<const std::byte> train(memory_.data() + i * train_bytes, messages_[i].msg_len);
    const std::size_t each = datagram_bytes(messages_[i].msg_hdr).value_or(train.size());
    std::size_t at = 0;
    do arrivals_.push_back(train.subspan(at, std::min(each, train.size() - at)));
    while ((at += each) < train.size());
  }
  return arrivals_.size();
}

UdpHead UdpInbox::head(std::size_t i) const {
  UdpHead out;
  std::memcpy(&out, arrivals_[i].data(), sizeof out);
  return out;
}

Payload UdpInbox::payload(std::size_t i) const {
  Payload out = pool_.take();
  std::memcpy(out.mutable_values().data(), arrivals_[i].data() + sizeof(UdpHead), payload_bytes_);
  return out;
}

}  // namespace weft
