#include "collectives/algorithms/parameter_server.hpp"

#include <algorithm>

namespace weft {

namespace {

// The worker that server c hears of first: the server itself where it is one.
Rank first_of(const Servers& shape, int c) { return static_cast<Rank>(std::int64_t{c} * shape.workers / shape.servers); }

bool beside(const Servers& shape) { return shape.hosts == ServerHosts::extra; }

}  // namespace

std::string_view name_of(ServerHosts hosts) { return hosts == ServerHosts::extra ? "extra" : "workers"; }

Rank server_of(const Servers& shape, int c) { return beside(shape) ? shape.workers + c : first_of(shape, c); }

Schedule parameter_server_allreduce(const Servers& shape) {
  const int n = shape.workers, extra = beside(shape) ? shape.servers : 0;
  Schedule s{.name = "parameter_server_allreduce",
             .collective = Collective::allreduce,
             .ranks = n + extra,
             .chunks = shape.servers,
             .servers = extra};
  // By distance: no two servers hear from the same worker at the same place of the order. What a server on a host of its own
  // hears first begins the sum; another begins with its own.
  s.channels = {Steps(n + extra > 1 ? 2 : 0, [shape, n, extra](int k, Step& step) {
    for (int d = extra > 0 ? 0 : 1; d < n; ++d)
      for (int c = 0; c < shape.servers; ++c) {
        const Rank server = server_of(shape, c), worker = mod(first_of(shape, c) + d, n);
        if (k == 1)
          step.copy({.from = server, .to = worker, .chunk = c});
        else if (d == 0)
          step.copy({.from = worker, .to = server, .chunk = c});
        else
          step.reduce({.from = worker, .to = server, .chunk = c});
      }
  })};
  return s;
}

Cost parameter_server_allreduce_cost(const Servers& shape) {
  const int n = shape.workers, k = shape.servers;
  if (beside(shape)) return {.steps = 2, .messages = std::int64_t{2} * k * n, .max_chunks_sent = std::max(k, n), .chunks = k};
  return {.steps = n > 1 ? 2 : 0, .messages = std::int64_t{2} * k * (n - 1), .max_chunks_sent = n > 1 ? k + n - 2 : 0, .chunks = k};
}

}  // namespace weft
