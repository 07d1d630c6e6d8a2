// Where only one address is known beforehand: rank 0 listens there, every other rank opens a port and tells it, and all learn all
// addresses. Both sides prove that they know the job's secret, as on every connection (tcp_hello.hpp).
#pragma once

#include "collectives/transports/tcp.hpp"

#include <string>
#include <vector>

namespace weft {

struct Rendezvous {
  std::vector<std::string> addresses;  // of all ranks
  TcpListener own;                     // at this rank's
};

// `settings` are those of the TcpWorld that comes after. Throws RunError where a rank does not come, and names it.
Rendezvous tcp_rendezvous(Rank rank, int ranks, const std::string& meeting, const TcpSettings& settings);

}  // namespace weft
