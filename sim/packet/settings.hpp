// What the `packet` network is told: "packet": {...} in a scenario. Every value has a unit, a default and where it is from.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"
#include "models/fabric/fabric.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// When a switch begins to send a packet on: after all of it, or after its first bytes.
enum class Switching { store_and_forward, cut_through };

enum class PacketTransport {
  rdma,          // as fast as the link lets it; lossless fabrics (InfiniBand, RoCE without congestion control)
  dcqcn,         // a rate per flow, cut by congestion notifications: Zhu et al., SIGCOMM 2015
  dctcp,         // a window per flow, cut by the share of marked packets: Alizadeh et al., SIGCOMM 2010
  fixed_window,  // so many bytes may be unacknowledged, whatever happens
};

std::string_view name_of(Switching);
std::string_view name_of(PacketTransport);
bool needs_marks(PacketTransport);  // it learns of congestion by them alone
bool has_window(PacketTransport);

// Congestion marks, by the bytes that wait in the queue a packet joins: none up to `min`, all from `max` on, in between
// (RED, on the instantaneous length) with a probability that grows to `probability`. min == max is DCTCP's step.
struct EcnSettings {
  bool on = true;
  Bytes min{400'000};        // 100 kB at 25 Gb/s scaled to 100 Gb/s: Li et al. (HPCC), SIGCOMM 2019, section 5.1
  Bytes max{1'600'000};      // same place
  double probability = 0.2;  // same place
};

// Pause frames (IEEE 802.1Qbb), by the bytes that came over one link in one priority and wait in the switch. What arrives
// before the pause is heard goes to headroom, a part of the buffer that is as large as it needs to be.
struct PfcSettings {
  bool on = true;
  Bytes xoff = 1_MiB;  // a 32nd of the buffer: an equal part for each of 32 ports
  Bytes xon = 960_KiB;
};

// Zhu et al. 2015, section 5 and figure 14; alpha as ConnectX adapters have it (NVIDIA, "DCQCN CC Parameters": dce_tcp_rtt
// 1 us, dce_tcp_g 1019 of 1024), because the paper's 55 us and 1/256 keep it near 1 for a whole collective.
struct DcqcnSettings {
  SimTime notification_interval = 50_us;  // at most one notification a flow in this time
  SimTime alpha_interval = 1_us;          // alpha decays once in this time without notifications
  double gain = 5.0 / 1024;
  SimTime increase_interval = 55_us;
  Bytes increase_bytes = 10_MB;
  int fast_recovery = 5;                       // stages that only return towards the target rate
  BitsPerSecond additive_increase = 100_Mbps;  // a thousandth of the link's rate: 40 Mb/s of 40 Gb/s in the paper
  BitsPerSecond hyper_increase = 1_Gbps;
  BitsPerSecond least_rate = 100_Mbps;
  friend bool operator==(const DcqcnSettings&, const DcqcnSettings&) = default;
};

// A link that loses what it is given from `at` until `until`: what waits for it is lost, what is on it arrives.
struct LinkFailure {
  std::string link;  // as Fabric::link_name() says: "leaf0->spine2", one direction
  SimTime at;
  SimTime until = SimTime::never();
};

struct FaultSettings {
  double loss = 0;                      // of each packet on each link
  double corruption = 0;                // the same, but the packet uses up its way: to the next switch, with cut-through to the end
  std::vector<std::string> links = {};  // those that lose and corrupt, as Fabric::link_name() says; none: all
  std::vector<LinkFailure> failures = {};
  bool expected = false;  // packets are acknowledged although nothing of the above happens: for comparison with a run in which it does
  bool any() const { return loss > 0 || corruption > 0 || !failures.empty() || expected; }
};

inline constexpr SimTime longest_timeout = 3'600'000_ms;

struct PacketSettings {
  Bytes packet = 4_KiB;  // payload of a packet (RoCE's largest MTU); up to 64 KiB, as a burst that stays together
  Bytes header{0};       // added to each packet; 0: the hardware profile's wire_efficiency stands for headers
  Switching switching = Switching::cut_through;
  Bytes cut_through_after{64};   // of each packet: the parsed headers
  Bytes switch_buffer = 32_MiB;  // shared by all ports of a switch: Li et al. 2019
  double dynamic_threshold = 1;  // a queue, with PFC what came over a link, may hold this times the free buffer (Choudhury & Hahne 1998)
  EcnSettings ecn = {};
  PfcSettings pfc = {};
  // Collectives on RoCE and InfiniBand often run without congestion control in the adapter: Gangidi et al., SIGCOMM 2024.
  PacketTransport transport = PacketTransport::rdma;
  DcqcnSettings dcqcn = {};
  Bytes window = 256_KiB;        // of fixed_window, and the first one of dctcp: 100 Gb/s times 20 us
  double dctcp_gain = 1.0 / 16;  // Alizadeh et al. 2010
  Bytes acknowledgement{64};     // also of a congestion notification; 0: they take the path's latency and no bandwidth
  int acknowledge_every = 1;     // packets; marks and gaps are told at once
  SimTime timeout = 1_ms;        // without acknowledgement, or two round trips if these are longer; doubled each time in a row
  int retries = 7;               // timeouts in a row before the peer counts as lost (InfiniBand's retry count has 3 bits)
  FaultSettings faults = {};
  std::uint64_t seed = 1;  // of losses, corruption and RED
};

// Every value that cannot be, with its place below "/packet".
std::vector<Problem> problems(const PacketSettings&);

}  // namespace weft
