#include "models/traffic.hpp"

#include "models/fabric/validation.hpp"

#include <numeric>
#include <random>
#include <set>

namespace weft {
namespace {

std::vector<int> senders(const TrafficSpec& traffic, int endpoints) {
  if (!traffic.endpoints.empty()) return traffic.endpoints;
  std::vector<int> all(static_cast<std::size_t>(endpoints));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// One cycle through all of them (Sattolo 1986): nobody sends to itself.
std::vector<std::pair<int, int>> permutation(const std::vector<int>& who, std::uint64_t seed) {
  std::vector<int> to = who;
  std::mt19937_64 bits(seed);
  for (std::size_t i = to.size(); i-- > 1;) std::swap(to[i], to[bits() % i]);
  std::vector<std::pair<int, int>> flows;
  for (std::size_t i = 0; i < who.size(); ++i) flows.emplace_back(who[i], to[i]);
  return flows;
}

}  // namespace

std::vector<Problem> problems(const TrafficSpec& traffic, std::int64_t endpoints) {
  Problems found;
  found.require(traffic.size.count > 0, "/size", "must be more than 0 B, got {}", to_string(traffic.size));
  found.require(traffic.size <= max_message, "/size", "must be at most {}, got {}", to_string(max_message), to_string(traffic.size));
  const auto not_negative = [&](const char* where, SimTime t) {
    found.require(t.ps >= 0, where, "must not be negative, got {}", to_string(t));
  };
  not_negative("/start", traffic.start);
  not_negative("/period", traffic.period);
  not_negative("/on", traffic.on);
  not_negative("/off", traffic.off);
  found.require(traffic.stop > traffic.start, "/stop", "must come after start = {}, got {}", to_string(traffic.start),
                to_string(traffic.stop));
  found.require(traffic.off.ps == 0 || traffic.on.ps > 0, "/on", "must be more than 0 s where \"off\" is {}", to_string(traffic.off));
  std::set<int> seen;
  for (std::size_t i = 0; i < traffic.endpoints.size(); ++i) {
    const std::string where = fmt::format("/endpoints/{}", i);
    found.within(0, endpoints - 1, where, traffic.endpoints[i]);
    found.require(seen.insert(traffic.endpoints[i]).second, where, "endpoint {} is given twice", traffic.endpoints[i]);
  }
  const auto many = traffic.endpoints.empty() ? endpoints : static_cast<std::int64_t>(traffic.endpoints.size());
  if (traffic.pattern == TrafficPattern::permutation) found.require(many >= 2, "/endpoints", "must be at least 2, got {}", many);
  if (traffic.pattern == TrafficPattern::incast) {
    found.within(0, endpoints - 1, "/to", traffic.to);
    found.require(many > (seen.contains(traffic.to) || seen.empty() ? 1 : 0), "/endpoints", "has nobody who sends to endpoint {}",
                  traffic.to);
  }
  if (traffic.pattern != TrafficPattern::pairs) return found.take();
  found.require(!traffic.pairs.empty(), "/pairs", "must have at least one pair");
  for (std::size_t i = 0; i < traffic.pairs.size(); ++i) {
    const std::string where = fmt::format("/pairs/{}", i);
    const std::vector<int>& pair = traffic.pairs[i];
    found.require(pair.size() == 2, where, "must be a sender and a receiver, got {} endpoints", pair.size());
    for (const int e : pair) found.within(0, endpoints - 1, where, e);
    found.require(pair.size() != 2 || pair[0] != pair[1], where, "endpoint {} sends to itself", pair.empty() ? 0 : pair[0]);
  }
  return found.take();
}

std::vector<std::pair<int, int>> flows_of(const TrafficSpec& traffic, int endpoints) {
  std::vector<std::pair<int, int>> flows;
  switch (traffic.pattern) {
    case TrafficPattern::permutation:
      return permutation(senders(traffic, endpoints), traffic.seed);
    case TrafficPattern::incast:
      for (const int e : senders(traffic, endpoints))
        if (e != traffic.to) flows.emplace_back(e, traffic.to);
      return flows;
    case TrafficPattern::pairs:
      for (const auto& pair : traffic.pairs) flows.emplace_back(pair.at(0), pair.at(1));
      return flows;
  }
  return flows;
}

}  // namespace weft
