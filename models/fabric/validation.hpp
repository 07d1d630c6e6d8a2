// Shared by the checks of specs: each collects every problem, with its place as a JSON pointer relative to the spec.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

inline constexpr std::int64_t max_endpoints = 1'000'000;
inline constexpr std::int64_t max_switch_cables = 4'000'000;

class Problems {
 public:
  template <class... Args>
  void require(bool ok, std::string where, fmt::format_string<Args...> what, Args&&... args) {
    if (!ok) found_.push_back({std::move(where), fmt::format(what, std::forward<Args>(args)...)});
  }
  void at_least(std::int64_t least, std::string where, std::int64_t value) {
    require(value >= least, std::move(where), "must be at least {}, got {}", least, value);
  }
  void within(std::int64_t least, std::int64_t most, std::string where, std::int64_t value) {
    require(value >= least && value <= most, std::move(where), "must be between {} and {}, got {}", least, most, value);
  }
  void check_link(const std::string& where, const LinkSpec& link);
  void check_size(std::int64_t endpoints, std::int64_t switch_cables);  // the limits above

  bool none() const { return found_.empty(); }
  std::vector<Problem> take() { return std::move(found_); }

 private:
  std::vector<Problem> found_;
};

// The product, or INT64_MAX where it is more. Factors must not be negative.
std::int64_t product(std::initializer_list<std::int64_t> factors);

// Throws InputError with a line for each problem: "bigraph: nodes_per_switch must be at most ...". Nothing if there is none.
void refuse(std::string_view type, const std::vector<Problem>& problems);

}  // namespace weft
