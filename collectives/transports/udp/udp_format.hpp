// How a datagram of agents lies in a UDP datagram, in little-endian byte order:
//
//   offset  bytes
//        0      2  0x5746, "FW"
//        2      1  version of this format, 1
//        3      1  1 if congestion was met, else 0
//        4      4  round: which of the run's all-reduces this belongs to
//        8      8  run, a random number: what belongs to another is not ours
//       16      4  from, an address
//       20      4  to, an address
//       24     40  the protocol's header (AtpHeader, SwitchmlHeader)
//       64   4 * n values, as many as all datagrams of the run have
#pragma once

#include "collectives/in_network/datagram.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft {

struct UdpHead {
  static constexpr std::uint16_t our_magic = 0x5746;
  static constexpr std::uint8_t our_version = 1;

  std::uint16_t magic = our_magic;
  std::uint8_t version = our_version;
  std::uint8_t congested = 0;
  std::uint32_t round = 0;
  std::uint64_t run = 0;
  Address from = nobody;
  Address to = nobody;
  std::array<std::byte, Header::capacity> header = {};

  bool ours() const { return magic == our_magic && version == our_version && congested <= 1; }
};
// Memory is sent as it is.
static_assert(sizeof(UdpHead) == 64 && std::has_unique_object_representations_v<UdpHead>);
static_assert(std::endian::native == std::endian::little, "headers are sent as they lie in memory, which must be little-endian");

inline constexpr int udp_overhead_bytes = 28 + static_cast<int>(sizeof(UdpHead));  // of IPv4, UDP and ours, before the values
inline constexpr int udp_packet_limit = 65535;                                     // with all of these: what IPv4 can carry

inline UdpHead udp_head(std::uint64_t run, std::uint32_t round, const Datagram& d) {
  return {.congested = d.congested, .round = round, .run = run, .from = d.from, .to = d.to, .header = d.header.bytes()};
}

}  // namespace weft
