#include "models/nccl_tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace weft {
namespace {

using OfProtocol = std::array<double, 3>;  // LL, LL128, Simple

struct Table {
  OfProtocol base, nvlink, pcie, network;  // microseconds
};
constexpr Table tree = {{6.8, 14.0, 0.0}, {0.6, 1.25, 4.0}, {1.0, 1.9, 6.0}, {5.0, 8.5, 14.0}};
constexpr Table ring = {{6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}};

// Where servers are joined, hops inside them take so much longer with LL.
constexpr double ll_inside_servers = 1.8;

// LL gets this part of a ring's rate in a tree, where the ring gets profile.ll_efficiency of 1/4.
constexpr double tree_ll = 4.0 / 3.8;

// Trees are slower than the model at middle sizes: the factor of their rate, from 64 B on, by powers of two.
constexpr std::array<std::array<double, 23>, 3> tree_correction = {
    {{1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
     {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1.0, 1.0},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

constexpr double least_bias = 1e-3;

SimTime microseconds(double us) { return {std::llround(us * 1e6)}; }

std::size_t index_of(NcclProtocol protocol) { return static_cast<std::size_t>(protocol) - 1; }

template <class Profile>  // const or not
auto& hops_factor(Profile& p, NcclProtocol protocol) {
  if (protocol == NcclProtocol::ll) return p.ll_hops;
  return protocol == NcclProtocol::ll128 ? p.ll128_hops : p.simple_hops;
}

template <class Profile>
auto& efficiency_of(Profile& p, NcclProtocol protocol) {
  if (protocol == NcclProtocol::ll) return p.ll_efficiency;
  return protocol == NcclProtocol::ll128 ? p.ll128_efficiency : p.simple_efficiency;
}

bool is_chain(Collective collective) { return collective == Collective::broadcast || collective == Collective::reduce; }

}  // namespace

NcclFactors nccl_factors(const HardwareProfile& profile, const Regime& regime) {
  double efficiency = efficiency_of(profile, regime.protocol);
  if (regime.pattern == NcclAlgorithm::tree) efficiency *= profile.tree_efficiency * (regime.protocol == NcclProtocol::ll ? tree_ll : 1.0);
  return {hops_factor(profile, regime.protocol), profile.network_hops, efficiency};
}

HardwareProfile with_nccl_factors(HardwareProfile profile, const Regime& regime, const NcclFactors& factors) {
  hops_factor(profile, regime.protocol) = factors.hops;
  profile.network_hops = factors.network;
  const double rest = nccl_factors(profile, regime).efficiency / efficiency_of(profile, regime.protocol);
  efficiency_of(profile, regime.protocol) = factors.efficiency / rest;
  return profile;
}

NcclCosts nccl_costs(const HardwareProfile& profile, const Regime& regime) {
  const bool is_tree = regime.pattern == NcclAlgorithm::tree;
  const Table& table = is_tree ? tree : ring;
  const std::size_t i = index_of(regime.protocol);
  const double hops = hops_factor(profile, regime.protocol);
  const double inside = hops * (regime.between_servers && regime.protocol == NcclProtocol::ll ? ll_inside_servers : 1.0);
  return {.base = microseconds(profile.nccl_base * table.base[i]),
          .nvlink = microseconds(inside * table.nvlink[i]),
          .pcie = microseconds(inside * table.pcie[i]),
          .network = microseconds(hops * profile.network_hops * table.network[i]),
          .efficiency = std::min(1.0, nccl_factors(profile, regime).efficiency)};
}

SimTime nccl_estimate(const HardwareProfile& profile, const NcclQuestion& q, const Regime& regime, Bytes size) {
  const NcclCosts costs = nccl_costs(profile, regime);
  const int rounds = q.collective == Collective::allreduce ? 2 : 1;
  const bool is_tree = regime.pattern == NcclAlgorithm::tree;
  const SimTime inside = q.nvlink ? costs.nvlink : costs.pcie;
  double inner = 0, outer = 0;                 // hops
  double share_inside = 0, share_outside = 0;  // of the message, that cross a link
  if (is_tree) {
    inner = 2.0 * (q.ranks / q.servers - 1);
    outer = 2.0 * std::bit_width(static_cast<unsigned>(q.servers - 1));
    share_inside = 2, share_outside = q.servers == 2 ? 1 : 2;
  } else if (q.collective == Collective::alltoall) {  // every pair at once
    (q.servers > 1 ? outer : inner) = 1;
    const double others = q.ranks - 1.0, of_server = q.ranks / q.servers;
    share_inside = others / q.ranks, share_outside = of_server * (q.ranks - of_server) / q.ranks;
  } else {
    outer = rounds * (q.servers - 1.0);
    inner = rounds * (q.ranks - 1.0) - outer;
    share_inside = share_outside = is_chain(q.collective) ? 1.0 : rounds * (q.ranks - 1.0) / q.ranks;
  }
  const auto seconds_a_byte = [](double share, double efficiency, BitsPerSecond rate) {
    return rate.count > 0 ? share * 8 / (efficiency * static_cast<double>(rate.count)) : 0.0;
  };
  double a_byte = std::max(seconds_a_byte(share_inside, 1, q.inside), seconds_a_byte(share_outside, profile.wire_efficiency, q.outside));
  a_byte /= costs.efficiency * profile.message_efficiency;
  const auto log_size = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(size.count >> 6)));
  if (is_tree && log_size > 0 && log_size <= tree_correction.front().size())
    a_byte /= tree_correction[index_of(regime.protocol)][log_size - 1];
  const double us = costs.base.microseconds() + inner * inside.microseconds() + outer * costs.network.microseconds() +
                    1e6 * a_byte * static_cast<double>(size.count);
  return microseconds(std::min(us, 1e12));
}

Regime nccl_choice(const HardwareProfile& profile, const NcclQuestion& q, Bytes size) {
  static const HardwareProfile as_published;
  Regime best;
  double least = 0;
  for (const NcclAlgorithm algorithm : {NcclAlgorithm::ring, NcclAlgorithm::tree}) {
    if (q.algorithm != NcclAlgorithm::automatic && q.algorithm != algorithm) continue;
    if (algorithm == NcclAlgorithm::tree && q.collective != Collective::allreduce) continue;
    for (const NcclProtocol protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple}) {
      if (q.protocol != NcclProtocol::automatic && q.protocol != protocol) continue;
      if (q.protocol == NcclProtocol::automatic && protocol == NcclProtocol::ll128 && !q.nvlink) continue;
      const Regime regime{protocol, algorithm, q.servers > 1};
      double estimate = nccl_estimate(as_published, q, regime, size).microseconds();
      if (protocol == NcclProtocol::ll) estimate /= std::max(profile.ll_bias, least_bias);
      if (protocol == NcclProtocol::ll128) estimate /= std::max(profile.ll128_bias, least_bias);
      if (algorithm == NcclAlgorithm::tree) estimate /= std::max(profile.tree_bias, least_bias);
      if (best.protocol == NcclProtocol::automatic || estimate < least) best = regime, least = estimate;
    }
  }
  return best;
}

}  // namespace weft
