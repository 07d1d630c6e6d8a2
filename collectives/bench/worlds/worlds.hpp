// The worlds of the transports.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/worlds/stream_world.hpp"
#include "collectives/bench/worlds/world.hpp"
#include "collectives/transports/tcp_socket.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::bench {

std::unique_ptr<World> threads_world(const Settings&);
std::unique_ptr<World> tcp_world(const Settings&, Rank rank, const std::vector<std::string>& addresses, const TcpListener& listener);

// This process's rank, beside those of other processes: of --hosts, or found by --meeting.
struct Met {
  std::unique_ptr<World> world;
  int local_rank = 0;  // of those whose addresses have the same host
};
Met meet_by_tcp(const Settings&);

// On the GPUs of this machine: several ranks may share one with cuda; with nccl each has its own, and 0 ranks are as many as
// there are. Throw InputError where that cannot be.
std::unique_ptr<StreamWorld> cuda_world(const Settings&);
std::unique_ptr<StreamWorld> nccl_world(const Settings&);
// One rank of NCCL on its GPU; the ranks find each other, and talk, by `meeting`, which must stay. Throws InputError where there are
// fewer GPUs than ranks on this machine, unless each process is shown but one.
std::unique_ptr<World> nccl_rank(const Settings&, World& meeting, int local_rank);
// How many GPUs are visible, asked for by a process of its own: one that has used CUDA may start no others that do. Throws InputError if
// none is.
int devices_seen_by_a_child();

// One rank of tcp or mpi whose data lie on a GPU of this machine, of which ranks take one after another; `world` and settings must stay.
std::unique_ptr<World> staged_rank(const Settings&, World& world, int local_rank);

// Starts MPI, runs this process's rank and ends MPI. If the run fails, prints why and ends all ranks.
int run_mpi(const Settings&, const std::function<int(World&, const Settings&)>& run);

}  // namespace weft::bench
