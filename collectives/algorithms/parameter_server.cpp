#include "collectives/algorithms/parameter_server.hpp"

#include "collectives/compose.hpp"

namespace weft {

Rank server_of(const Servers& shape, int c) { return static_cast<Rank>(std::int64_t{c} * shape.ranks / shape.servers); }

Schedule parameter_server_allreduce(const Servers& shape) {
  const int n = shape.ranks;
  Schedule s{.name = "parameter_server_allreduce", .collective = Collective::allreduce, .ranks = n, .chunks = shape.servers};
  // By distance from the server: no two servers hear from the same worker at the same place of the order.
  s.channels = {Steps(n > 1 ? 2 : 0, [shape, n](int k, Step& step) {
    for (int d = 1; d < n; ++d)
      for (int c = 0; c < shape.servers; ++c) {
        const Rank server = server_of(shape, c), worker = mod(server + d, n);
        if (k == 0)
          step.reduce({.from = worker, .to = server, .chunk = c});
        else
          step.copy({.from = server, .to = worker, .chunk = c});
      }
  })};
  return s;
}

Price parameter_server_allreduce_price(const Servers& shape) {
  const int n = shape.ranks, k = shape.servers;
  return {.steps = n > 1 ? 2 : 0, .messages = std::int64_t{2} * k * (n - 1), .max_chunks_sent = n > 1 ? k + n - 2 : 0, .chunks = k};
}

}  // namespace weft
