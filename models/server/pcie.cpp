#include "models/server/pcie.hpp"

#include "models/fabric/validation.hpp"

#include <array>
#include <bit>
#include <cmath>

namespace weft {
namespace {

struct Generation {
  double gigatransfers_per_second;  // of a lane: PCI Express Base Specification
  double encoding;                  // 8b/10b up to generation 2, then 128b/130b; 236 of the 256 bytes of a flit in generation 6
  double data_link;                 // what acknowledgements and flow control leave
  int packet_header;                // bytes: framing, sequence number, header with 64-bit address, LCRC
};

// 57.88 of 62.96 Gb/s of a generation 3 x8 link reach the transaction layer, and a write carries 24 bytes besides its data:
// Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018. The data link layer of a flit
// stands in its other 20 bytes, and so do sequence number and LCRC.
constexpr double packets_data_link = 57.88 / 62.96;
constexpr std::array<Generation, 6> generations = {{{2.5, 8.0 / 10, packets_data_link, 24},
                                                    {5, 8.0 / 10, packets_data_link, 24},
                                                    {8, 128.0 / 130, packets_data_link, 24},
                                                    {16, 128.0 / 130, packets_data_link, 24},
                                                    {32, 128.0 / 130, packets_data_link, 24},
                                                    {64, 236.0 / 256, 1.0, 16}}};

}  // namespace

std::vector<Problem> problems(const PcieLink& link) {
  Problems found;
  found.within(1, static_cast<std::int64_t>(generations.size()), "/generation", link.generation);
  found.require(link.width == 1 || link.width == 2 || link.width == 4 || link.width == 8 || link.width == 12 || link.width == 16, "/width",
                "must be 1, 2, 4, 8, 12 or 16 lanes, got {}", link.width);
  const bool is_payload =
      link.max_payload >= 64 && link.max_payload <= 4096 && std::has_single_bit(static_cast<unsigned>(link.max_payload));
  found.require(is_payload, "/max_payload", "must be a power of two from 64 to 4096 bytes, got {}", link.max_payload);
  return found.take();
}

BitsPerSecond pcie_rate(const PcieLink& link) {
  const Generation& g = generations[static_cast<std::size_t>(link.generation - 1)];
  const double payload = link.max_payload, packet = payload + g.packet_header;
  const double raw = link.width * g.gigatransfers_per_second * 1e9;
  return {static_cast<std::int64_t>(std::floor(raw * g.encoding * g.data_link * payload / packet))};
}

int pcie_generation(double gigatransfers_per_second) {
  for (std::size_t i = 0; i < generations.size(); ++i)
    if (std::abs(generations[i].gigatransfers_per_second - gigatransfers_per_second) < 0.05) return static_cast<int>(i) + 1;
  return 0;
}

}  // namespace weft
