// The connections of one rank to all others, made and introduced to each other.
#pragma once

#include "collectives/transports/tcp.hpp"

#include <vector>

namespace weft {

struct TcpMesh {
  std::vector<Socket> control;                         // of each peer; the rank's own is not open
  std::vector<std::vector<std::vector<Socket>>> data;  // of each channel, peer and connection
};

// Callers who are not of the job are refused and forgotten: they cost nobody time. Throws RunError where a rank does not come,
// or one that knows the job's secret runs something else.
TcpMesh tcp_meet(Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener, const TcpSettings& settings);

}  // namespace weft
