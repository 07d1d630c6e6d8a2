#include "models/nccl_expectation.hpp"
#include "models/nccl_table.hpp"

#include <algorithm>
#include <bit>

namespace weft::nccl {
namespace {

// LL cuts no less from a message for each rank (96 threads of 8 bytes; before 2.20). One such chunk goes round the ring by itself: no rank
// has another to send, and nobody waits for a launch. 256 B on 4 and 16 servers take what the table has without it, 8 times as much takes
// 40 to 50 % longer, on trees 10 % (validation/data/pico_mn5_h100_nccl).
constexpr Bytes min_chunk_of_ll = 768_B;

// NVLS moves a chunk of each channel for each GPU of a server at once: into its buffer, through the NVSwitch that adds (up and down the
// tree of servers, or through the switches that aggregate, in between) and out of the buffer. Threads of their own do each stage, and the
// message takes what a chunk takes in all of them but the slowest, besides its own time on that. In a server each stage takes about as long
// as the NVLinks are used by all of them together: 2 to 256 MiB take 10 to 60 us longer than their bytes on 8 H100 (Azure ND H100 v5,
// xxrjun), and 12 to 70 are so explained. Up and down a level of the tree a chunk crosses the NICs as the whole message does.
// (NCCL 2.28: calcCollChunking in src/enqueue.cc, src/transport/nvls.cc; all_reduce.h)
struct NvlsTurns {
  SimTime fill = {};   // of the first, in all stages but the slowest, at links wholly used
  double of_rate = 1;  // of all
};
NvlsTurns nvls_turns(const HardwareProfile& profile, const NcclQuestion& q, const Regime& regime, Bytes size) {
  constexpr int stages_inside = 3;
  const bool is_blackwell = generation_of(q) == GpuGeneration::blackwell, is_tree = regime.pattern == NcclAlgorithm::nvls_tree;
  const int channels = !is_blackwell ? 16 : q.servers == 1 ? 24 : 32;
  const auto turn_of = [&](Bytes chunk) { return std::int64_t{channels} * regime.gpus * chunk.count; };
  Bytes chunk = q.servers >= 4 && is_tree ? 64_KiB : 128_KiB;
  if (size.count < (is_tree ? 4 : 64) * turn_of(chunk)) chunk = 64_KiB;
  if (size.count < (is_tree ? 1 : 8) * turn_of(chunk)) chunk = 32_KiB;
  if (!is_tree && size.count < 2 * turn_of(chunk)) chunk = 16_KiB;
  const NcclCosts costs = nccl_costs(profile, regime);
  const double inside = seconds_a_byte(profile, q, inside_added(q, costs), 0);
  const double outside = seconds_a_byte(profile, q, 0, is_tree ? outside_added(q) : 1);
  const int levels = is_tree ? std::bit_width(static_cast<unsigned>(q.servers)) - 1 : 1;
  const double rest = stages_inside * inside + levels * outside - std::max(inside, outside);
  const auto turn = static_cast<double>(turn_of(chunk)), bytes = static_cast<double>(size.count);
  NvlsTurns out{.fill = microseconds(1e6 * rest * std::min(bytes, turn))};
  if (is_one_nvswitch(regime) && is_blackwell && bytes > turn) {
    // In one server of Blackwell the square of a turn's time is the sum of the squares of what its bytes take and of 14 us: of 16 to 64 KiB
    // a chunk 13.5, 16.5 and 14 us fitted on 8 B200 and B300 (Google A4 and a report of B300, 4 to 512 MiB).
    constexpr double turn_s = 14e-6;
    const double wire = inside * turn / costs.efficiency, turns = bytes / turn;
    out.of_rate = turns * wire / (wire + (turns - 1) * std::hypot(wire, turn_s));
  }
  return out;
}

// LL's messages between servers lie in host memory, where the processor looks at the flag of every eight bytes before it sends them, and
// the receiver's GPU again. NCCL expects no more than 45 GB/s of LL between two servers of Hopper whatever their NICs, and 22.5 of Ampere
// (llMaxBws), over 16 channels: what the threads of one channel do at once, 8 bytes each, takes 1.5 us or more for each hop. NCCL's
// latencies are of the first bytes. (Trees of 16 KiB take 1.2 to 1.3 us a hop longer than those of 256 B on 4 and on 16 servers of 4 H100,
// validation/data/pico_mn5_h100_nccl. Elsewhere, on two to 540 servers, all-reduces of 16 KiB take 1.2 to 2.1 times as long as those of
// 512 B: Nebius, Oracle, Sophia, AWS p5, Polaris, Sirius, Alps; not so on Lambda's B200 and on MI300X, nor within one server.)
SimTime ll_pass(const NcclQuestion& q, const Regime& regime, Bytes size) {
  constexpr double ns_a_byte = 16 / 45.0;
  const Work& work = work_of_channel[index_of(NcclProtocol::ll)];
  const double pass = work.threads * work.bytes_each;
  const double part = static_cast<double>(size.count) / (regime.pattern == NcclAlgorithm::ring ? q.ranks : 1);
  return microseconds(1e-3 * ns_a_byte * std::min(part, pass));
}

// In one server the threads of a channel take as long for what they pass on at once as NCCL's bound on LL says there (llMaxBws), over the
// channels of the systems that it is of: of a ring each hop takes 1.3 us longer with 4 KiB than with few bytes on V100 and 1.1 on A100.
// Measured: 1.4 and 1.3 on ABCI's (validation/data/abci2_nccl). Hopper's take less than the bound says: all-reduces of 64 KiB to 512 KiB on
// 8 H100 take 6 to 8 us longer than those of few bytes, where it would be 10 and more (aws_p5).
SimTime ll_pass_inside(const NcclQuestion& q, Bytes size) {
  const GpuGeneration generation = generation_of(q);
  if (generation > GpuGeneration::ampere) return {};
  const double ns_a_byte = generation == GpuGeneration::volta ? 12 / 39.0 : 24 / 87.7;
  const Work& work = work_of_channel[index_of(NcclProtocol::ll)];
  const double part = static_cast<double>(size.count) / q.ranks, pass = work.threads * work.bytes_each;
  return microseconds(1e-3 * ns_a_byte * std::min(part, pass));
}

// On a chain LL's bytes go while the threads take their turns: a call takes what the longer of the two does. Broadcasts of 512 KiB to 4 MiB
// on 8 to 32 servers of V100 get 9 to 10 GB/s, as turns of 4 KiB a channel make, where LL's rate is 6 to 8 (validation/data/abci2_nccl).
void take_turns(const HardwareProfile& profile, const NcclQuestion& q, Regime& regime, Bytes size) {
  constexpr double at_once = 1000;
  const double bytes_us = 1e6 * seconds_a_byte(profile, q, 1, 1) * static_cast<double>(size.count);
  const double of_rate = std::min(1.0, nccl_factors(profile, regime).efficiency) * profile.message_efficiency;
  const SimTime turns = ll_chain_time(q, size);
  if (turns.microseconds() > bytes_us / of_rate) regime.turns = turns, regime.of_rate *= at_once;
}

// How many of the profile's rendezvous a hop between servers takes: none where the messages on the wire, of one channel and with their
// flags, are shorter. A GPU's proxy thread makes them for the channels of a NIC one after the other. On a ring that sends more messages
// than there are places in the receiver's buffer, each step of each GPU of a server waits for them, unless its bytes take longer; with
// fewer messages the receiver has asked for all of them before. So seen on the Slingshot fabrics of Alps, Polaris and Sirius: on 8 servers
// of 4 GPUs an all-gather takes 2 us a step of up to 512 B, 8 us up to 8 KiB with LL, 21 us with Simple up to 128 KiB and 38 us beyond,
// where a message is of two slices, on 2 servers 3 to 5 us with LL and 24 to 38 with Simple; a hop of a tree takes 6 to 8 us more than with
// short messages (boeschf/nccl-benchmark-on-alps-2025 897cff4, argonne-lcf/alcf-nccl-tests 385be33).
double handshakes_of(const HardwareProfile& profile, const NcclQuestion& q, const Regime& regime, Bytes size) {
  constexpr std::array of_wire = {2.0, 16.0 / 15.0, 1.0};  // LL, LL128, Simple
  constexpr int places = 8;                                // NCCL_STEPS
  constexpr double slice = 32 << 10;                       // bytes: the sixteenth of a place and its neighbour
  constexpr int max_of_nic = 2;                            // channels, as on all of these; faster NICs than theirs were not measured
  const bool is_ring = regime.pattern == NcclAlgorithm::ring, is_part = is_ring && !is_chain(q.collective);
  const int channels = channels_taken(q, regime, size), of_nic = std::min((channels + q.nics - 1) / q.nics, max_of_nic);
  const double part = static_cast<double>(size.count) / (is_part ? q.ranks : 1) / channels;
  if (part * of_wire[index_of(regime.protocol)] < static_cast<double>(profile.rendezvous_threshold.count)) return 0;
  if (!is_part || q.collective == Collective::alltoall) return regime.protocol == NcclProtocol::ll ? of_nic : 1;
  const int slices = regime.protocol == NcclProtocol::simple && part > slice ? 2 : 1;
  const int messages = slices * (q.collective == Collective::allreduce ? 2 : 1) * (q.ranks - 1);
  if (messages <= places || profile.rendezvous.ps == 0) return 0;
  const double wire_us = 1e6 * seconds_a_byte(profile, q, 0, 1) * static_cast<double>(size.count) / q.ranks;
  return q.ranks / q.servers * std::max(0.0, of_nic * slices - wire_us / profile.rendezvous.microseconds());
}

// What NCCL expects of a channel at most holds for LL128, and for trees with Simple: on 4 to 16 servers of 8 B200 with 8 NICs of 400 Gb/s
// these come to 96 GB/s and on two to 173 (a report of DGX Cloud), where 8 channels make 96 and 171. Of 64 MiB LL128 gives two servers of 8
// A100 with NICs of 200 Gb/s 71 to 82 GB/s (Azure, Oracle, Sophia): a tree's channels make 80 and a ring's 85. LL has bounds of its own
// (ll_pass). What ports of PCIe lose while bytes cross them both ways is no affair of the channels: the lesser of both bounds holds.
bool is_bound_by_channels(const Regime& regime) {
  if (!regime.between_servers || nvswitches_add(regime) || sharp_adds(regime)) return false;
  return regime.protocol == NcclProtocol::ll128 || (regime.protocol == NcclProtocol::simple && regime.pattern == NcclAlgorithm::tree);
}

}  // namespace

int channels_taken(const NcclQuestion& q, const Regime& regime, Bytes size) {
  return std::min(2 * channels_found(q).count, nccl_channels(regime, q.ranks, size));
}

// With what NCCL does not know when it chooses. No rank of a chain, or of an all-to-all, only sends at first and then only receives.
Regime as_run(const HardwareProfile& profile, const NcclQuestion& q, Regime regime, Bytes size) {
  if (nvswitches_add(regime)) {
    const NvlsTurns turns = nvls_turns(profile, q, regime, size);
    regime.fill = turns.fill;
    regime.of_rate = turns.of_rate;
  }
  if (regime.pattern == NcclAlgorithm::tree) regime.of_rate = rate_of_tree(regime.protocol, size);
  const bool passes_parts = regime.pattern == NcclAlgorithm::ring && !is_chain(q.collective);
  const bool is_ring = passes_parts && q.collective != Collective::alltoall;
  if (passes_parts && q.ranks > 1) regime.own = Bytes{size.count / q.ranks};
  if (regime.protocol == NcclProtocol::ll && q.servers == 1 && q.nvlink && is_ring) regime.pass = ll_pass_inside(q, size);
  if (regime.protocol == NcclProtocol::ll && q.servers > 1) regime.longer += ll_pass(q, regime, size);
  if (regime.protocol == NcclProtocol::ll && is_chain(q.collective)) take_turns(profile, q, regime, size);
  if (regime.pattern == NcclAlgorithm::ring && regime.protocol == NcclProtocol::ll && q.collective == Collective::allreduce)
    regime.one_chunk = size <= min_chunk_of_ll;
  if (is_bound_by_channels(regime)) regime.of_rate *= std::min(1.0, part_of_channels(q, regime) / q.both_ways);
  if (!nvswitches_add(regime) && !sharp_adds(regime) && q.collective != Collective::alltoall)
    regime.channels = channels_taken(q, regime, size);
  if (q.servers > 1) regime.handshakes = handshakes_of(profile, q, regime, size);
  if (q.collective == Collective::alltoall) {
    regime.local_peers = q.ranks / q.servers - 1;
    regime.remote_peers = q.ranks - q.ranks / q.servers;
  }
  if (!q.staged || q.servers > 1 || regime.pattern != NcclAlgorithm::ring) return regime;
  if (is_chain(q.collective) || q.collective == Collective::alltoall) return regime;
  regime.staged_sends = (q.collective == Collective::allreduce ? 2 : 1) * (q.ranks - 1);
  return regime;
}

}  // namespace weft::nccl
