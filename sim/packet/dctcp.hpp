#pragma once

#include "sim/packet/no_congestion_control.hpp"
#include "sim/packet/settings.hpp"

#include <algorithm>

namespace weft {

// DCTCP (Alizadeh et al., SIGCOMM 2010) in packets: slow start, one packet more per window, and once per window a cut by
// half the estimated share of marked packets. A loss halves it, a timeout starts it anew.
class Dctcp : public NoCongestionControl {
 public:
  static constexpr MarkEcho echo = MarkEcho::acknowledgement;
  static constexpr bool windowed = true;

  Dctcp(const PacketSettings& s, double /*line_bps*/)
      : gain_(s.dctcp_gain), packets_(static_cast<double>(s.window.count / s.packet.count)) {}

  std::uint32_t window() const { return static_cast<std::uint32_t>(packets_); }

  void on_ack(const Acknowledged& a) {
    seen_ += a.newly;
    max_in_flight_ = std::max(max_in_flight_, a.next - a.upto + a.newly);
    if (a.marked) {
      seen_marked_ += a.newly;
      threshold_ = std::min(threshold_, packets_);  // a mark ends slow start
    } else {
      grow(a.newly);
    }
    if (a.upto >= window_end_) {
      if (seen_ > 0) share_ += gain_ * (static_cast<double>(seen_marked_) / seen_ - share_);
      if (seen_marked_ > 0) packets_ = threshold_ = std::max(1.0, packets_ * (1 - share_ / 2));
      seen_ = seen_marked_ = 0;
      window_end_ = a.next;
      max_in_flight_ = a.next - a.upto;
    }
    packets_ = std::min(packets_, most);
  }
  void on_loss(std::uint32_t upto, std::uint32_t next) {
    if (upto < loss_end_) return;  // one cut for all losses of a window
    packets_ = threshold_ = std::max(1.0, packets_ / 2);
    loss_end_ = next;
  }
  void on_timeout() {
    threshold_ = std::max(2.0, packets_ / 2);
    packets_ = 1;
  }
  void next_message() { window_end_ = loss_end_ = seen_ = seen_marked_ = max_in_flight_ = 0; }
  bool learned() const { return true; }

 private:
  static constexpr double most = 1e6;

  // A window that was not used up is large enough. In slow start it may be twice what was in flight (Linux, tcp_is_cwnd_limited): where
  // acknowledgements come at the rate of the link, what they let go is on its way only when the next ones are here.
  void grow(std::uint32_t newly) {
    if (packets_ < threshold_)
      packets_ = std::max(packets_, std::min(packets_ + newly, 2.0 * max_in_flight_));
    else if (max_in_flight_ >= window())
      packets_ += newly / packets_;
  }

  double gain_;
  double packets_;
  double threshold_ = most;
  double share_ = 1;  // as in the paper's implementation: the first marks are taken seriously
  std::uint32_t window_end_ = 0, loss_end_ = 0, seen_ = 0, seen_marked_ = 0;
  std::uint32_t max_in_flight_ = 0;  // since the last window
};

}  // namespace weft
