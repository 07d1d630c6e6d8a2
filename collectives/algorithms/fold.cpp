#include "collectives/algorithms/fold.hpp"

#include "collectives/schedule/compose.hpp"
#include "kernels/base/error.hpp"

namespace weft {

int floor_log2(int n) {
  int log = 0;
  while ((n >> log) > 1) ++log;
  return log;
}

int ceil_log2(int n) { return n <= 1 ? 0 : floor_log2(n - 1) + 1; }

bool is_power_of_two(int n) { return n >= 1 && (n & (n - 1)) == 0; }

Schedule folded(const Schedule& inner, int n) {
  const int p = inner.ranks;
  const int extra = n - p;
  check(p == 1 << floor_log2(n), "{} ranks cannot be folded onto {}", n, p);
  if (extra == 0) return inner;

  // Ranks 0..2*extra-1 are the pairs: the even one takes, the odd one waits.
  std::vector<Rank> takes_part;
  for (int q = 0; q < p; ++q) takes_part.push_back(q < extra ? 2 * q : q + extra);

  Schedule fold = inner;
  fold.ranks = n;
  fold.extra_chunks = 0;
  Schedule unfold = fold;
  fold.channels = {Steps(1, [=](int, Step& step) {
    for (int i = 0; i < extra; ++i) step.reduce({.from = 2 * i + 1, .to = 2 * i, .chunk = 0, .count = inner.chunks});
  })};
  unfold.channels = {Steps(1, [=](int, Step& step) {
    for (int i = 0; i < extra; ++i) step.copy({.from = 2 * i, .to = 2 * i + 1, .chunk = 0, .count = inner.chunks});
  })};
  return then(then(fold, over(inner, takes_part, n)), unfold);
}

Cost folded_cost(const Cost& inner, int n) {
  const int extra = n - (1 << floor_log2(n));
  if (extra == 0) return inner;
  return {.steps = inner.steps + 2,
          .messages = inner.messages + 2 * extra,
          .max_chunks_sent = inner.max_chunks_sent + inner.chunks,
          .chunks = inner.chunks};
}

}  // namespace weft
