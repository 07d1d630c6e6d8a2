#include "collectives/algorithms/hdrm.hpp"

#include "collectives/algorithms/fold.hpp"
#include "collectives/algorithms/halving_doubling.hpp"
#include "collectives/schedule/compose.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace weft {

namespace {

bool odd_bits(int i) { return std::popcount(static_cast<unsigned>(i)) % 2 == 1; }

}  // namespace

std::vector<int> hdrm_placement(const BiGraphShape& shape) {
  const int N = shape.switches, M = shape.nodes_per_switch, half = N / 2;
  check(N >= 2 && is_power_of_two(N) && is_power_of_two(M) && M <= half, "no HDRM placement on BiGraph {} x {}", M, N);

  // The base group: pairs (2i, 2i+1), swapped where i has an odd number of bits. The first of pair i belongs on upper switch
  // i, the second on lower switch i.
  std::vector<Rank> first, second;
  for (int i = 0; i < half; ++i) {
    first.push_back(2 * i);
    second.push_back(2 * i + 1);
    if (odd_bits(i)) std::swap(first.back(), second.back());
  }

  std::vector<int> node_of(static_cast<std::size_t>(shape.nodes()));
  for (int slot = 0; slot < M; ++slot) {  // group `slot` is the base group moved up by slot * N ranks
    std::vector<Rank> upper = first, lower = second;
    if (odd_bits(slot)) std::swap(upper, lower);
    std::rotate(upper.begin(), upper.begin() + slot % half, upper.end());
    for (int k = 0; k < half; ++k) {
      const auto on = static_cast<std::size_t>(k);
      node_of[static_cast<std::size_t>(upper[on] + slot * N)] = 2 * k * M + slot;
      node_of[static_cast<std::size_t>(lower[on] + slot * N)] = (2 * k + 1) * M + slot;
    }
  }
  return node_of;
}

Schedule hdrm_allreduce(const BiGraphShape& shape) {
  Schedule s = remap(halving_doubling_allreduce(shape.nodes()), hdrm_placement(shape));
  s.name = "hdrm_allreduce";
  return s;
}

Cost hdrm_allreduce_cost(const BiGraphShape& shape) { return halving_doubling_allreduce_cost(shape.nodes()); }

}  // namespace weft
