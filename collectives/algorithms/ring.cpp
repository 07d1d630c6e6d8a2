#include "collectives/algorithms/ring.hpp"

#include "collectives/schedule/compose.hpp"
#include "collectives/schedule/repeated_steps.hpp"

namespace weft {
namespace {

// Every rank passes a chunk on, the first time chunk (rank + ahead), and from then on the one it was handed the time before.
RepeatedStep once_round(int n, int ahead, bool reduces) {
  RepeatedStep step{.times = n - 1, .block = n, .turn = -1};
  for (int r = 0; r < n; ++r) {
    const Transfer t{.from = r, .to = mod(r + 1, n), .chunk = mod(r + ahead, n)};
    reduces ? step.first.reduce(t) : step.first.copy(t);
  }
  return step;
}

}  // namespace

Schedule ring_allreduce(int n) {
  Schedule s{.name = "ring_allreduce", .collective = Collective::allreduce, .ranks = n, .chunks = n};
  // Reduce-scatter: every rank passes on the chunk it last touched; rank r ends owning the sum of chunk r + 1. All-gather: the same walk,
  // copying.
  s.channels = {repeated_steps(n, n, {once_round(n, 0, true), once_round(n, 1, false)})};
  return rotating(s);
}

Schedule ring_reduce_scatter(int n) {
  Schedule s{.name = "ring_reduce_scatter", .collective = Collective::reduce_scatter, .ranks = n, .chunks = n};
  s.channels = {repeated_steps(n, n, {once_round(n, -1, true)})};
  return rotating(s);
}

Schedule ring_allgather(int n) {
  Schedule s{.name = "ring_allgather", .collective = Collective::allgather, .ranks = n, .chunks = n};
  s.channels = {repeated_steps(n, n, {once_round(n, 0, false)})};
  return rotating(s);
}

Cost ring_allreduce_cost(int n) {
  return {.steps = 2 * (n - 1), .messages = std::int64_t{2} * n * (n - 1), .max_chunks_sent = 2 * (n - 1), .chunks = n};
}

Cost ring_reduce_scatter_cost(int n) {
  return {.steps = n - 1, .messages = std::int64_t{n} * (n - 1), .max_chunks_sent = n - 1, .chunks = n};
}

Cost ring_allgather_cost(int n) { return ring_reduce_scatter_cost(n); }

}  // namespace weft
