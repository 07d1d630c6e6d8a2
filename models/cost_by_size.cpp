#include "models/cost_by_size.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft {
namespace {

using Line = std::map<double, double>;  // by a logarithm, that of the factor

double at(const Line& line, double x) {
  const auto above = line.lower_bound(x);
  if (above == line.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == line.end()) return below->second;
  const double share = (x - below->first) / (above->first - below->first);
  return below->second + share * (above->second - below->second);
}

double log_of(Bytes size) { return std::log(static_cast<double>(std::max<std::int64_t>(1, size.count))); }

}  // namespace

double cost_factor(const std::vector<CostAtSize>& known, const SizedCall& call) {
  std::map<int, Line> of_ranks;
  for (const CostAtSize& cost : known)
    if (cost.collective == call.collective && cost.algorithm == call.algorithm && cost.factor > 0)
      of_ranks[cost.ranks][log_of(cost.size)] = std::log(cost.factor);
  if (of_ranks.empty()) return 1;
  Line by_ranks;
  for (const auto& [ranks, line] : of_ranks) by_ranks[std::log(ranks)] = at(line, log_of(call.size));
  return std::exp(at(by_ranks, std::log(call.ranks)));
}

}  // namespace weft
