#include "validation/fit/large_calls.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weft {
namespace {

// Of fewer pieces not all ranks are at work at once, and NCCL's tree over fewer servers has none with two others below it and one above.
constexpr int fewest_pieces = 4, fewest_servers = 2, fewest_servers_of_nccl = 4, fewest_gpus = 8;

enum class Part { none, pieces, servers, gpus };

// What can be halved twice.
Part many_of(const MeasuredSetup& e, int servers) {
  if (e.algorithm.settings.pieces >= 4 * fewest_pieces) return Part::pieces;
  const bool is_cut = pieces_of(e.algorithm.settings) > 1 && e.algorithm.settings.protocol == NcclProtocol::automatic;
  if (!is_cut && e.nodes >= 4 * servers && e.ranks % e.nodes == 0) return Part::servers;
  return e.nodes == 1 && e.ranks >= 4 * fewest_gpus ? Part::gpus : Part::none;
}

int count_of(const MeasuredSetup& e, Part part) {
  return part == Part::pieces ? e.algorithm.settings.pieces : part == Part::servers ? e.nodes : e.ranks;
}

Bytes share_of(Bytes size, double share) {
  constexpr std::int64_t least = 4;  // an element, for one that has any
  return Bytes{std::max<std::int64_t>(std::llround(static_cast<double>(size.count) * share), std::min(size.count, least))};
}

MeasuredSetup with(const MeasuredSetup& e, Part part, int count) {
  MeasuredSetup out = e;
  AlgorithmSettings& s = out.algorithm.settings;
  if (part == Part::pieces) s.pieces = count;
  if (part == Part::servers) out.nodes = count, out.ranks = e.ranks / e.nodes * count;
  if (part == Part::gpus) out.ranks = out.of_each_node = count;
  if (s.group == e.ranks) s.group = out.ranks;
  return out;
}

// A call and its halves, each the half of the one before it, and what they are made of.
struct Halves {
  std::vector<MeasuredSetup> calls = {};
  std::vector<Cost> costs = {};

  // False where the algorithm does not run on so few.
  bool add(MeasuredSetup call, const LargeCalls& large) {
    const std::optional<Cost> cost = large.cost_of(call);
    if (cost) costs.push_back(*cost), calls.push_back(std::move(call));
    return cost.has_value();
  }
  double steps_more(std::size_t i) const { return costs[i].steps - costs[i + 1].steps; }  // than its half has
  double chunks(std::size_t i) const { return std::max(1, costs[i].chunks); }
};

}  // namespace

std::vector<ToldFrom> told_from(const MeasuredSetup& e, const LargeCalls& large) {
  const bool is_nccl = e.algorithm.settings.protocol != NcclProtocol::automatic;
  const int servers = std::max(is_nccl ? fewest_servers_of_nccl : fewest_servers, large.min_servers);
  const Part part = many_of(e, servers);
  const int fewest = part == Part::pieces ? fewest_pieces : part == Part::servers ? servers : fewest_gpus;
  Halves h;
  if (part == Part::none || !h.add(e, large) || h.costs.front().messages <= large.max_messages) return {};
  while (h.calls.size() < 3 || h.costs[h.calls.size() - 2].messages > large.max_messages) {
    const int count = count_of(h.calls.back(), part);
    if (count < 2 * fewest || !h.add(with(e, part, count / 2), large)) break;
  }
  if (h.calls.size() < 3) return {};
  const std::size_t smaller = h.calls.size() - 1, small = smaller - 1;
  // Along a ring, a chain or pieces steps grow as what is halved, with chunks of the same size. Elsewhere, by doubling or along a tree,
  // each twice as many have as many steps more as the ones before, and where they cut the message into twice as many chunks, with half as
  // much.
  const bool in_proportion = part == Part::pieces || 2 * h.steps_more(0) >= 3 * h.steps_more(1);
  const auto resized = [&](std::size_t i, double share) {
    MeasuredSetup call = h.calls[i];
    call.size = share_of(e.size, share);
    return call;
  };
  const double share = in_proportion ? h.chunks(small) / h.chunks(0) : 1;
  std::vector<ToldFrom> out = {{1, resized(small, share)}};
  const auto more = [&](std::size_t i) {
    return h.steps_more(small) > 0 ? h.steps_more(i) : count_of(h.calls[i], part) - count_of(h.calls[i + 1], part);
  };
  for (std::size_t i = 0; i < small; ++i) {
    const double times = more(i) / more(small), of_i = in_proportion ? share : h.chunks(small) / h.chunks(i);
    const MeasuredSetup half = resized(smaller, in_proportion ? h.chunks(smaller) / h.chunks(0) : of_i);
    if (i > 0 && out.back().call.size == half.size) {
      out[out.size() - 2].times += times, out.back().times -= times;
      continue;
    }
    out.push_back({times, resized(small, of_i)});
    out.push_back({-times, half});
  }
  return out;
}

std::int64_t max_messages_of_a_call(const std::vector<MessagesOfCall>& calls, std::int64_t of_all) {
  const auto together = [&](std::int64_t most) {
    std::int64_t sum = 0;
    for (const MessagesOfCall& c : calls) sum += c.times * std::min(c.messages, most);
    return sum;
  };
  std::int64_t largest = 1;
  for (const MessagesOfCall& c : calls) largest = std::max(largest, c.messages);
  if (together(largest) <= of_all) return std::numeric_limits<std::int64_t>::max();
  of_all /= 4;
  std::int64_t low = 1;  // enough, and too many
  for (std::int64_t high = largest; high - low > 1;) {
    const std::int64_t middle = std::midpoint(low, high);
    (together(middle) <= of_all ? low : high) = middle;
  }
  return low;
}

}  // namespace weft
