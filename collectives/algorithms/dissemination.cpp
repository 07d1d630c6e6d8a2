#include "collectives/algorithms/dissemination.hpp"

#include "collectives/algorithms/fold.hpp"

namespace weft {

Schedule dissemination_barrier(int n) {
  Schedule s{.name = "dissemination_barrier", .collective = Collective::barrier, .ranks = n};
  s.channels = {Steps(ceil_log2(n), [n](int k, Step& step) {
    for (int r = 0; r < n; ++r) step.reduce({.from = r, .to = mod(r + (1 << k), n), .chunk = 0});
  })};
  return s;
}

Cost dissemination_barrier_cost(int n) {
  const int L = ceil_log2(n);
  return {.steps = L, .messages = std::int64_t{n} * L, .max_chunks_sent = L, .chunks = 1};
}

}  // namespace weft
