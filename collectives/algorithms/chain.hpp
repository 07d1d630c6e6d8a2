// Rank after rank: the cheapest way to move a long message once it is cut into pieces (compose.hpp: pipelined).
#pragma once

#include "collectives/algorithms/binomial_tree.hpp"
#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Chain broadcast: the root starts, each rank passes the message on to the next. Any n >= 1.
// Steps n-1; n-1 messages; each rank but the last sends the message once.
Schedule chain_broadcast(const Rooted& at);
Cost chain_broadcast_cost(int n);

// Chain reduce: the rank before the root starts, each adds its own. The same cost.
Schedule chain_reduce(const Rooted& at);
Cost chain_reduce_cost(int n);

}  // namespace weft
