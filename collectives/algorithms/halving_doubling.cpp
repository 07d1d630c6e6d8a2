#include "collectives/algorithms/halving_doubling.hpp"

#include "collectives/algorithms/fold.hpp"
#include "kernels/base/error.hpp"

namespace weft {

namespace {

// Distances 1, 2, 4, ...: before its step s, rank r works on the range that starts here, of (1 << L) >> s chunks. Its bits
// 0..s-1 say which half it kept at each step.
int first_chunk(Rank r, int s, int L) {
  int first = 0;
  for (int i = 0; i < s; ++i)
    if (r >> i & 1) first += (1 << L) >> (i + 1);
  return first;
}

Schedule power_of_two_allreduce(int L) {
  const int p = 1 << L;
  Schedule s{.name = "halving_doubling_allreduce", .collective = Collective::allreduce, .ranks = p, .chunks = p};
  s.channels = {Steps(2 * L, [=](int k, Step& step) {
    const bool halving = k < L;
    const int level = halving ? k : 2 * L - 1 - k;
    const int half = p >> (level + 1);
    for (int r = 0; r < p; ++r) {
      const int partner = r ^ 1 << level;
      const int kept = first_chunk(r, level + 1, L);
      if (halving)
        step.reduce({.from = r, .to = partner, .chunk = kept ^ half, .count = half});
      else
        step.copy({.from = r, .to = partner, .chunk = kept, .count = half});
    }
  })};
  return s;
}

}  // namespace

Schedule halving_doubling_allreduce(int n) { return folded(power_of_two_allreduce(floor_log2(n)), n); }

Schedule halving_doubling_reduce_scatter(int n) {
  check(is_power_of_two(n), "halving needs a power of two, got {} ranks", n);
  Schedule s{.name = "halving_doubling_reduce_scatter", .collective = Collective::reduce_scatter, .ranks = n, .chunks = n};
  s.channels = {Steps(floor_log2(n), [n](int k, Step& step) {
    const int half = n >> (k + 1);
    for (int r = 0; r < n; ++r) {
      const int partner = r ^ half;
      step.reduce({.from = r, .to = partner, .chunk = partner / half * half, .count = half});
    }
  })};
  return s;
}

Price halving_doubling_allreduce_price(int n) {
  const int L = floor_log2(n), p = 1 << L;
  return folded_price({.steps = 2 * L, .messages = std::int64_t{2} * p * L, .max_chunks_sent = 2 * (p - 1), .chunks = p}, n);
}

Price halving_doubling_reduce_scatter_price(int n) {
  const int L = floor_log2(n);
  return {.steps = L, .messages = std::int64_t{n} * L, .max_chunks_sent = n - 1, .chunks = n};
}

}  // namespace weft
