#include "collectives/bench/udp_report.hpp"

#include <numeric>

#include <fmt/format.h>

namespace weft::bench {
namespace {

double percent(std::int64_t part, std::int64_t all) { return all > 0 ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0; }

}  // namespace

UdpReport::Counters UdpReport::counted(const UdpNode& udp) {
  const UdpNode::Statistics& s = udp.statistics();
  return {.sent = udp.sent(),
          .lost = s.lost,
          .duplicated = s.duplicated,
          .reordered = s.reordered,
          .malformed = s.malformed,
          .dropped = udp.dropped()};
}

void UdpReport::Counters::add(const Counters& o, int sign) {
  sent += sign * o.sent, lost += sign * o.lost, duplicated += sign * o.duplicated, reordered += sign * o.reordered;
  malformed += sign * o.malformed, dropped += sign * o.dropped;
}

void UdpReport::end(const UdpNode& udp) {
  network_ = counted(udp);
  network_.add(before_, -1);
}

void UdpReport::add(const UdpReport& other) {
  agents_.add(other.agents_);
  network_.add(other.network_, 1);
}

std::string UdpReport::note(const std::vector<double>& times_us) const {
  const InNetworkStatistics& a = agents_;
  const double time_us = std::accumulate(times_us.begin(), times_us.end(), 0.0);
  std::string out = fmt::format("{:.2f} % of {} packets fully aggregated by switches", percent(a.whole, a.packets), a.packets);
  if (a.largest_window > 0)
    out += fmt::format(", {:.2f} % of what they saw collided, at most {} aggregators in use, largest window {} packets",
                       percent(a.collisions, a.seen), a.most_in_use, a.largest_window);
  out += fmt::format(
      "\n# {} packets of ranks, {} retransmissions, {} timeouts; {} datagrams, {:.0f} a second; injected faults: {} lost, "
      "{} duplicated, {} reordered; ",
      a.sent, a.resent, a.timeouts, network_.sent, time_us > 0 ? static_cast<double>(network_.sent) / time_us * 1e6 : 0, network_.lost,
      network_.duplicated, network_.reordered);
  out += fmt::format("{} socket-buffer drops", network_.dropped);
  const std::int64_t malformed = network_.malformed + a.malformed;
  if (malformed > 0) out += fmt::format("; {} were not understood", malformed);
  return out;
}

std::string UdpMedium::about() const {
  const UdpSettings& n = settings_.in_network;
  std::string out = fmt::format("{} switches, {} servers (atp); {} bytes of values and {} of headers in a datagram", settings_.switches,
                                settings_.cut.servers, n.payload_bytes, udp_overhead_bytes);
  if (settings_.dtype != DType::int32) out += fmt::format("; fixed point, scale {:g}", FixedPoint{}.scale);
  out += settings_.check ? "; every sum is compared to the bit" : "";
  return out + fmt::format("\n# {} aggregators, largest window {} packets (atp); {} slots (switchml); retransmission timeout {} ms",
                           n.atp.aggregators, n.atp.largest_window, n.switchml.slots, n.timeout_ms);
}

}  // namespace weft::bench
