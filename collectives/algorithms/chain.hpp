// Rank after rank: the cheapest way to move a long message once it is cut into pieces (compose.hpp: pipelined).
#pragma once

#include "collectives/algorithms/binomial_tree.hpp"
#include "collectives/schedule/price.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Chain broadcast: the root starts, each rank passes the message on to the next. Any n >= 1.
// Steps n-1; n-1 messages; each rank but the last sends the message once.
Schedule chain_broadcast(const Rooted& at);
Price chain_broadcast_price(int n);

// Chain reduce: the rank before the root starts, each adds its own. The same price.
Schedule chain_reduce(const Rooted& at);
Price chain_reduce_price(int n);

}  // namespace weft
