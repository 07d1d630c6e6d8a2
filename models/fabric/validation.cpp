#include "models/fabric/validation.hpp"

namespace weft {

void Problems::check_link(const std::string& where, const LinkSpec& link) {
  require(link.bandwidth.count > 0, where + "/bandwidth", "must be more than 0, got {}", to_string(link.bandwidth));
  require(link.latency.ps >= 0, where + "/latency", "must not be negative, got {}", to_string(link.latency));
}

void Problems::check_size(std::int64_t endpoints, std::int64_t switch_cables) {
  require(endpoints <= max_endpoints, "", "has {} endpoints, at most {} are allowed", endpoints, max_endpoints);
  require(switch_cables <= max_switch_cables, "", "has {} cables between switches, at most {} are allowed", switch_cables,
          max_switch_cables);
}

std::int64_t product(std::initializer_list<std::int64_t> factors) {
  Int128 result = 1;
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;
    result = result * factor < INT64_MAX ? result * factor : Int128{INT64_MAX};
  }
  return static_cast<std::int64_t>(result);
}

void refuse(std::string_view type, const std::vector<Problem>& problems) {
  if (problems.empty()) return;
  std::vector<std::string> lines;
  for (const auto& [where, what] : problems) {
    const std::string place = where.empty() ? "" : where.substr(1) + " ";
    lines.push_back(fmt::format("{}: {}{}", type, place, what));
  }
  throw InputError(std::move(lines));
}

}  // namespace weft
