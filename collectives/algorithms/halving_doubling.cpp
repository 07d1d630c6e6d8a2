#include "collectives/algorithms/halving_doubling.hpp"

#include "collectives/algorithms/fold.hpp"
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
  const int L = floor_log2(n), p = 1 << L, extra = n - p, before = extra > 0 ? 1 : 0;
  Schedule s{.name = "halving_doubling_reduce_scatter", .collective = Collective::reduce_scatter, .ranks = n, .chunks = n};
  s.channels = {Steps(L + 2 * before, [=](int k, Step& step) {
    const auto first = [=](int q) { return q < extra ? 2 * q : q + extra; };  // rank and block of the q-th that goes on
    for (int q = 0; q < extra && k < before; ++q) step.reduce({.from = 2 * q + 1, .to = 2 * q, .chunk = 0, .count = n});
    for (int q = 0; q < extra && k == L + before; ++q) step.copy({.from = 2 * q, .to = 2 * q + 1, .chunk = 2 * q + 1});
    if (k < before || k >= L + before) return;
    const int half = p >> (k - before + 1);
    for (int q = 0; q < p; ++q) {
      const int partner = q ^ half, low = partner / half * half;
      step.reduce({.from = first(q), .to = first(partner), .chunk = first(low), .count = first(low + half) - first(low)});
    }
  })};
  return s;
}

Cost halving_doubling_allreduce_cost(int n) {
  const int L = floor_log2(n), p = 1 << L;
  return folded_cost({.steps = 2 * L, .messages = std::int64_t{2} * p * L, .max_chunks_sent = 2 * (p - 1), .chunks = p}, n);
}

Cost halving_doubling_reduce_scatter_cost(int n) {
  const int L = floor_log2(n), p = 1 << L, extra = n - p;
  return {
      .steps = L + (extra > 0 ? 2 : 0), .messages = std::int64_t{p} * L + 2 * extra, .max_chunks_sent = extra > 0 ? n : n - 1, .chunks = n};
}

}  // namespace weft
