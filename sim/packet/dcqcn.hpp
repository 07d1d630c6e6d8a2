#pragma once

#include "sim/packet/no_congestion_control.hpp"
#include "sim/packet/settings.hpp"

#include <algorithm>

namespace weft {

// DCQCN's reaction point (Zhu et al., SIGCOMM 2015). The timers are looked at when packets are sent: between packets the
// rate has no effect.
class Dcqcn : public NoCongestionControl {
 public:
  static constexpr MarkEcho echo = MarkEcho::notification;

  // The settings must outlive this.
  Dcqcn(const PacketSettings& s, double line_bps) : settings_(&s.dcqcn), line_(line_bps), rate_(line_bps), target_(line_bps) {}

  void on_mark(std::int64_t now_ps) {
    const DcqcnSettings& s = *settings_;
    decay(now_ps);
    target_ = rate_;
    rate_ = std::max(rate_ * (1 - alpha_ / 2), static_cast<double>(s.least_rate.count));
    alpha_ += s.gain * (1 - alpha_);
    alpha_ps_ = later(now_ps, s.alpha_interval.ps);
    increase_ps_ = later(now_ps, s.increase_interval.ps);
    time_stage_ = byte_stage_ = 0;
    bytes_ = 0;
  }

  std::int64_t on_send(std::int64_t now_ps, std::int64_t bytes) {
    if (!limited()) return 0;
    const DcqcnSettings& s = *settings_;
    bytes_ += bytes;
    if (bytes_ >= s.increase_bytes.count) {
      bytes_ -= s.increase_bytes.count;
      ++byte_stage_;
      increase();
    }
    while (limited() && now_ps >= increase_ps_) {
      increase_ps_ += s.increase_interval.ps;
      ++time_stage_;
      increase();
    }
    return static_cast<std::int64_t>(static_cast<double>(bytes) * 8e12 / rate_);
  }
  bool learned() const { return limited(); }

 private:
  bool limited() const { return rate_ < line_; }
  void decay(std::int64_t now_ps) {
    const DcqcnSettings& s = *settings_;
    for (; alpha_ps_ <= now_ps && alpha_ > 1e-6; alpha_ps_ += s.alpha_interval.ps) alpha_ *= 1 - s.gain;
  }
  void increase() {
    const DcqcnSettings& s = *settings_;
    const int most = std::max(time_stage_, byte_stage_), least = std::min(time_stage_, byte_stage_);
    if (least > s.fast_recovery)
      target_ += static_cast<double>(s.hyper_increase.count);
    else if (most > s.fast_recovery)
      target_ += static_cast<double>(s.additive_increase.count);
    target_ = std::min(target_, line_);
    rate_ = (rate_ + target_) / 2;
    if (rate_ > 0.999 * line_) rate_ = line_;  // halving the distance alone would never arrive
  }

  const DcqcnSettings* settings_;
  double line_, rate_, target_;
  double alpha_ = 1;
  std::int64_t alpha_ps_ = INT64_MAX;  // when alpha decays next; not before the first notification
  std::int64_t increase_ps_ = 0;
  std::int64_t bytes_ = 0;
  int time_stage_ = 0, byte_stage_ = 0;
};

}  // namespace weft
