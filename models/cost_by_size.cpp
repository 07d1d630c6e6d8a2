#include "models/cost_by_size.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

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

struct CostsBySize::Known {
  std::vector<CostAtSize> all;
  std::map<std::pair<std::string, std::string>, std::map<int, std::map<int, Line>>> lines = {};  // by ranks and servers
};

CostsBySize::CostsBySize(std::vector<CostAtSize> all) {
  if (all.empty()) return;
  const auto known = std::make_shared<Known>(Known{std::move(all)});
  for (const CostAtSize& cost : known->all)
    if (cost.factor > 0)
      known->lines[{cost.collective, cost.algorithm}][cost.ranks][cost.servers][log_of(cost.size)] = std::log(cost.factor);
  known_ = known;
}

const std::vector<CostAtSize>& CostsBySize::all() const {
  static const std::vector<CostAtSize> none;
  return known_ ? known_->all : none;
}

double CostsBySize::factor(const SizedCall& call) const {
  if (!known_) return 1;
  const std::string collective(call.collective), algorithm(call.algorithm);
  auto found = known_->lines.find({collective, algorithm});
  if (found == known_->lines.end()) found = known_->lines.find({collective, without_protocol(algorithm)});
  if (found == known_->lines.end()) return 1;
  const auto is_alike = [&](int servers) { return servers == 0 || call.servers == 0 || (servers == 1) == (call.servers == 1); };
  const auto away = [&](int servers) { return std::abs(std::log(std::max(servers, 1)) - std::log(std::max(call.servers, 1))); };
  Line alike, others;  // by ranks
  for (const auto& [ranks, of_servers] : found->second) {
    const std::pair<const int, Line>* nearest = nullptr;
    for (const auto& line : of_servers) {
      const bool nearer = nearest == nullptr ||
                          std::pair(!is_alike(line.first), away(line.first)) < std::pair(!is_alike(nearest->first), away(nearest->first));
      if (nearer) nearest = &line;
    }
    (is_alike(nearest->first) ? alike : others)[std::log(ranks)] = at(nearest->second, log_of(call.size));
  }
  return std::exp(at(alike.empty() ? others : alike, std::log(call.ranks)));
}

std::string with_protocol(std::string_view algorithm, std::string_view pattern, std::string_view protocol) {
  return fmt::format("{}_{}_{}", algorithm, pattern, protocol);
}

std::string without_protocol(const std::string& algorithm) {
  return algorithm.starts_with("nccl_") ? algorithm.substr(0, algorithm.rfind('_')) : algorithm;
}

}  // namespace weft
