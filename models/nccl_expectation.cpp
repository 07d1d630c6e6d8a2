#include "models/nccl_expectation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace weft {
namespace {

constexpr std::array<double, 19> speeds_to_ampere = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12};
constexpr std::array<double, 17> speeds_of_hopper = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
constexpr std::array<double, 20> speeds_of_blackwell = {96, 86,   80, 48, 45.1, 42, 40,  30,  24,   22,
                                                        20, 17.5, 15, 12, 6,    3,  2.4, 1.2, 0.24, 0.12};

std::span<const double> speeds_of(GpuGeneration generation) {
  if (generation == GpuGeneration::blackwell) return speeds_of_blackwell;
  if (generation == GpuGeneration::hopper) return speeds_of_hopper;
  return speeds_to_ampere;
}

// The most of one channel, GB/s, by generation, on two servers and on more.
struct MostOfChannel {
  std::array<double, 2> tree, tree_ll128;
  double ring_ll128;
};
constexpr std::array<MostOfChannel, 4> most_of_channel = {
    {{{18.5, 10.0}, {20, 20}, 20}, {{23.6, 17.8}, {20, 20}, 20}, {{41.4, 36.0}, {36.7, 29.0}, 36.7}, {{42.8, 24.0}, {31.67, 20.0}, 40}}};

// What passes the processors with LL, GB/s: Intel's; AMD's are 22.5 of two servers and 19 of more.
constexpr double most_ll_of_two = 39, most_ll_of_more = 20.4;

constexpr double ll128_data = 120.0 / 128, ring_ll128 = 0.92, of_tree = 0.92, ll_of_ring = 0.5, ll_of_tree = 1 / 3.8;
constexpr double slowest_tried = 0.49;    // of the fastest channels that were found
constexpr int most_found = 32;            // half of MAXCHANNELS
constexpr double single_gpu_tree = 0.85;  // a chain of servers' only GPUs

// What NCCL expects of all channels of a ring or a tree together, GB/s; `bounded`: no more of each than was measured.
double bus_rate(const NcclQuestion& q, const Regime& regime, const NcclChannels& channels, bool bounded) {
  const MostOfChannel& most = most_of_channel[static_cast<std::size_t>(generation_of(q))];
  const std::size_t servers = q.servers == 2 ? 0 : 1;
  const bool is_tree = regime.pattern == NcclAlgorithm::tree;
  const auto at_most = [&](double rate, double bound) { return bounded ? std::min(rate, bound) : rate; };
  const double n = channels.count;
  double rate = is_tree ? at_most(n * of_tree * channels.inside, n * most.tree[servers]) : n * channels.outside;
  if (regime.protocol == NcclProtocol::ll)
    rate = at_most(rate * (is_tree ? ll_of_tree : ll_of_ring), q.servers == 2 ? most_ll_of_two : most_ll_of_more);
  if (regime.protocol == NcclProtocol::ll128)
    rate = at_most(rate * (is_tree ? ll128_data : ring_ll128), n * (is_tree ? most.tree_ll128[servers] : most.ring_ll128));
  return is_tree && regime.gpus == 1 ? rate * single_gpu_tree : rate;
}

}  // namespace

GpuGeneration generation_of(const NcclQuestion& q) {
  const double inside = static_cast<double>(q.inside.count) / 8e9;
  if (!q.nvlink || inside == 0) return q.switch_adds ? GpuGeneration::hopper : GpuGeneration::ampere;
  if (inside >= 560) return GpuGeneration::blackwell;
  if (q.switch_adds || inside >= 330) return GpuGeneration::hopper;
  return inside >= 190 ? GpuGeneration::ampere : GpuGeneration::volta;
}

NcclChannels channels_found(const NcclQuestion& q) {
  if (q.servers == 1 || q.outside.count == 0) return {};
  const double nic = static_cast<double>(q.outside.count) / 8e9 / q.nics, inside = static_cast<double>(q.inside.count) / 8e9;
  const GpuGeneration generation = generation_of(q);
  const std::span<const double> speeds = speeds_of(generation);
  NcclChannels found;
  for (const double speed : speeds) {
    if (speed <= slowest_tried * found.outside) break;
    int count = std::min(q.nics * static_cast<int>(nic / speed), most_found);
    if (inside > 0) count = std::min(count, static_cast<int>(inside / speed));
    if (count * speed > found.count * found.outside) found = {count, speed, speed};
  }
  if (found.count == 0) return {q.nics, nic, nic};  // slower than any of them
  const bool split = generation < GpuGeneration::hopper || found.outside >= 50 || found.count <= 4;
  if (found.outside >= 25 && split) found = {2 * found.count, found.outside / 2, found.outside / 2};
  if (q.servers > 2) return found;
  for (auto speed = speeds.rbegin(); speed != speeds.rend(); ++speed) {
    if (found.inside >= 2 * found.outside || (inside > 0 && *speed * found.count > inside)) break;
    found.inside = std::max(found.inside, *speed);
  }
  return found;
}

NcclExpectation expected_by_nccl(const NcclQuestion& q, const Regime& regime) {
  static const HardwareProfile as_published;
  NcclExpectation out{as_published, q};
  out.question.as_expected = true;
  const bool is_tree = regime.pattern == NcclAlgorithm::tree;
  if (regime.pattern == NcclAlgorithm::nvls_tree) out.profile.network_hops = nvls_tree_hop_expected_us / nvls_tree_hop_us;
  if (!is_tree && regime.pattern != NcclAlgorithm::ring) return out;
  const NcclChannels channels = channels_found(q);
  if (channels.count == 0) {
    constexpr double on_nvlink = 141 / 370.8;  // Hopper; Ampere: 87.7 of 240 GB/s
    if (!is_tree && regime.protocol == NcclProtocol::ll) out.profile.ll_efficiency = q.nvlink && q.servers == 1 ? on_nvlink : ll_of_ring;
    return out;
  }
  const double all = channels.count * channels.outside, expected = bus_rate(q, regime, channels, true);
  out.question.outside = BitsPerSecond{std::llround(8e9 * all)};
  out.question.inside = {};  // the channels are such that it carries them
  // Of two servers nccl_estimate lets each byte cross the wire once each way, where NCCL counts it twice on twice the rate.
  NcclFactors factors = nccl_factors(as_published, regime);
  factors.efficiency = expected / (is_tree && q.servers == 2 ? 2 * all : all);
  out.profile = with_nccl_factors(as_published, regime, factors);
  return out;
}

double part_of_channels(const NcclQuestion& q, const Regime& regime) {
  const NcclChannels channels = channels_found(q);
  if (channels.count == 0) return 1;
  return bus_rate(q, regime, channels, true) / bus_rate(q, regime, channels, false);
}

}  // namespace weft
