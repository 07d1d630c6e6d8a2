// A sender that does nothing about congestion: as fast as its link lets it. What every other one begins from.
#pragma once

#include <cstdint>

namespace weft {

// How a receiver tells the sender of a marked packet.
enum class MarkEcho : std::uint8_t { none, acknowledgement, notification };

struct Acknowledged {
  std::uint32_t newly;  // packets,
  std::uint32_t upto;   // all before which have arrived; the sender's next is `next`
  std::uint32_t next;
  bool marked;
};

class NoCongestionControl {
 public:
  static constexpr MarkEcho echo = MarkEcho::none;
  static constexpr bool windowed = false;  // packets must be acknowledged

  std::uint32_t window() const { return UINT32_MAX; }                                  // packets that may be unacknowledged
  std::int64_t on_send(std::int64_t /*now_ps*/, std::int64_t /*bytes*/) { return 0; }  // the time until the next packet may follow
  void on_ack(const Acknowledged&) {}
  void on_mark(std::int64_t /*now_ps*/) {}  // a notification has come
  void on_loss(std::uint32_t /*upto*/, std::uint32_t /*next*/) {}
  void on_timeout() {}
  void next_message() {}                  // whose packets count from 0 again
  bool learned() const { return false; }  // something that the route's next message begins with
};

}  // namespace weft
