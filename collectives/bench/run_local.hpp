// All ranks of a tcp run on this machine, each a process of its own.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/transports/tcp_socket.hpp"

#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

// Returns its exit status.
using RunRank = std::function<int(Rank, const std::vector<std::string>& addresses, const TcpListener& own)>;

// The largest exit status of all ranks. Throws RunError, or InputError, with what they said, each thing once.
int run_local_processes(const Settings&, const RunRank&);

}  // namespace weft::bench
