// What costs, estimates and the choice of NCCL's algorithms share; models/nccl_tuning.hpp is for others.
#pragma once

#include "models/nccl_tuning.hpp"

#include <array>
#include <cmath>

namespace weft::nccl {

using OfProtocol = std::array<double, 3>;  // LL, LL128, Simple

struct Table {
  OfProtocol base, nvlink, pcie, network;  // microseconds
};
inline constexpr Table tree = {{6.8, 14.0, 8.4}, {0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}};
inline constexpr Table ring = {{6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}};
inline constexpr Table collnet_direct = {{0, 0, 0}, {0, 0, 3.7}, {0, 0, 3.7}, {0, 0, 31}};
inline constexpr Table collnet_chain = {{0, 0, 0}, {0, 0, 2.8}, {0, 0, 2.8}, {0, 0, 30}};

constexpr const Table& table_of(NcclAlgorithm pattern) {
  switch (pattern) {
    case NcclAlgorithm::tree:
      return tree;
    case NcclAlgorithm::collnet_direct:
      return collnet_direct;
    case NcclAlgorithm::collnet_chain:
      return collnet_chain;
    default:
      return ring;
  }
}

// NVLS, to the NVSwitch and back, and to the switches between servers that add, and back.
inline constexpr double nvls_us = 25, nvls_network_us = 18;

// With CollNet direct a head gets from, and sends to, one other GPU of its server after the other.
inline constexpr double arity_us = 0.4;

// The part of a rate that CollNet direct gets.
inline constexpr double direct_efficiency = 0.85;

// Threads of a channel, and bytes for each of them before NCCL takes another channel.
struct Work {
  int threads, bytes_each;
};
inline constexpr std::array<Work, 3> work_of_channel = {{{512, 8}, {640, 8}, {512, 64}}};  // LL, LL128, Simple

inline SimTime microseconds(double us) { return {std::llround(us * 1e6)}; }

inline std::size_t index_of(NcclProtocol protocol) { return static_cast<std::size_t>(protocol) - 1; }

inline bool is_chain(Collective collective) { return collective == Collective::broadcast || collective == Collective::reduce; }

// An NVSwitch by itself.
inline bool is_one_nvswitch(const Regime& regime) { return regime.pattern == NcclAlgorithm::nvls && !regime.between_servers; }

// Seconds of a byte of the message on the slowest links, where `share_*` of it cross each link, were they wholly used.
double seconds_a_byte(const HardwareProfile& profile, const NcclQuestion& q, double share_inside, double share_outside);

// Of a message that NVSwitches add.
double inside_added(const NcclQuestion& q, const NcclCosts& costs);
double outside_added(const NcclQuestion& q);

// How many channels a call takes: at most twice those that the search finds, 12 on 8 V100, 24 on 8 A100, whose calls take longer up to so
// many (validation/data/public_a100_nccl).
int channels_taken(const NcclQuestion& q, const Regime& regime, Bytes size);

// The part of a tree's rate that it gets at this size. NCCL expects it in steps, at powers of two; it is what calls take in between, too.
double rate_of_tree(NcclProtocol protocol, Bytes size);

// With what NCCL does not know when it chooses.
Regime as_run(const HardwareProfile& profile, const NcclQuestion& q, Regime regime, Bytes size);

}  // namespace weft::nccl
