#include "collectives/algorithms/scatter_allgather.hpp"

#include "collectives/algorithms/bruck.hpp"
#include "collectives/algorithms/fold.hpp"
#include "collectives/algorithms/halving_doubling.hpp"
#include "collectives/algorithms/recursive_doubling.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>

namespace weft {

Schedule scatter_allgather_broadcast(const Rooted& at) {
  Schedule s = then(binomial_scatter(at.ranks), ring_allgather(at.ranks));
  s.name = "scatter_allgather_broadcast";
  return rooted_at(s, at.root);
}

Schedule scatter_doubling_broadcast(const Rooted& at) {
  const bool doubles = is_power_of_two(at.ranks);
  Schedule s = then(binomial_scatter(at.ranks), doubles ? recursive_doubling_allgather(at.ranks) : bruck_allgather(at.ranks));
  s.name = "scatter_doubling_broadcast";
  return rooted_at(s, at.root);
}

Schedule reduce_scatter_gather_reduce(const Rooted& at) {
  Schedule s = then(ring_reduce_scatter(at.ranks), binomial_gather(at.ranks));
  s.name = "reduce_scatter_gather_reduce";
  s.collective = Collective::reduce;
  return rooted_at(s, at.root);
}

Schedule halving_gather_reduce(const Rooted& at) {
  Schedule s = then(halving_doubling_reduce_scatter(at.ranks), binomial_gather(at.ranks));
  s.name = "halving_gather_reduce";
  s.collective = Collective::reduce;
  return rooted_at(s, at.root);
}

Cost scatter_allgather_broadcast_cost(int n) {
  return {.steps = ceil_log2(n) + n - 1, .messages = std::int64_t{n - 1} * (n + 1), .max_chunks_sent = 2 * (n - 1), .chunks = n};
}

Cost scatter_doubling_broadcast_cost(int n) {
  const Cost gather = is_power_of_two(n) ? recursive_doubling_allgather_cost(n) : bruck_allgather_cost(n);
  return {.steps = ceil_log2(n) + gather.steps, .messages = n - 1 + gather.messages, .max_chunks_sent = 2 * (n - 1), .chunks = n};
}

Cost reduce_scatter_gather_reduce_cost(int n) {
  // The largest subtree below the root is the last one, of n - 2^(L-1) ranks, or the full one before it, of 2^(L-2).
  const int L = ceil_log2(n);
  const int largest = L == 0 ? 0 : std::max(n - (1 << (L - 1)), L == 1 ? 1 : 1 << (L - 2));
  return {.steps = L + n - 1, .messages = std::int64_t{n - 1} * (n + 1), .max_chunks_sent = n - 1 + largest, .chunks = n};
}

}  // namespace weft
