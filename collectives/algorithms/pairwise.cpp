#include "collectives/algorithms/pairwise.hpp"

#include <algorithm>

namespace weft {

Schedule pairwise_alltoall(int n) {
  Schedule s{.name = "pairwise_alltoall", .collective = Collective::alltoall, .ranks = n, .chunks = n, .extra_chunks = n};
  s.channels = {Steps(std::max(1, n - 1), [n](int k, Step& step) {
    if (k == 0)
      for (int r = 0; r < n; ++r) step.copy({.from = r, .to = r, .chunk = r, .into = n + r});
    if (n == 1) return;
    for (int r = 0; r < n; ++r) step.copy({.from = r, .to = mod(r + k + 1, n), .chunk = mod(r + k + 1, n), .into = n + r});
  })};
  return s;
}

Cost pairwise_alltoall_cost(int n) {
  return {.steps = std::max(1, n - 1), .messages = std::int64_t{n} * (n - 1), .max_chunks_sent = n - 1, .chunks = n};
}

Schedule pairwise_reduce_scatter(int n) {
  Schedule s{.name = "pairwise_reduce_scatter", .collective = Collective::reduce_scatter, .ranks = n, .chunks = n};
  s.channels = {Steps(n - 1, [n](int k, Step& step) {
    for (int r = 0; r < n; ++r) step.reduce({.from = r, .to = mod(r + k + 1, n), .chunk = mod(r + k + 1, n)});
  })};
  return s;
}

Cost pairwise_reduce_scatter_cost(int n) {
  return {.steps = n - 1, .messages = std::int64_t{n} * (n - 1), .max_chunks_sent = n - 1, .chunks = n};
}

}  // namespace weft
