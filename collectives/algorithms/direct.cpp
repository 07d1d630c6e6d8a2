#include "collectives/algorithms/direct.hpp"

#include "collectives/schedule/compose.hpp"

namespace weft {

// The loops go by distance: no two ranks write to the same one at the same place of the order.

Schedule direct_reduce_scatter(int n) {
  Schedule s{.name = "direct_reduce_scatter", .collective = Collective::reduce_scatter, .ranks = n, .chunks = n};
  s.channels = {Steps(n > 1 ? 1 : 0, [n](int, Step& step) {
    for (int d = 1; d < n; ++d)
      for (int r = 0; r < n; ++r) step.reduce({.from = r, .to = mod(r + d, n), .chunk = mod(r + d, n)});
  })};
  return rotating(s);
}

Schedule direct_allgather(int n) {
  Schedule s{.name = "direct_allgather", .collective = Collective::allgather, .ranks = n, .chunks = n};
  s.channels = {Steps(n > 1 ? 1 : 0, [n](int, Step& step) {
    for (int d = 1; d < n; ++d)
      for (int r = 0; r < n; ++r) step.copy({.from = r, .to = mod(r + d, n), .chunk = r});
  })};
  return rotating(s);
}

Schedule direct_allreduce(int n) {
  Schedule s = then(direct_reduce_scatter(n), direct_allgather(n));
  s.name = "direct_allreduce";
  s.collective = Collective::allreduce;
  return rotating(s);
}

Schedule direct_reduce(const Rooted& at) {
  const int n = at.ranks;
  Schedule s{.name = "direct_reduce", .collective = Collective::reduce, .ranks = n};
  s.channels = {Steps(n > 1 ? 1 : 0, [n](int, Step& step) {
    for (int r = 1; r < n; ++r) step.reduce({.from = r, .to = 0, .chunk = 0});
  })};
  return rooted_at(s, at.root);
}

Schedule direct_broadcast(const Rooted& at) {
  const int n = at.ranks;
  Schedule s{.name = "direct_broadcast", .collective = Collective::broadcast, .ranks = n};
  s.channels = {Steps(n > 1 ? 1 : 0, [n](int, Step& step) {
    for (int r = 1; r < n; ++r) step.copy({.from = 0, .to = r, .chunk = 0});
  })};
  return rooted_at(s, at.root);
}

Schedule direct_alltoall(int n) {
  Schedule s{.name = "direct_alltoall", .collective = Collective::alltoall, .ranks = n, .chunks = n, .extra_chunks = n};
  s.channels = {Steps(1, [n](int, Step& step) {
    for (int d = 0; d < n; ++d)
      for (int r = 0; r < n; ++r) step.copy({.from = r, .to = mod(r + d, n), .chunk = mod(r + d, n), .into = n + r});
  })};
  return s;
}

Cost direct_reduce_scatter_cost(int n) {
  return {.steps = n > 1 ? 1 : 0, .messages = std::int64_t{n} * (n - 1), .max_chunks_sent = n - 1, .chunks = n};
}

Cost direct_allgather_cost(int n) { return direct_reduce_scatter_cost(n); }

Cost direct_allreduce_cost(int n) {
  return {.steps = n > 1 ? 2 : 0, .messages = std::int64_t{2} * n * (n - 1), .max_chunks_sent = 2 * (n - 1), .chunks = n};
}

Cost direct_reduce_cost(int n) { return {.steps = n > 1 ? 1 : 0, .messages = n - 1, .max_chunks_sent = n > 1 ? 1 : 0, .chunks = 1}; }

Cost direct_broadcast_cost(int n) { return {.steps = n > 1 ? 1 : 0, .messages = n - 1, .max_chunks_sent = n - 1, .chunks = 1}; }

Cost direct_alltoall_cost(int n) { return {.steps = 1, .messages = std::int64_t{n} * (n - 1), .max_chunks_sent = n - 1, .chunks = n}; }

}  // namespace weft
