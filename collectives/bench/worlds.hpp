// The worlds of the transports.
#pragma once

#include "collectives/bench/settings.hpp"
#include "collectives/bench/stream_world.hpp"
#include "collectives/bench/world.hpp"
#include "collectives/transports/tcp_socket.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::bench {

std::unique_ptr<World> threads_world(const Settings&);
std::unique_ptr<World> tcp_world(const Settings&, Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener);

// On the GPUs of this machine: several ranks may share one with cuda; with nccl each has its own, and 0 ranks are as many as
// there are. Throw InputError where that cannot be.
std::unique_ptr<StreamWorld> cuda_world(const Settings&);
std::unique_ptr<StreamWorld> nccl_world(const Settings&);

// Starts MPI, runs this process's rank and ends MPI. If the run fails, prints why and ends all ranks.
int run_mpi(const Settings&, const std::function<int(World&, const Settings&)>& run);

}  // namespace weft::bench
