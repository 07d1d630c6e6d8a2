#include "collectives/registry/limits.hpp"

namespace weft {

std::string divisors_of(int n) {
  std::vector<int> divisors;
  for (int d = 1; d <= n; ++d)
    if (n % d == 0) divisors.push_back(d);
  return fmt::format("{}", fmt::join(divisors, ", "));
}

void groups_divide(const Request& q, Problems& problems) {
  const int g = q.settings.group;
  if (q.ranks < 1) return;
  if (g == 0 && find_algorithm(q.collective, q.algorithm)->staggers) return;
  if (g == 0)
    problems.push_back({"/group", fmt::format("{} needs the ranks of a group: one of {}", q.algorithm, divisors_of(q.ranks))});
  else if (g < 0 || q.ranks % g != 0)
    problems.push_back({"/group", fmt::format("must divide the {} ranks ({}), got {}", q.ranks, divisors_of(q.ranks), g)});
}

}  // namespace weft
