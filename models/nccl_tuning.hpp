// NCCL's own model of what its algorithms cost: latencies of a call and of a hop, by protocol, algorithm and what the hop is of,
// the part of the links' rate that each gets, and the choice that NCCL makes by them.
//
// Source: NVIDIA NCCL 2.28, src/graph/tuning.cc (baseLatencies, hwLatencies, nvlsEfficiency, getNetOverhead, treeCorrectionFactor, and
// ncclTopoTuneModel, which puts them together), and 2.19 for the rate of LL in a profile (1/4 of a ring's) and for what LL cuts
// (all_reduce.h); enqueue.cc for the channels that a call takes.
//
// In nccl_costs.cpp, nccl_estimate.cpp, nccl_choice.cpp and nccl_as_run.cpp (what NCCL does not know when it chooses).
#pragma once

#include "models/hardware.hpp"

#include <optional>
#include <vector>

namespace weft {

// A factor of a profile's latencies is at most this.
inline constexpr double nccl_most_factor = 100;

// Smaller messages lie in the receiver's buffer before it asks for them, and the sender goes on: below every chunk that is cut
// (nccl_chunk), and small beside LL's buffer of eight steps of 32 KiB.
inline constexpr Bytes nccl_eager = 8_KiB;

// A hop of NVLSTree between servers, in microseconds: half of what NCCL expects. 4 to 512 B take 46 to 48 us on two servers of 8 H20
// (NVIDIA/nccl#1244, NCCL_ALGO=NVLSTree), 25 of them in the servers.
inline constexpr double nvls_tree_hop_us = 10.7, nvls_tree_hop_expected_us = 20.9;

struct NcclCosts {
  SimTime base;                   // of a call
  SimTime sending = {};           // of a message
  SimTime nvlink, pcie, network;  // of a hop
  double efficiency = 1;          // of the links
  double nvlink_gain = 1;         // of a server's, where its NVSwitch adds
};

// With the profile's factors.
NcclCosts nccl_costs(const HardwareProfile& profile, const Regime& regime);

// Whether messages of other algorithms cost nothing besides their links: beside NCCL's they look faster than they are.
bool only_nccl_has_latencies(const HardwareProfile& profile);

// What of a profile's factors calls of a regime feel, besides nccl_base.
struct NcclFactors {
  double hops = 1, network = 1, efficiency = 1;
};
NcclFactors nccl_factors(const HardwareProfile& profile, const Regime& regime);
// The profile that has these; the efficiency at most what tree_efficiency leaves of 1.
HardwareProfile with_nccl_factors(HardwareProfile profile, const Regime& regime, const NcclFactors& factors);

// What a choice is made for.
struct NcclQuestion {
  Collective collective = Collective::allreduce;
  int ranks = 1, servers = 1;
  bool nvlink = false;                                 // between the GPUs of a server
  bool ll128 = true;                                   // all ways are such that 128 bytes arrive in order
  bool switch_adds = false;                            // an NVSwitch: NVLS
  bool sharp = false;                                  // in-network aggregation between servers: CollNet
  bool nvlinks_join_all = false;                       // the GPUs of a server
  int nics = 1;                                        // of a server
  bool staged = false;                                 // between the GPUs of a server, in host memory
  bool amd = false;                                    // the servers' processors
  bool several_ways = false;                           // channels go through the GPUs of a server in different orders, over direct NVLinks
  BitsPerSecond inside = {0};                          // a GPU's links in its server; 0: it is alone there
  BitsPerSecond outside = {0};                         // a server's NICs together; 0: there is one server
  double both_ways = 1;                                // share of that each way while bytes cross the NICs both ways at once
  SimTime way = {};                                    // the latency of the links between two GPUs of different servers
  NcclAlgorithm algorithm = NcclAlgorithm::automatic;  // what is not automatic is given
  NcclProtocol protocol = NcclProtocol::automatic;
};

// Whether NVSwitches add in it; and the switches between servers.
bool nvswitches_add(const Regime& regime);
bool sharp_adds(const Regime& regime);

// How many channels a call of so many bytes takes at most, so that each thread has enough to do.
int nccl_channels(const Regime& regime, int ranks, Bytes size);

// The threads of a channel pass on a chain with LL, eight bytes each at a time: how often, and what it takes them for a call. A call that
// needs one channel only has the fewer threads the more ranks there are, though a chain, unlike a ring, passes all bytes on to each.
int ll_chain_turns(const NcclQuestion& question, Bytes size);
SimTime ll_chain_time(const NcclQuestion& question, Bytes size);

// Of messages that are staged in host memory a receiver's reads take as long as the sender's writes, and the threads of a ring's
// channel do one after the other for each chunk: at first they only write, then read and write at once, at last only read. How many
// times as long bytes take as if all were read and written at once. NCCL's own estimates know nothing of it.
double staged_turns(int sends);

// What NCCL expects a call to take on links of these rates. Between two servers a tree sends every byte once each way, between more
// of them twice, as the inner servers have two children.
SimTime nccl_estimate(const HardwareProfile& profile, const NcclQuestion& question, const Regime& regime, Bytes size);

// The regimes that NCCL chooses among: of a question that gives neither algorithm nor protocol, all that it takes by itself.
std::vector<Regime> nccl_regimes(const NcclQuestion& question, Bytes size);

// The regime of the least estimate, divided by the profile's bias. NCCL chooses before it has measured anything, so the estimates are
// those of its own table, without the factors that were fitted to what calls really cost, at the rates of the channels that it finds
// (nccl_expectation.hpp). Never `automatic`.
Regime nccl_choice(const HardwareProfile& profile, const NcclQuestion& question, Bytes size);

// A protocol of this bias or less is not there for NCCL.
inline constexpr double bias_of_none = 0.2;
bool lacks_protocol(const HardwareProfile& profile, const Regime& regime);

// What the choice costs over the best one when calls cost what the profile says, but none less than NCCL expects: the logarithm of the
// ratio of their estimates. NCCL's choices are seldom much worse than the best that it knows of, so a profile in which they are is not
// likely to be right.
struct NcclRegret {
  double log_ratio = 0;
  Regime chosen = {}, best = {};
};
NcclRegret nccl_regret(const HardwareProfile& profile, const NcclQuestion& question, Bytes size);

}  // namespace weft
