// What a sender does about congestion, without the network around it.
#pragma once

#include "sim/packet/settings.hpp"

#include <algorithm>
#include <cstdint>

namespace weft {

// DCTCP (Alizadeh et al., SIGCOMM 2010) in packets: slow start, one packet more per window, and once per window a cut by
// half the estimated share of marked packets. A loss halves it, a timeout starts it anew.
class DctcpWindow {
 public:
  explicit DctcpWindow(double first = 1) : packets_(first) {}

  std::uint32_t packets() const { return static_cast<std::uint32_t>(packets_); }

  // `newly` more packets are acknowledged, all up to `upto`; the sender's next is `next`.
  void acknowledged(std::uint32_t newly, bool marked, std::uint32_t upto, std::uint32_t next, double gain) {
    seen_ += newly;
    if (marked) {
      seen_marked_ += newly;
      threshold_ = std::min(threshold_, packets_);  // a mark ends slow start
    } else if (next - upto + newly >= packets()) {  // a window that was not used up is large enough
      packets_ += packets_ < threshold_ ? newly : newly / packets_;
    }
    if (upto >= window_end_) {
      if (seen_ > 0) share_ += gain * (static_cast<double>(seen_marked_) / seen_ - share_);
      if (seen_marked_ > 0) packets_ = threshold_ = std::max(1.0, packets_ * (1 - share_ / 2));
      seen_ = seen_marked_ = 0;
      window_end_ = next;
    }
    packets_ = std::min(packets_, most);
  }
  void lost(std::uint32_t upto, std::uint32_t next) {
    if (upto < loss_end_) return;  // one cut for all losses of a window
    packets_ = threshold_ = std::max(1.0, packets_ / 2);
    loss_end_ = next;
  }
  void timed_out() {
    threshold_ = std::max(2.0, packets_ / 2);
    packets_ = 1;
  }
  // For the next message, whose packets count from 0 again.
  void restart() { window_end_ = loss_end_ = seen_ = seen_marked_ = 0; }

 private:
  static constexpr double most = 1e6;
  double packets_;
  double threshold_ = most;
  double share_ = 1;  // as in the paper's implementation: the first marks are taken seriously
  std::uint32_t window_end_ = 0, loss_end_ = 0, seen_ = 0, seen_marked_ = 0;
};

// DCQCN's reaction point (Zhu et al., SIGCOMM 2015). The timers are looked at when packets are sent: between packets the
// rate has no effect.
class DcqcnRate {
 public:
  explicit DcqcnRate(double line_bps = 0) : line_(line_bps), rate_(line_bps), target_(line_bps) {}

  bool limited() const { return rate_ < line_; }
  double bps() const { return rate_; }

  void notified(std::int64_t now_ps, const DcqcnSettings& s) {
    decay(now_ps, s);
    target_ = rate_;
    rate_ = std::max(rate_ * (1 - alpha_ / 2), static_cast<double>(s.least_rate.count));
    alpha_ += s.gain * (1 - alpha_);
    alpha_ps_ = later(now_ps, s.alpha_interval.ps);
    increase_ps_ = later(now_ps, s.increase_interval.ps);
    time_stage_ = byte_stage_ = 0;
    bytes_ = 0;
  }

  // The time until the next packet may follow one of `bytes`.
  std::int64_t sent(std::int64_t now_ps, std::int64_t bytes, const DcqcnSettings& s) {
    if (!limited()) return 0;
    bytes_ += bytes;
    if (bytes_ >= s.increase_bytes.count) {
      bytes_ -= s.increase_bytes.count;
      ++byte_stage_;
      increase(s);
    }
    while (limited() && now_ps >= increase_ps_) {
      increase_ps_ += s.increase_interval.ps;
      ++time_stage_;
      increase(s);
    }
    return static_cast<std::int64_t>(static_cast<double>(bytes) * 8e12 / rate_);
  }

 private:
  void decay(std::int64_t now_ps, const DcqcnSettings& s) {
    for (; alpha_ps_ <= now_ps && alpha_ > 1e-6; alpha_ps_ += s.alpha_interval.ps) alpha_ *= 1 - s.gain;
  }
  void increase(const DcqcnSettings& s) {
    const int most = std::max(time_stage_, byte_stage_), least = std::min(time_stage_, byte_stage_);
    if (least > s.fast_recovery)
      target_ += static_cast<double>(s.hyper_increase.count);
    else if (most > s.fast_recovery)
      target_ += static_cast<double>(s.additive_increase.count);
    target_ = std::min(target_, line_);
    rate_ = (rate_ + target_) / 2;
    if (rate_ > 0.999 * line_) rate_ = line_;  // halving the distance alone would never arrive
  }

  double line_, rate_, target_;
  double alpha_ = 1;
  std::int64_t alpha_ps_ = INT64_MAX;  // when alpha decays next; not before the first notification
  std::int64_t increase_ps_ = 0;
  std::int64_t bytes_ = 0;
  int time_stage_ = 0, byte_stage_ = 0;
};

}  // namespace weft
