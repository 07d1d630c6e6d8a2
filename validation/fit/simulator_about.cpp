// A time that is about right, for the many profiles that a fit looks at, from few and short simulations.
#include "validation/fit/call_overhead.hpp"
#include "validation/fit/simulator.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft {
namespace {

constexpr int few_pieces = 8, few_turns = 16, few_servers = 4;
constexpr std::int64_t few_messages = 20'000;  // of a call in pieces; one of more is asked about in fewer

// Where a cost lies between its neighbours on a lattice of powers, of which 1 is a point. Between them a time goes straight: it is a sum of
// costs along one way through a schedule, as long as that stays the longest.
class Axis {
 public:
  explicit Axis(double cost) : cost_(std::max(cost, 1e-4)), below_(std::exp(std::floor(std::log(cost_) / spacing) * spacing)) {}
  double value(bool above) const { return above ? below_ * std::exp(spacing) : below_; }
  double weight(bool above) const {
    const double share = std::clamp((cost_ - below_) / (value(true) - below_), 0.0, 1.0);
    return above ? share : 1 - share;
  }

 private:
  static constexpr double spacing = 1.0;
  double cost_, below_;
};

// Where bytes cost nothing but their way over the links, a call of twice the size takes as long as one of half the efficiency: all sizes
// that are cut into as many chunks are simulated as one, of chunks that are short on their side of the eager threshold.
Bytes simulated_as(Bytes size, const HardwareProfile& p, int chunks) {
  const std::array rates = {
      p.reduce_rate,         p.reduce_rate_beyond_cache, p.reduce_rate_in_memory, p.copy_rate,   p.copy_rate_beyond_cache,
      p.copy_rate_in_memory, p.page_fault_rate,          p.stream_rate,           p.staging_rate};
  const bool only_links = std::ranges::all_of(rates, [](BitsPerSecond rate) { return rate.count == 0; }) && p.eager_efficiency == 1 &&
                          p.inline_threshold.count == 0 && p.rendezvous_threshold == HardwareProfile{}.rendezvous_threshold;
  constexpr std::int64_t shortest = 64, shorter = 4;  // so much that no efficiency near that of the size is above 1
  const std::int64_t chunk = size.count / chunks < p.eager_below().count ? shortest : p.eager_below().count;
  return only_links && size.count >= shorter * chunk * chunks ? Bytes{chunk * chunks} : size;
}

}  // namespace

// A ring takes the same way from every server to the next: with messages of the same size it takes as much longer as it has more steps.
bool Simulator::is_long_ring(const MeasuredSetup& e, const Regime& regime) const {
  constexpr std::int64_t least_of_a_rank = 64;
  return regime.pattern == NcclAlgorithm::ring && e.nodes >= 2 * few_servers && e.ranks % e.nodes == 0 && !overlaps(e) &&
         e.size.count >= least_of_a_rank * e.ranks && std::holds_alternative<Star>(scenario_.fabric.spec) &&
         scenario_.placement.policy == PlacementPolicy::linear;
}

double Simulator::about_us(const MeasuredSetup& e, const HardwareProfile& hardware) {
  Prepared& whole = prepared(e);
  const Regime regime = regime_of(e, hardware, whole);
  if (regime.protocol == NcclProtocol::automatic || regime.cost != 1 || !is_alone(whole.scenario)) return told_us(e, hardware);
  const MeasuredSetup chosen = as_it_is_run(e, hardware, whole);
  MeasuredSetup asked = e;
  asked.algorithm.settings = chosen.algorithm.settings;
  const bool in_turns = regime.sending.ps > 0;  // what a message takes its sender is the same of all sizes
  const int most_pieces = in_turns ? few_turns : few_pieces;
  const bool shorter = !in_turns && is_long_ring(e, regime);
  int& pieces = asked.algorithm.settings.pieces;
  const int all_pieces = pieces;
  pieces = std::min(pieces, most_pieces);
  if (shorter) {
    asked.nodes = few_servers, asked.ranks = e.ranks / e.nodes * few_servers;
    asked.size = Bytes{e.size.count / e.nodes * few_servers};
  }
  while (!in_turns && pieces > 1 && cost_of(prepared(asked)).messages > few_messages) pieces /= 2;
  if (pieces < all_pieces) asked.algorithm.settings.last_piece = 1;
  const bool fewer = shorter || pieces < all_pieces;
  const Bytes of_each_message_alike = asked.size;
  Prepared& p = prepared(asked);
  if (!in_turns) asked.size = simulated_as(asked.size, hardware.in(regime), std::max(1, cost_of(p).chunks));
  double smaller = 1;  // calls of no bytes are measured too
  if (of_each_message_alike.count > 0) smaller = static_cast<double>(asked.size.count) / static_cast<double>(of_each_message_alike.count);
  Regime of_asked = sized(asked, hardware, p).regime;  // a tree has other parts of its rate at other sizes
  smaller *= regime.of_rate / of_asked.of_rate;
  if (of_asked.longer != regime.longer || of_asked.handshakes != regime.handshakes || smaller > 1)
    asked.size = of_each_message_alike, of_asked = regime, smaller = 1;
  const NcclFactors here = nccl_factors(hardware, regime);
  std::vector<Axis> axes = {Axis(here.hops), Axis(1 / (smaller * std::min(1.0, here.efficiency)))};  // of hops, of bytes,
  if (regime.between_servers) axes.emplace_back(here.hops * here.network);                           // of hops between servers
  double us = 0;
  for (unsigned corner = 0; corner < 1U << axes.size(); ++corner) {
    double weight = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) weight *= axes[i].weight(corner >> i & 1);
    if (weight == 0) continue;
    NcclFactors there{.hops = axes[0].value(corner & 1), .efficiency = 1 / axes[1].value(corner >> 1 & 1)};
    if (regime.between_servers) there.network = axes[2].value(corner >> 2 & 1) / there.hops;
    double at_us = std::max(told_besides_overhead_us(asked, with_nccl_factors(hardware, regime, there), of_asked), 1e-6);
    if (fewer) {
      const auto [ratio, is_new] = whole.of_whole.try_emplace(
          {static_cast<double>(e.size.count), static_cast<double>(regime.protocol), static_cast<double>(regime.pattern)}, 1.0);
      if (is_new) {
        there.efficiency = std::min(1.0, there.efficiency / smaller);
        const double whole_us = told_besides_overhead_us(chosen, with_nccl_factors(hardware, regime, there), regime);
        there.efficiency *= smaller;
        ratio->second = whole_us / std::max(told_besides_overhead_us(asked, with_nccl_factors(hardware, regime, there), of_asked), 1e-6);
      }
      at_us *= ratio->second;
    }
    us += weight * at_us;
  }
  return std::max(before_messages_us(e, hardware, regime) + us, min_launched_us(e, hardware));
}

}  // namespace weft
