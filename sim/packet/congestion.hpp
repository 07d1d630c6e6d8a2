// What senders do about congestion, each a class in a file of its own, without the network around it. A new one derives from
// NoCongestionControl, and is an alternative here and a PacketTransport with its fields in settings.hpp.
#pragma once

#include "sim/packet/dcqcn.hpp"
#include "sim/packet/dctcp.hpp"
#include "sim/packet/fixed_window.hpp"

#include <variant>

namespace weft {

using CongestionControl = std::variant<NoCongestionControl, Dcqcn, Dctcp, FixedWindow>;

// At the beginning of a route's first message, over a NIC of this rate. The settings must outlive it.
inline CongestionControl congestion_control(const PacketSettings& s, double line_bps) {
  switch (s.transport) {
    case PacketTransport::rdma:
      break;
    case PacketTransport::dcqcn:
      return Dcqcn(s, line_bps);
    case PacketTransport::dctcp:
      return Dctcp(s, line_bps);
    case PacketTransport::fixed_window:
      return FixedWindow(s, line_bps);
  }
  return NoCongestionControl();
}

}  // namespace weft
