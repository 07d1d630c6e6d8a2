// Parameter servers: workers push gradients to the ranks that keep the parameters, and pull the sum back.
#pragma once

#include "collectives/price.hpp"
#include "collectives/schedule.hpp"

namespace weft {

struct Servers {
  int ranks = 1;
  int servers = 1;  // 1 to ranks; they work too
};

// The rank that keeps part c: servers stand evenly among the ranks, and so in different racks where ranks are in order.
Rank server_of(const Servers& shape, int c);

// Synchronous push and pull. One server is the N to 1 of Li et al., OSDI 2014; as many as ranks is the N to N that BytePS
// (Jiang et al., OSDI 2020) makes of co-located servers, and the same exchange as direct all-reduce. Any n >= 1.
// Steps 2; 2k(n-1) messages for k servers; each server sends k-1 + n-1 of k chunks.
Schedule parameter_server_allreduce(const Servers& shape);
Price parameter_server_allreduce_price(const Servers& shape);

}  // namespace weft
