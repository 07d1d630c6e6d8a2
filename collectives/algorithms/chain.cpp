#include "collectives/algorithms/chain.hpp"

namespace weft {

Schedule chain_broadcast(const Rooted& at) {
  Schedule s{.name = "chain_broadcast", .collective = Collective::broadcast, .ranks = at.ranks};
  s.channels = {Steps(at.ranks - 1, [](int k, Step& step) { step.copy({.from = k, .to = k + 1, .chunk = 0}); })};
  return rooted_at(s, at.root);
}

Schedule chain_reduce(const Rooted& at) {
  const int n = at.ranks;
  Schedule s{.name = "chain_reduce", .collective = Collective::reduce, .ranks = n};
  s.channels = {Steps(n - 1, [n](int k, Step& step) { step.reduce({.from = n - 1 - k, .to = n - 2 - k, .chunk = 0}); })};
  return rooted_at(s, at.root);
}

Cost chain_broadcast_cost(int n) { return {.steps = n - 1, .messages = n - 1, .max_chunks_sent = n > 1 ? 1 : 0, .chunks = 1}; }

Cost chain_reduce_cost(int n) { return chain_broadcast_cost(n); }

}  // namespace weft
