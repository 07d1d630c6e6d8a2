#include "collectives/in_network/atp.hpp"

#include "kernels/base/hash.hpp"

#include <algorithm>
#include <map>

namespace weft {
namespace {

bool holds(std::span<const int> set, int one) { return std::ranges::find(set, one) != set.end(); }

}  // namespace

std::vector<Problem> problems(const AtpSettings& s) {
  std::vector<Problem> out;
  const auto at_least = [&](const char* where, std::int64_t value, std::int64_t least) {
    if (value < least) out.push_back({where, fmt::format("must be at least {}, got {}", least, value)});
  };
  check_packet(s.payload, s.packet, s.timeout, out);
  check_host(s.framing, s.host, out);
  if (!(s.forwarded >= 0 && s.forwarded <= 1)) out.push_back({"/forwarded", fmt::format("must be between 0 and 1, got {}", s.forwarded)});
  at_least("/aggregators", s.aggregators, 0);
  at_least("/initial_window", s.initial_window, 1);
  at_least("/largest_window", s.window_limit(), s.initial_window);
  at_least("/mtu", s.mtu.count, 1);
  if (s.aggregators > max_aggregators)
    out.push_back({"/aggregators", fmt::format("must be at most {}, got {}", max_aggregators, s.aggregators)});
  if (s.largest_window > 1 << 20) out.push_back({"/largest_window", fmt::format("must be at most {}, got {}", 1 << 20, s.largest_window)});
  return out;
}

void check_host(Bytes framing, const HostCost& host, std::vector<Problem>& out) {
  if (framing.count < 0 || framing > 1_KiB)
    out.push_back({"/framing", fmt::format("must be between 0B and 1KiB, got {}", to_string(framing))});
  if (host.per_packet.ps < 0) out.push_back({"/host/per_packet", fmt::format("must not be negative, got {}", to_string(host.per_packet))});
  if (host.jitter.ps < 0) out.push_back({"/host/jitter", fmt::format("must not be negative, got {}", to_string(host.jitter))});
  if (host.bandwidth.count < 0) out.push_back({"/host/bandwidth", fmt::format("must not be negative, got {}", to_string(host.bandwidth))});
}

void check_packet(Bytes payload, Bytes packet, SimTime timeout, std::vector<Problem>& out) {
  if (payload.count < 4) out.push_back({"/payload", "must hold at least one value of 4 bytes"});
  if (packet <= payload || packet.count > 65536)
    out.push_back(
        {"/packet", fmt::format("must be more than the payload of {} bytes and at most 65536, got {}", payload.count, packet.count)});
  if (timeout.ps < 1) out.push_back({"/timeout", "must be longer than nothing, got \"0s\""});
}

AtpWalk atp_walk(const AtpSettings& settings, const AtpTurn& turn) {
  if (settings.split && turn.jobs > settings.places())
    throw InputError(fmt::format("{} aggregators cannot be split between {} jobs", settings.places(), turn.jobs));
  const auto job = static_cast<std::uint64_t>(turn.job), flow = static_cast<std::uint64_t>(turn.flow);
  const auto count = static_cast<std::uint64_t>(settings.split ? settings.places() / turn.jobs : settings.places());
  return {.base = settings.split ? job * count : 0,
          .count = count,
          .first = flow,
          .step = static_cast<std::uint64_t>(turn.flows),
          .key = mixed(golden_ratio * (job + 1))};
}

// Each step changes half of the bits by a hash of the others, so it can be undone; numbers beyond the last go on to the next one that is
// within (cycle walking).
std::uint64_t AtpWalk::at(std::uint32_t sequence) const {
  const auto bits = static_cast<int>(std::bit_width(count - 1));
  const int low = bits / 2;
  const std::uint64_t lower = (std::uint64_t{1} << low) - 1, upper = (std::uint64_t{1} << (bits - low)) - 1;
  std::uint64_t index = (first + sequence * step) % count;
  do {
    for (std::uint64_t round = 0; round < 2; ++round) {
      index ^= (mixed(key + round * golden_ratio + (index & lower)) & upper) << low;
      index ^= mixed(~key + round * golden_ratio + (index >> low)) & lower;
    }
  } while (index >= count);
  return base + index;
}

AtpTree plan_atp_tree(std::span<const int> worker_switch, int server_switch, std::span<const int> programmable) {
  AtpTree out;
  const auto workers = worker_switch.size();
  out.members.resize(workers);
  std::map<int, std::vector<int>> below;  // workers by switch, in the order of the switches
  for (std::size_t w = 0; w < workers; ++w) below[worker_switch[w]].push_back(static_cast<int>(w));
  const bool one_switch = below.size() == 1 && below.begin()->first == server_switch;
  const bool second_level = holds(programmable, server_switch) && !one_switch;

  // Level 1: racks with a switch of their own that aggregates. Workers of the server's rack meet at level 2 at once, unless
  // there are no others.
  for (const auto& [at, members] : below) {
    const bool aggregates = holds(programmable, at) && (at != server_switch || one_switch);
    const int rack = static_cast<int>(out.workers_of.size());
    if (aggregates) {
      if (members.size() > AtpBits::capacity)
        throw InputError(fmt::format("{} workers meet at a switch, and a packet has bits for {}", members.size(), AtpBits::capacity));
      for (std::size_t bit = 0; bit < members.size(); ++bit)
        out.members[static_cast<std::size_t>(members[bit])] = {
            .level = 1, .bit = static_cast<int>(bit), .rack = rack, .edge = 0, .fan_in_1 = static_cast<int>(members.size())};
      out.workers_of.push_back(members);
      out.workers_at.push_back(members);
    } else {
      for (const int w : members) {
        const int own = static_cast<int>(out.workers_of.size());
        // Where they meet nobody on their way, as a rack of one: there may be more of them than bits.
        if (second_level)
          out.members[static_cast<std::size_t>(w)] = {.level = 2, .bit = own, .rack = own, .edge = 1};
        else
          out.members[static_cast<std::size_t>(w)] = {.level = 1, .bit = 0, .rack = own, .edge = 2};
        out.workers_of.push_back({w});
        out.workers_at.push_back({w});
      }
    }
  }
  out.racks = static_cast<int>(out.workers_of.size());
  if (out.racks > AtpBits::capacity && (second_level || out.racks > UINT16_MAX))
    throw InputError(
        fmt::format("{} racks and workers meet at the server's switch, and a packet has bits for {}", out.racks, AtpBits::capacity));
  for (AtpMember& m : out.members) m.fan_in_2 = second_level ? out.racks : 0;
  return out;
}

}  // namespace weft
