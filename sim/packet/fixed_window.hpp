// So many packets may be unacknowledged, whatever happens.
#pragma once

#include "sim/packet/no_congestion_control.hpp"
#include "sim/packet/settings.hpp"

namespace weft {

class FixedWindow : public NoCongestionControl {
 public:
  static constexpr bool windowed = true;

  FixedWindow(const PacketSettings& s, double /*line_bps*/) : packets_(static_cast<std::uint32_t>(s.window.count / s.packet.count)) {}
  std::uint32_t window() const { return packets_; }

 private:
  std::uint32_t packets_;
};

}  // namespace weft
