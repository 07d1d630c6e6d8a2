// The worlds of the transports.
#pragma once

#include "collectives/bench/settings.hpp"
#include "collectives/bench/world.hpp"
#include "collectives/tcp_socket.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::bench {

std::unique_ptr<World> threads_world(const Settings&);
std::unique_ptr<World> tcp_world(const Settings&, Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener);

// Starts MPI, runs this process's rank and ends MPI. If the run fails, prints why and ends all ranks.
int run_mpi(const Settings&, const std::function<int(World&, const Settings&)>& run);

}  // namespace weft::bench
