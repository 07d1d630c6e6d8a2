#include "sim/packet/settings.hpp"

#include "models/fabric/validation.hpp"

namespace weft {
namespace {

void check_ecn(const EcnSettings& ecn, Problems& found) {
  found.require(ecn.min.count > 0, "/ecn/min", "must be more than 0 B, got {}", to_string(ecn.min));
  found.require(ecn.max >= ecn.min, "/ecn/max", "must be at least min = {}, got {}", to_string(ecn.min), to_string(ecn.max));
  found.require(ecn.probability >= 0 && ecn.probability <= 1, "/ecn/probability", "must be between 0 and 1, got {}", ecn.probability);
}

void check_pfc(const PacketSettings& s, Problems& found) {
  if (!s.pfc.on) return;
  found.require(s.pfc.xoff >= s.packet, "/pfc/xoff", "must be at least one packet = {}, got {}", to_string(s.packet),
                to_string(s.pfc.xoff));
  found.require(s.pfc.xon.count >= 0 && s.pfc.xon <= s.pfc.xoff, "/pfc/xon", "must be between 0 B and xoff = {}, got {}",
                to_string(s.pfc.xoff), to_string(s.pfc.xon));
}

void check_dcqcn(const DcqcnSettings& d, Problems& found) {
  const auto positive = [&](const char* where, SimTime t) {
    found.require(t.ps > 0, where, "must be more than 0 s, got {}", to_string(t));
  };
  positive("/dcqcn/alpha_interval", d.alpha_interval);
  positive("/dcqcn/increase_interval", d.increase_interval);
  found.require(d.notification_interval.ps >= 0, "/dcqcn/notification_interval", "must not be negative, got {}",
                to_string(d.notification_interval));
  found.require(d.increase_bytes.count > 0, "/dcqcn/increase_bytes", "must be more than 0 B, got {}", to_string(d.increase_bytes));
  found.require(d.gain > 0 && d.gain <= 1, "/dcqcn/gain", "must be more than 0 and at most 1, got {}", d.gain);
  found.within(0, 1'000'000, "/dcqcn/fast_recovery", d.fast_recovery);
  found.require(d.least_rate.count > 0, "/dcqcn/least_rate", "must be more than 0 bps, got {}", to_string(d.least_rate));
  found.require(d.additive_increase.count > 0, "/dcqcn/additive_increase", "must be more than 0 bps, got {}",
                to_string(d.additive_increase));
  found.require(d.hyper_increase.count > 0, "/dcqcn/hyper_increase", "must be more than 0 bps, got {}", to_string(d.hyper_increase));
}

void check_faults(const FaultSettings& faults, Problems& found) {
  // Written so that not-a-number fails too. A link that loses everything is a failure, and is written as one.
  found.require(faults.loss >= 0 && faults.loss < 1, "/faults/loss", "must be at least 0 and less than 1, got {}", faults.loss);
  found.require(faults.corruption >= 0 && faults.corruption < 1, "/faults/corruption", "must be at least 0 and less than 1, got {}",
                faults.corruption);
  for (std::size_t i = 0; i < faults.failures.size(); ++i) {
    const LinkFailure& f = faults.failures[i];
    found.require(f.at.ps >= 0, fmt::format("/faults/failures/{}/at", i), "must not be negative, got {}", to_string(f.at));
    found.require(f.until > f.at, fmt::format("/faults/failures/{}/until", i), "must come after at = {}, got {}", to_string(f.at),
                  to_string(f.until));
  }
}

}  // namespace

std::string_view name_of(Switching s) { return s == Switching::cut_through ? "cut_through" : "store_and_forward"; }

std::string_view name_of(PacketTransport t) {
  switch (t) {
    case PacketTransport::rdma:
      return "rdma";
    case PacketTransport::dcqcn:
      return "dcqcn";
    case PacketTransport::dctcp:
      return "dctcp";
    case PacketTransport::fixed_window:
      return "fixed_window";
  }
  return "";
}

bool needs_marks(PacketTransport transport) { return transport == PacketTransport::dcqcn || transport == PacketTransport::dctcp; }
bool has_window(PacketTransport transport) { return transport == PacketTransport::fixed_window || transport == PacketTransport::dctcp; }

std::vector<Problem> problems(const PacketSettings& s) {
  constexpr Bytes most = 64_KiB;
  Problems found;
  found.require(s.packet.count > 0 && s.packet <= most, "/packet", "must be between 1 B and {}, got {}", to_string(most),
                to_string(s.packet));
  found.require(s.header.count >= 0 && s.header <= 1_KiB, "/header", "must be between 0 B and 1KiB, got {}", to_string(s.header));
  found.require(s.cut_through_after.count > 0, "/cut_through_after", "must be more than 0 B, got {}", to_string(s.cut_through_after));
  found.require(s.switch_buffer >= s.packet + s.header, "/switch_buffer", "must hold at least one packet = {}, got {}",
                to_string(s.packet + s.header), to_string(s.switch_buffer));
  found.require(s.dynamic_threshold > 0, "/dynamic_threshold", "must be more than 0, got {}", s.dynamic_threshold);
  check_ecn(s.ecn, found);
  check_pfc(s, found);
  check_dcqcn(s.dcqcn, found);
  found.require(s.window >= s.packet, "/window", "must hold at least one packet = {}, got {}", to_string(s.packet), to_string(s.window));
  found.require(s.dctcp_gain > 0 && s.dctcp_gain <= 1, "/dctcp_gain", "must be more than 0 and at most 1, got {}", s.dctcp_gain);
  found.require(s.acknowledgement.count >= 0 && s.acknowledgement <= most, "/acknowledgement", "must be between 0 B and {}, got {}",
                to_string(most), to_string(s.acknowledgement));
  found.within(1, 1'000'000, "/acknowledge_every", s.acknowledge_every);
  if (has_window(s.transport) && s.packet.count > 0 && s.window >= s.packet)
    found.require(s.acknowledge_every <= s.window.count / s.packet.count, "/acknowledge_every",
                  "must not be more than the {} packets of /packet/window = {}, got {}", s.window.count / s.packet.count,
                  to_string(s.window), s.acknowledge_every);
  found.require(s.timeout.ps > 0, "/timeout", "must be more than 0 s, got {}", to_string(s.timeout));
  found.within(0, 40, "/retries", s.retries);
  if (s.timeout.ps > 0 && s.retries >= 0 && s.retries <= 40)
    found.require(s.timeout.ps <= longest_timeout.ps >> s.retries, "/timeout", "doubled {} times must be at most {}, got {}", s.retries,
                  to_string(longest_timeout), to_string(s.timeout));
  check_faults(s.faults, found);
  return found.take();
}

}  // namespace weft
