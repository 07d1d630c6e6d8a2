#include "collectives/algorithms/recursive_doubling.hpp"

#include "collectives/algorithms/fold.hpp"
#include "kernels/base/error.hpp"

namespace weft {

Schedule recursive_doubling_allreduce(int n) {
  const int L = floor_log2(n), p = 1 << L;
  Schedule s{.name = "recursive_doubling_allreduce", .collective = Collective::allreduce, .ranks = p, .chunks = 1};
  s.channels = {Steps(L, [p](int k, Step& step) {
    for (int r = 0; r < p; ++r) step.reduce({.from = r, .to = r ^ 1 << k, .chunk = 0});
  })};
  return folded(s, n);
}

Schedule recursive_doubling_allgather(int n) {
  check(is_power_of_two(n), "recursive doubling of an all-gather needs a power of two, got {} ranks", n);
  Schedule s{.name = "recursive_doubling_allgather", .collective = Collective::allgather, .ranks = n, .chunks = n};
  s.channels = {Steps(floor_log2(n), [n](int k, Step& step) {
    const int have = 1 << k;  // rank r has the blocks of the aligned group of this size that it is in
    for (int r = 0; r < n; ++r) step.copy({.from = r, .to = r ^ have, .chunk = r / have * have, .count = have});
  })};
  // The groups stay the groups when all ranks and blocks flip the same bit.
  for (int bit = 1; bit < n; bit *= 2) {
    const auto flipped = [bit](int i) { return i ^ bit; };
    s.channels.front().declare({.rank = flipped, .chunk = flipped});
  }
  return s;
}

Cost recursive_doubling_allreduce_cost(int n) {
  const int L = floor_log2(n), p = 1 << L;
  return folded_cost({.steps = L, .messages = std::int64_t{p} * L, .max_chunks_sent = L, .chunks = 1}, n);
}

Cost recursive_doubling_allgather_cost(int n) {
  const int L = floor_log2(n);
  return {.steps = L, .messages = std::int64_t{n} * L, .max_chunks_sent = n - 1, .chunks = n};
}

}  // namespace weft
