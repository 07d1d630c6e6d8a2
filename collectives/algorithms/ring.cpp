#include "collectives/algorithms/ring.hpp"

#include "collectives/schedule/compose.hpp"

namespace weft {

Schedule ring_allreduce(int n) {
  Schedule s{.name = "ring_allreduce", .collective = Collective::allreduce, .ranks = n, .chunks = n};
  s.channels = {Steps(2 * (n - 1), [n](int k, Step& step) {
    if (k < n - 1) {
      // Reduce-scatter: every rank passes on the chunk it last touched; rank r ends owning the sum of chunk r + 1.
      for (int r = 0; r < n; ++r) step.reduce({.from = r, .to = mod(r + 1, n), .chunk = mod(r - k, n)});
    } else {
      // All-gather: the same walk, copying.
      const int passed = k - (n - 1);
      for (int r = 0; r < n; ++r) step.copy({.from = r, .to = mod(r + 1, n), .chunk = mod(r + 1 - passed, n)});
    }
  })};
  return rotating(s);
}

Schedule ring_reduce_scatter(int n) {
  Schedule s{.name = "ring_reduce_scatter", .collective = Collective::reduce_scatter, .ranks = n, .chunks = n};
  s.channels = {Steps(n - 1, [n](int k, Step& step) {
    for (int r = 0; r < n; ++r) step.reduce({.from = r, .to = mod(r + 1, n), .chunk = mod(r - k - 1, n)});
  })};
  return rotating(s);
}

Schedule ring_allgather(int n) {
  Schedule s{.name = "ring_allgather", .collective = Collective::allgather, .ranks = n, .chunks = n};
  s.channels = {Steps(n - 1, [n](int k, Step& step) {
    for (int r = 0; r < n; ++r) step.copy({.from = r, .to = mod(r + 1, n), .chunk = mod(r - k, n)});
  })};
  return rotating(s);
}

Price ring_allreduce_price(int n) {
  return {.steps = 2 * (n - 1), .messages = std::int64_t{2} * n * (n - 1), .max_chunks_sent = 2 * (n - 1), .chunks = n};
}

Price ring_reduce_scatter_price(int n) {
  return {.steps = n - 1, .messages = std::int64_t{n} * (n - 1), .max_chunks_sent = n - 1, .chunks = n};
}

Price ring_allgather_price(int n) { return ring_reduce_scatter_price(n); }

}  // namespace weft
