// Parameter servers: workers push gradients to those that keep the parameters, and pull the sum back.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

#include <cstdint>
#include <string_view>

namespace weft {

enum class ServerHosts {
  workers,  // some workers are servers too
  extra,    // servers have hosts of their own: ranks behind the workers
};
std::string_view name_of(ServerHosts);

struct Servers {
  int workers = 1;
  int servers = 1;  // at least 1; on the hosts of workers at most as many as these
  ServerHosts hosts = ServerHosts::workers;
};

// The rank that keeps part c. Among the workers servers stand evenly, and so in different racks where ranks are in order.
Rank server_of(const Servers& shape, int c);

// Synchronous push and pull. One server is the N to 1 of Li et al., OSDI 2014; on workers as many servers as these is the
// N to N that BytePS (Jiang et al., OSDI 2020) makes of co-located servers, and the same exchange as direct all-reduce; on
// extra hosts it is BytePS with the CPU machines of the cluster: a worker sends the message once. Any n >= 1 workers.
// Steps 2 and, of k chunks for k servers:
//   on workers      2k(n-1) messages; each server sends k-1 + n-1 chunks
//   on extra hosts  2kn messages; a worker sends k chunks, a server n
Schedule parameter_server_allreduce(const Servers& shape);
Cost parameter_server_allreduce_cost(const Servers& shape);

}  // namespace weft
