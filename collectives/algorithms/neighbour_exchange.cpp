#include "collectives/algorithms/neighbour_exchange.hpp"

#include "kernels/base/error.hpp"

namespace weft {

Schedule neighbour_exchange_allgather(int n) {
  check(n % 2 == 0, "neighbours pair up where the number of ranks is even, got {}", n);
  const int pairs = n / 2;
  Schedule s{.name = "neighbour_exchange_allgather", .collective = Collective::allgather, .ranks = n, .chunks = n};
  s.channels = {Steps(pairs, [=](int k, Step& step) {
    for (int r = 0; r < n; ++r) {
      if (k == 0) {
        step.copy({.from = r, .to = r ^ 1, .chunk = r});
        continue;
      }
      // An even rank's other neighbour is on the left, an odd one's on the right; what it got last is of the pair so far away.
      const bool within = k % 2 == 0, even = r % 2 == 0;
      const int right = even == within ? 1 : -1, away = even == within ? -k / 2 : k / 2;
      step.copy({.from = r, .to = mod(r + right, n), .chunk = 2 * mod(r / 2 + away, pairs), .count = 2});
    }
  })};
  const auto next_pair = [n](int i) { return (i + 2) % n; };
  s.channels.front().declare({.rank = next_pair, .chunk = next_pair});
  return s;
}

Cost neighbour_exchange_allgather_cost(int n) {
  return {.steps = n / 2, .messages = std::int64_t{n} * (n / 2), .max_chunks_sent = n - 1, .chunks = n};
}

}  // namespace weft
