#include "models/hardware.hpp"

#include "models/fabric/validation.hpp"
#include "models/message_costs.hpp"
#include "models/nccl_tuning.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

std::string_view name_of(SendQueue queue) {
  switch (queue) {
    case SendQueue::channel:
      return "channel";
    case SendQueue::rank:
      return "rank";
    case SendQueue::nic:
      return "nic";
  }
  return "";
}

std::string_view name_of(BiasesOf calls) {
  switch (calls) {
    case BiasesOf::all_calls:
      return "all_calls";
    case BiasesOf::calls_in_a_server:
      return "calls_in_a_server";
    case BiasesOf::calls_between_servers:
      return "calls_between_servers";
  }
  return "";
}

std::int64_t HardwareProfile::wire_bytes(std::int64_t bytes) const {
  const double efficiency = message_efficiency * (bytes < rendezvous_threshold.count ? eager_efficiency : 1.0);
  return efficiency == 1.0 ? bytes : std::llround(static_cast<double>(bytes) / efficiency);
}

namespace {

// A rate as the time of a byte; 0: none.
double per_byte(BitsPerSecond rate) { return rate.count == 0 ? 0 : 1 / static_cast<double>(rate.count); }

// Of a working set what fits into a level of cache is as fast as there, and nothing is faster in a larger one. 0 goes on as before.
BitsPerSecond rate_of(Bytes message, const std::array<BitsPerSecond, 3>& rates, const std::array<Bytes, 2>& caches) {
  if (message <= caches[0]) return rates[0];
  double nearer = per_byte(rates[0]), sum = 0, before = 0;
  for (std::size_t level = 0; level < rates.size(); ++level) {
    nearer = std::max(nearer, per_byte(rates[level]));
    const double fits = level < caches.size() ? static_cast<double>(caches[level].count) / static_cast<double>(message.count) : 1;
    const double here = std::clamp(fits, before, 1.0);
    sum += (here - before) * nearer;
    before = here;
  }
  return BitsPerSecond{sum > 0 ? std::llround(1 / sum) : 0};
}

}  // namespace

BitsPerSecond HardwareProfile::reduce_rate_for(Bytes message) const {
  return rate_of(message, {reduce_rate, reduce_rate_beyond_cache, reduce_rate_in_memory}, {reduce_cache, last_level_cache});
}

BitsPerSecond HardwareProfile::copy_rate_for(Bytes message) const {
  return rate_of(message, {copy_rate, copy_rate_beyond_cache, copy_rate_in_memory}, {reduce_cache, last_level_cache});
}

HardwareProfile HardwareProfile::shared_by(int ranks) const {
  HardwareProfile out = *this;
  if (last_level_cache.count != INT64_MAX) out.last_level_cache.count = std::max<std::int64_t>(1, last_level_cache.count / ranks);
  if (copy_rate_in_memory.count != 0) out.copy_rate_in_memory.count = std::max<std::int64_t>(1, copy_rate_in_memory.count / ranks);
  return out;
}

HardwareProfile HardwareProfile::shared_by_ranks_of_gpu(int ranks) const {
  HardwareProfile out = shared_by(ranks);
  out.shares_gpu = true;
  out.reduce_cache = std::min(out.reduce_cache, out.last_level_cache);
  for (BitsPerSecond* rate :
       {&out.reduce_rate, &out.reduce_rate_beyond_cache, &out.reduce_rate_in_memory, &out.copy_rate, &out.copy_rate_beyond_cache})
    if (rate->count != 0) rate->count = std::max<std::int64_t>(1, rate->count / ranks);
  return out;
}

HardwareProfile HardwareProfile::for_message(Bytes message) const {
  HardwareProfile out = *this;
  out.reduce_rate = reduce_rate_for(message);
  out.copy_rate = copy_rate_for(message);
  return out;
}

namespace {

// What is not of single messages.
void multiply_calls(HardwareProfile& p, double cost) {
  for (SimTime* time : {&p.first_use, &p.reduce_launch, &p.local_copy, &p.call_overhead})
    time->ps = std::llround(static_cast<double>(time->ps) * cost);
  for (BitsPerSecond* rate : {&p.reduce_rate, &p.reduce_rate_beyond_cache, &p.reduce_rate_in_memory, &p.copy_rate,
                              &p.copy_rate_beyond_cache, &p.copy_rate_in_memory, &p.page_fault_rate, &p.stream_rate, &p.staging_rate})
    rate->count = std::llround(static_cast<double>(rate->count) / cost);
}

void multiply(HardwareProfile& p, double cost) {
  multiply_calls(p, cost);
  for (SimTime* time : {&p.send_overhead, &p.receive_overhead, &p.rendezvous, &p.beyond_inline, &p.nvlink_overhead, &p.pcie_overhead,
                        &p.sockets_overhead, &p.rail_overhead, &p.network_overhead})
    time->ps = std::llround(static_cast<double>(time->ps) * cost);
  // Faster than the other values say, but not than the links.
  p.message_efficiency = std::min(p.message_efficiency / cost, std::max(p.message_efficiency, 1 / p.wire_efficiency));
}

// Those of messages besides: every message costs so many times as much, and what it costs by its size.
CostsBySize messages_times(const CostsBySize& costs, double cost) {
  std::vector<CostAtSize> out;
  for (const CostAtSize& known : costs)
    if (known.collective == name_of_message_costs) {
      out.push_back(known);
      out.back().factor *= cost;
    }
  if (out.empty()) out.push_back({std::string(name_of_message_costs), std::string(name_of_message_costs), 2, Bytes{1}, cost});
  return out;
}

void add(HardwareProfile& out, const NcclCosts& costs) {
  out.call_overhead += costs.base;
  out.send_overhead += costs.sending;
  out.nvlink_overhead += costs.nvlink;
  out.pcie_overhead += costs.pcie;
  out.sockets_overhead += costs.pcie;
  out.rail_overhead += costs.network;
  out.network_overhead += costs.network;
  out.message_efficiency *= costs.efficiency;
  out.nvlink_gain = costs.nvlink_gain;
  out.eager_threshold = std::max(out.eager_threshold, nccl_eager);
}

}  // namespace

Bytes HardwareProfile::eager_below() const {
  Bytes copied{0};
  if (eager_copy_rate.count > 0 && handshake.ps > 0)
    copied = handshake_threshold.count > 0
                 ? handshake_threshold
                 : Bytes{static_cast<std::int64_t>(static_cast<double>(eager_copy_rate.count) / 8 * handshake.seconds())};
  return std::min(std::max(eager_threshold, copied), rendezvous_threshold);
}

HardwareProfile HardwareProfile::in(const Regime& regime) const {
  HardwareProfile out = *this;
  if (regime.protocol != NcclProtocol::automatic) {
    add(out, nccl_costs(*this, regime));
    out.cost_by_size = {};
    // Its kernels read what they send where it lies, and its table has what its protocols cost.
    out.initial_copies = 0;
    out.local_copy = {};
    out.eager_copy_rate = out.host_eager_copy_rate = {};
    out.copy_rate = out.copy_rate_beyond_cache = out.copy_rate_in_memory = {};  // no core copies its messages
    out.unpipelined_rate = {};
    out.rendezvous = {}, out.rendezvous_threshold = HardwareProfile{}.rendezvous_threshold;  // a part of its hops between servers
    out.stream_rate.count *= regime.connections;
  }
  if (regime.cost == 1) return out;
  if (regime.protocol != NcclProtocol::automatic) {
    multiply(out, regime.cost);
  } else {
    multiply_calls(out, regime.cost);
    out.cost_by_size = messages_times(out.cost_by_size, regime.cost);
  }
  return out;
}

std::vector<Problem> problems(const HardwareProfile& profile) {
  Problems found;
  const auto not_negative = [&](const char* where, auto value) {
    found.require(value >= decltype(value){}, where, "must not be negative, got {}", to_string(value));
  };
  not_negative("/send_overhead", profile.send_overhead);
  not_negative("/receive_overhead", profile.receive_overhead);
  not_negative("/first_use", profile.first_use);
  not_negative("/rendezvous", profile.rendezvous);
  not_negative("/rendezvous_threshold", profile.rendezvous_threshold);
  not_negative("/reduce_launch", profile.reduce_launch);
  not_negative("/local_copy", profile.local_copy);
  not_negative("/reduce_rate", profile.reduce_rate);
  not_negative("/reduce_cache", profile.reduce_cache);
  not_negative("/reduce_rate_beyond_cache", profile.reduce_rate_beyond_cache);
  not_negative("/stream_rate", profile.stream_rate);
  not_negative("/copy_rate_of_socket", profile.copy_rate_of_socket);
  not_negative("/host_eager_copy_rate", profile.host_eager_copy_rate);
  not_negative("/staging_rate", profile.staging_rate);
  not_negative("/call_overhead", profile.call_overhead);
  not_negative("/eager_threshold", profile.eager_threshold);
  not_negative("/inline_threshold", profile.inline_threshold);
  not_negative("/beyond_inline", profile.beyond_inline);
  not_negative("/nvlink_overhead", profile.nvlink_overhead);
  not_negative("/pcie_overhead", profile.pcie_overhead);
  not_negative("/sockets_overhead", profile.sockets_overhead);
  not_negative("/rail_overhead", profile.rail_overhead);
  not_negative("/network_overhead", profile.network_overhead);
  not_negative("/last_level_cache", profile.last_level_cache);
  not_negative("/reduce_rate_in_memory", profile.reduce_rate_in_memory);
  not_negative("/copy_rate", profile.copy_rate);
  not_negative("/copy_rate_beyond_cache", profile.copy_rate_beyond_cache);
  not_negative("/copy_rate_in_memory", profile.copy_rate_in_memory);
  not_negative("/fresh_buffer", profile.fresh_buffer);
  not_negative("/page_fault_rate", profile.page_fault_rate);
  not_negative("/eager_copy_rate", profile.eager_copy_rate);
  not_negative("/handshake", profile.handshake);
  not_negative("/host_handshake", profile.host_handshake);
  not_negative("/handshake_threshold", profile.handshake_threshold);
  not_negative("/unpipelined_rate", profile.unpipelined_rate);
  not_negative("/nccl_channel", profile.nccl_channel);
  not_negative("/simple_base", profile.simple_base);
  not_negative("/nccl_network", profile.nccl_network);
  not_negative("/nccl_hop", profile.nccl_hop);
  not_negative("/nccl_own_rate", profile.nccl_own_rate);
  not_negative("/process_launch", profile.process_launch);
  found.require(profile.initial_copies >= 0 && profile.initial_copies <= max_initial_copies, "/initial_copies",
                "must be between 0 and {}, got {}", max_initial_copies, profile.initial_copies);
  found.require(profile.sender_share >= 0 && profile.sender_share <= 1, "/sender_share", "must be between 0 and 1, got {}",
                profile.sender_share);
  const auto factor = [&](const char* where, double value) {
    found.require(value >= 0 && value <= nccl_most_factor, where, "must be between 0 and {}, got {}", nccl_most_factor, value);
  };
  factor("/nccl_base", profile.nccl_base);
  factor("/ll_hops", profile.ll_hops);
  factor("/ll128_hops", profile.ll128_hops);
  factor("/simple_hops", profile.simple_hops);
  factor("/network_hops", profile.network_hops);
  factor("/nccl_launch", profile.nccl_launch);
  factor("/nccl_peer", profile.nccl_peer);
  factor("/ll_bias", profile.ll_bias);
  factor("/ll128_bias", profile.ll128_bias);
  factor("/tree_bias", profile.tree_bias);
  factor("/nvls_bias", profile.nvls_bias);
  const auto efficiency = [&](const char* where, double value) {
    // Written so that not-a-number fails too.
    found.require(value > 0 && value <= 1, where, "must be more than 0 and at most 1, got {}", value);
  };
  efficiency("/wire_efficiency", profile.wire_efficiency);
  efficiency("/eager_efficiency", profile.eager_efficiency);
  efficiency("/message_efficiency", profile.message_efficiency);
  efficiency("/ll_efficiency", profile.ll_efficiency);
  efficiency("/ll128_efficiency", profile.ll128_efficiency);
  efficiency("/simple_efficiency", profile.simple_efficiency);
  efficiency("/tree_efficiency", profile.tree_efficiency);
  efficiency("/nvls_efficiency", profile.nvls_efficiency);
  for (std::size_t i = 0; i < profile.cost_by_size.size(); ++i) {
    const CostAtSize& cost = profile.cost_by_size[i];
    const std::string where = fmt::format("/cost_by_size/{}", i);
    found.require(cost.factor > 0 && cost.factor <= nccl_most_factor, where + "/factor", "must be more than 0 and at most {}, got {}",
                  nccl_most_factor, cost.factor);
    found.require(cost.ranks >= 2, where + "/ranks", "must be at least 2, got {}", cost.ranks);
  }
  return found.take();
}

}  // namespace weft
