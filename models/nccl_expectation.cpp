#include "models/nccl_expectation.hpp"

#include "models/nccl_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace weft {
namespace {

using namespace nccl;

// GB/s of a channel that the search tries, between servers and in one.
constexpr std::array<double, 19> outside_to_ampere = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12};
constexpr std::array<double, 17> outside_of_hopper = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
constexpr std::array<double, 18> outside_of_blackwell = {96, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
constexpr std::array<double, 13> inside_to_ampere = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr std::array<double, 11> inside_of_hopper = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr std::array<double, 11> inside_of_blackwell = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};

using Speeds = std::span<const double>;  // the fastest first

Speeds speeds_between_servers(GpuGeneration generation) {
  if (generation == GpuGeneration::blackwell) return outside_of_blackwell;
  if (generation == GpuGeneration::hopper) return outside_of_hopper;
  return outside_to_ampere;
}

Speeds speeds_in_server(GpuGeneration generation) {
  if (generation == GpuGeneration::blackwell) return inside_of_blackwell;
  if (generation == GpuGeneration::hopper) return inside_of_hopper;
  return inside_to_ampere;
}

// GB/s, of one server, of two and of more.
using ByServers = std::array<double, 3>;

// The most of one channel, by generation.
struct MostOfChannel {
  ByServers tree, tree_ll128, ring_ll128, nvls_tree;
};
constexpr std::array<MostOfChannel, 4> max_of_channel = {{
    {{26.5, 18.5, 10.0}, {20, 20, 20}, {20, 20, 20}, {}},
    {{24.0, 23.6, 17.8}, {20, 20, 20}, {20, 20, 20}, {}},
    {{38.7, 41.4, 36.0}, {36.7, 36.7, 29.0}, {36.7, 36.7, 36.7}, {0, 57.7, 45.5}},
    {{70.0, 42.8, 24.0}, {55.6, 31.67, 20.0}, {73.4, 34.6, 73.4}, {0, 96.0, 43.8}},
}};

// The most of LL: what a server's GPUs pass on by generation, and between servers what their processors do.
constexpr std::array<double, 4> max_ll_inside = {39, 87.7, 141, 282};
constexpr ByServers max_ll_of_amd = {0, 22.5, 19.0}, max_ll_of_others = {0, 39, 20.4};

constexpr double ll128_data = 120.0 / 128, ll128_in_server = 7.0 / 9, ring_ll128 = 0.92, of_tree = 0.92, ll_of_ring = 0.5,
                 ll_of_tree = 1 / 3.8;
constexpr double slowest_tried = 0.49;  // of the fastest channels that were found
constexpr int max_found = 32;           // half of MAXCHANNELS
constexpr double plain_tree = 0.85;     // a chain in each server, not two that share the work of its ends
constexpr double rate_of_nvls_hopper = 0.85, rate_of_nvls_blackwell = 0.74;

double gigabytes(BitsPerSecond rate) { return static_cast<double>(rate.count) / 8e9; }

// GB/s that NCCL counts on of a GPU's links in its server, which of NVLinks is less than their wires carry: of each, of its wires, of all.
double counted_inside(const NcclQuestion& q) {
  struct NvLinks {
    double each, wires, all;
  };
  constexpr std::array<NvLinks, 4> by_generation = {{{20, 25, 120}, {20, 25, 240}, {20.6, 25, 370.8}, {40.1, 50, 721.8}}};
  const double inside = gigabytes(q.inside);
  if (!q.nvlink) return inside;
  const NvLinks& links = by_generation[static_cast<std::size_t>(generation_of(q))];
  const auto are_whole = [&](double of) { return std::abs(inside / of - std::round(inside / of)) < 1e-3; };
  const bool is_of_wires = are_whole(links.wires) && !are_whole(links.each);
  return std::min(links.all, is_of_wires ? inside / links.wires * links.each : inside);
}

int gpus_of(const NcclQuestion& q) { return q.ranks / q.servers; }

std::size_t by_servers(const NcclQuestion& q) { return static_cast<std::size_t>(std::min(q.servers, 3) - 1); }

std::size_t by_generation(const NcclQuestion& q) { return static_cast<std::size_t>(generation_of(q)); }

// Whether so many channels of this rate cross the NVLinks of a server's GPUs. Where each GPU has a NIC and there are as many channels, one
// in as many as there are GPUs leaves the server at each, which does not send it on.
bool fits_inside(const NcclQuestion& q, int count, double speed) {
  const int gpus = gpus_of(q), leave = q.nics >= gpus ? count / gpus : 0;
  return gpus == 1 || q.inside.count == 0 || (count - leave) * speed <= counted_inside(q);
}

bool are_doubled(const NcclChannels& found, GpuGeneration generation) {
  return found.outside >= 25 && (generation < GpuGeneration::hopper || found.outside >= 50 || found.count <= 4);
}

NcclChannels doubled(const NcclChannels& found) { return {2 * found.count, found.outside / 2, found.inside / 2}; }

// Of rings and trees on NVLinks; on others what these carry is not searched here.
NcclChannels channels_in_server(const NcclQuestion& q) {
  const double inside = counted_inside(q);
  if (!q.nvlink) return {1, inside, inside};
  NcclChannels found;
  for (const double speed : speeds_in_server(generation_of(q))) {
    if (speed <= slowest_tried * found.outside) break;
    if (const int count = static_cast<int>(inside / speed); count * speed > found.count * found.outside) found = {count, speed, speed};
  }
  if (found.count == 0) return {1, inside, inside};
  if (are_doubled(found, generation_of(q))) found = doubled(found);
  if (q.ranks == 2) found.inside *= 2;  // of a tree each GPU sends half of the channels only
  return found;
}

// Of NVLS, a channel for each GPU whose NIC is used: all GPUs send to the NVSwitch on each, and the first of a channel gets it twice.
NcclChannels nvls_channels_found(const NcclQuestion& q) {
  constexpr int most = 32;  // NCCL_MAX_NVLS_ARITY
  const int count = std::min(q.servers == 1 ? q.ranks : std::min(q.nics, gpus_of(q)), most);
  const Speeds speeds = q.servers == 1 ? speeds_in_server(generation_of(q)) : speeds_between_servers(generation_of(q));
  const double nic = q.servers == 1 ? speeds.front() : gigabytes(q.outside) / q.nics;
  const auto inside = std::ranges::find_if(speeds, [&](double s) { return s <= nic && (count + 1) * s <= counted_inside(q); });
  if (count < 2 || inside == speeds.end()) return {};
  const auto outside = std::ranges::find_if(speeds, [&](double s) { return s <= nic; });
  return {count, *outside, *inside};
}

// GB/s of all channels of a ring or a tree together; `bounded`: no more of each than was measured.
double bus_rate(const NcclQuestion& q, const Regime& regime, const NcclChannels& channels, bool bounded) {
  const MostOfChannel& most = max_of_channel[by_generation(q)];
  const std::size_t servers = by_servers(q);
  const bool is_tree = regime.pattern == NcclAlgorithm::tree;
  const auto at_most = [&](double rate, double bound) { return bounded ? std::min(rate, bound) : rate; };
  const double n = channels.count;
  double rate = n * (is_tree && q.servers <= 2 ? channels.inside : channels.outside);
  if (is_tree) rate = at_most(of_tree * rate, n * most.tree[servers]);
  if (regime.protocol == NcclProtocol::ll) {
    const double max_ll = q.servers == 1 ? max_ll_inside[by_generation(q)] : (q.amd ? max_ll_of_amd : max_ll_of_others)[servers];
    rate = at_most(rate * (is_tree ? ll_of_tree : ll_of_ring), max_ll);
  }
  if (regime.protocol == NcclProtocol::ll128) {
    const double data = !is_tree ? ring_ll128 : q.servers == 1 ? ll128_in_server : ll128_data;
    rate = at_most(rate * data, n * (is_tree ? most.tree_ll128 : most.ring_ll128)[servers]);
  }
  const bool is_plain = regime.gpus == 1 || (q.servers > 1 && generation_of(q) >= GpuGeneration::hopper);
  return is_tree && is_plain ? rate * plain_tree : rate;
}

double nvls_bus_rate(const NcclQuestion& q, const Regime& regime) {
  const NcclChannels found = nvls_channels_found(q);
  if (found.count == 0) return 0;
  const bool is_tree = regime.pattern == NcclAlgorithm::nvls_tree;
  const double of_nvls = generation_of(q) == GpuGeneration::blackwell ? rate_of_nvls_blackwell : rate_of_nvls_hopper;
  const double inside = 2 * found.inside * of_nvls * (found.count - 1) / found.count;
  const double outside = found.outside * (is_tree && q.servers == 2 ? 2 : 1);
  const double most = is_tree ? max_of_channel[by_generation(q)].nvls_tree[by_servers(q)] : outside;
  return found.count * std::min({inside, outside, most});
}

// Of CollNet: what NCCL counts on inside, whatever the network gives.
double collnet_bus_rate(const NcclQuestion& q, const Regime& regime) {
  if (regime.pattern == NcclAlgorithm::collnet_chain) {
    const NcclChannels found = channels_found(q);
    return found.count * found.inside;
  }
  // A channel for each GPU, which share the NICs. Where each has its own, up to twice as fast inside.
  const Speeds speeds = speeds_between_servers(generation_of(q));
  const double each = gigabytes(q.outside) / std::max(q.nics, gpus_of(q));
  const auto outside = std::ranges::find_if(speeds, [&](double s) { return s <= each; });
  if (outside == speeds.end()) return gpus_of(q) * each;
  auto inside = outside;
  while (q.nics >= gpus_of(q) && inside != speeds.begin() && *inside < 2 * *outside) --inside;
  return gpus_of(q) * *inside * (generation_of(q) >= GpuGeneration::hopper ? direct_efficiency : 1);
}

int log2_of(int servers) { return std::bit_width(static_cast<unsigned>(servers)) - 1; }

double latency_us(const NcclQuestion& q, const Regime& regime) {
  const std::size_t i = index_of(regime.protocol);
  const bool is_simple = regime.protocol == NcclProtocol::simple;
  const double longer = regime.longer.microseconds();
  if (regime.pattern == NcclAlgorithm::nvls) return nvls_us + (q.servers > 1 ? nvls_network_us + longer : 0);
  if (regime.pattern == NcclAlgorithm::nvls_tree) return nvls_us + 2 * log2_of(q.servers) * (nvls_tree_hop_expected_us + longer);
  const Table& table = table_of(regime.pattern);
  const double inside = (q.nvlink ? table.nvlink : table.pcie)[i];
  const int others = gpus_of(q) - 1;
  if (regime.pattern == NcclAlgorithm::tree)
    return table.base[i] + 2 * (others * inside + log2_of(q.servers) * (table.network[i] + longer));
  if (regime.pattern == NcclAlgorithm::collnet_direct)
    return 2 * (std::min(1, others) * inside + others * arity_us) + table.network[i] + longer;
  if (regime.pattern == NcclAlgorithm::collnet_chain) return 2 * others * inside + table.network[i] + longer;
  if (is_chain(q.collective)) {
    // A single hop where the channels go the same way through all GPUs, as they do from a server's only NIC, and else one for each rank,
    // each as long as a tree's with Simple, for what a chunk takes.
    const bool is_hop_for_each = q.servers == 1 ? q.several_ways : q.nics > 1;
    const Table& hop = is_hop_for_each && is_simple ? tree : ring;
    const double us = q.servers > 1 ? hop.network[i] : (q.nvlink ? hop.nvlink : hop.pcie)[i];
    return table.base[i] + (is_hop_for_each ? q.ranks : 1) * us;
  }
  const int rounds = q.collective == Collective::allreduce ? 2 : 1;
  const double outer = rounds * (q.servers - 1), inner = rounds * (q.ranks - 1) - outer;
  const double launch = q.servers == 1 ? 0 : (q.amd ? 2.0 : 1.0) * (is_simple ? 3 : 1);
  const double network = (gpus_of(q) == 1 ? tree : ring).network[i] + longer;
  return table.base[i] + inner * std::max(inside, launch) + outer * network;
}

// Rings between servers take so many times their latency with Simple, where they carry more than a few bytes.
double plateau(const NcclQuestion& q, const Regime& regime, Bytes size) {
  constexpr int few = 64;
  if (regime.pattern != NcclAlgorithm::ring || regime.protocol != NcclProtocol::simple || q.collective != Collective::allreduce) return 1;
  if (q.servers == 1 || size.count / (std::int64_t{2} * channels_found(q).count * q.ranks) < few) return 1;
  return generation_of(q) == GpuGeneration::volta ? 1.9 : 1.4;
}

}  // namespace

GpuGeneration generation_of(const NcclQuestion& q) {
  const double inside = gigabytes(q.inside);
  if (!q.nvlink || inside == 0) return q.switch_adds ? GpuGeneration::hopper : GpuGeneration::ampere;
  if (inside >= 560) return GpuGeneration::blackwell;
  if (q.switch_adds || inside >= 330) return GpuGeneration::hopper;
  return inside >= 190 ? GpuGeneration::ampere : GpuGeneration::volta;
}

NcclChannels channels_found(const NcclQuestion& q) {
  if (q.servers == 1) return channels_in_server(q);
  const double nic = gigabytes(q.outside) / q.nics;
  const GpuGeneration generation = generation_of(q);
  const Speeds speeds = speeds_between_servers(generation);
  NcclChannels found;
  for (const double speed : speeds) {
    if (speed <= slowest_tried * found.outside) break;
    int count = std::min(q.nics * static_cast<int>(nic / speed), max_found);
    while (count > 0 && !fits_inside(q, count, speed)) count -= count > q.nics ? q.nics : 1;  // as many of each NIC, or of some one
    if (count * speed > found.count * found.outside) found = {count, speed, speed};
  }
  if (found.count == 0) return {q.nics, nic, nic};  // slower than any of them
  if (are_doubled(found, generation)) found = doubled(found);
  for (auto speed = speeds.rbegin(); speed != speeds.rend(); ++speed) {
    if (found.inside >= 2 * found.outside || !fits_inside(q, found.count, *speed)) break;
    found.inside = std::max(found.inside, *speed);
  }
  return found;
}

NcclExpectation expected_by_nccl(const NcclQuestion& q, const Regime& regime) {
  const double latency = latency_us(q, regime);
  if (q.ranks == 1) return {latency, std::numeric_limits<double>::infinity()};
  const int steps = (q.collective == Collective::allreduce ? 2 : 1) * (q.ranks - 1);
  if (nvswitches_add(regime)) return {latency, nvls_bus_rate(q, regime) * q.ranks / steps};
  if (sharp_adds(regime)) return {latency, collnet_bus_rate(q, regime) / 2};
  const double bus = bus_rate(q, regime, channels_found(q), true);
  if (regime.pattern == NcclAlgorithm::tree) return {latency, bus / 2};
  return {latency, is_chain(q.collective) ? bus : bus * q.ranks / steps};
}

SimTime expected_time(const NcclQuestion& q, const Regime& regime, Bytes size) {
  const NcclExpectation expected = expected_by_nccl(q, regime);
  const double bytes_us = size.count > 0 ? 1e-3 * static_cast<double>(size.count) / (expected.rate * regime.of_rate) : 0;
  return microseconds(std::min(plateau(q, regime, size) * expected.latency_us + bytes_us, 1e12));
}

double part_of_channels(const NcclQuestion& q, const Regime& regime) {
  const NcclChannels channels = channels_found(q);
  const double unbounded = bus_rate(q, regime, channels, false);
  return unbounded > 0 ? bus_rate(q, regime, channels, true) / unbounded : 1;
}

}  // namespace weft
