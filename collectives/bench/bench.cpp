#include "collectives/bench/bench.hpp"

#include "collectives/bench/measure.hpp"
#include "collectives/bench/run_local.hpp"
#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/table.hpp"
#include "collectives/bench/udp_run.hpp"
#include "collectives/bench/worlds/worlds.hpp"
#include "collectives/transports/job_secret.hpp"
#include "kernels/base/error.hpp"
#include "kernels/standard_output.hpp"
#if WEFT_HAVE_CUDA
#include "collectives/transports/cuda/executor.hpp"
#endif

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include <fmt/format.h>

namespace weft::bench {
namespace {

// This process's part of a run. Returns its exit status.
template <class AnyWorld>
int run(AnyWorld& world, const Settings& settings) {
  Table table(std::cout, settings);
  bool begun = false;
  const auto begin_once = [&] {
    if (!std::exchange(begun, true)) table.header(world);
  };
  const auto begin = [&](const std::string& algorithm) {
    begin_once();
    table.begin(algorithm);
  };
  measure(world, settings,
          {.note = [&](const std::string& text) { begin_once(), table.note(text); },
           .begin = begin,
           .row = [&](const Row& row) { table.row(row); },
           .traces = [&](const auto& clocks, const auto& runs) { write_trace(settings.trace, settings, clocks, runs); }});
  if (begun) table.footer();
  return table.wrong() > 0 ? 1 : 0;
}

void print_error(const std::string& text) { std::fputs(("weft bench: " + text + "\n").c_str(), stderr); }

#if WEFT_HAVE_CUDA
template <class AnyWorld>
int run_on_devices(AnyWorld& world, const Settings& settings) {
  try {
    return run(world, settings);
  } catch (const cuda::StuckError& e) {  // what the devices may still use is not freed; nor would the runtime's own end come
    print_error(e.what());
    std::fflush(nullptr);
    std::_Exit(1);
  }
}

int run_on_gpus(std::unique_ptr<StreamWorld> world, Settings settings) {
  settings.ranks = ranks_among(world->ranks(), settings, "the GPUs run");
  return run_on_devices(*world, settings);
}
#endif

// One rank of tcp or mpi, `local_rank` of those of this machine.
int run_host_rank(World& world, const Settings& settings, int local_rank) {
#if WEFT_HAVE_CUDA
  if (settings.on_gpu) return run_on_devices(*staged_rank(settings, world, local_rank), settings);
#endif
  static_cast<void>(local_rank);
  return run(world, settings);
}

#if WEFT_HAVE_NCCL
int run_nccl(const Settings& settings) {
  const auto run_rank = [](World& meeting, const Settings& s, int local_rank) {
    const std::unique_ptr<World> world = nccl_rank(s, meeting, local_rank);
    return run_on_devices(*world, s);
  };
  if (!settings.one_of_several()) {
    if (!settings.compression) return run_on_gpus(nccl_world(settings), settings);
    // What is sent follows from the data, so each rank's host goes along: in a process of its own.
    Settings s = settings;
    if (s.ranks == 0) s.ranks = devices_seen_by_a_child();
    return run_local_processes(s, [&](Rank rank, const std::vector<std::string>& addresses, const TcpListener& own) {
      return run_rank(*tcp_world(s, rank, addresses, own), s, rank);
    });
  }
#if WEFT_HAVE_MPI
  if (settings.hosts.empty() && settings.meeting.empty())
    return run_mpi(settings, [&](World& meeting, const Settings& s) { return run_rank(meeting, s, settings.launch->local_rank); });
#endif
  const Met met = meet_by_tcp(settings);
  const bool said = settings.launch && settings.launch->local_rank >= 0;
  return run_rank(*met.world, settings, said ? settings.launch->local_rank : met.local_rank);
}
#endif

#if WEFT_HAVE_MPI
int run_mpi_rank(World& world, const Settings& settings) {
  const auto launch = launched_by_mpirun_or_srun(own_environment());
  return run_host_rank(world, settings, launch && launch->local_rank >= 0 ? launch->local_rank : world.here().front());
}
#endif

int run_udp(const Settings& settings) {
  const auto run = [&](int node, const std::vector<std::string>& addresses, const UdpSockets& own) {
    return run_udp_node(settings, node, addresses, own);
  };
  if (settings.hosts.empty()) return run_udp_here(settings, run);
  return run(settings.rank, settings.hosts, UdpSockets::at(settings.hosts[static_cast<std::size_t>(settings.rank)]));
}

int finished(int status) {
  finish_standard_output();
  return status;
}

int run_transport(const Settings& settings) {
  if (settings.transport == "udp") return run_udp(settings);
  if (settings.transport == "threads") return run(*threads_world(settings), settings);
#if WEFT_HAVE_MPI
  if (settings.transport == "mpi") return run_mpi(settings, run_mpi_rank);
#endif
#if WEFT_HAVE_CUDA
  if (settings.transport == "cuda") return run_on_gpus(cuda_world(settings), settings);
#endif
#if WEFT_HAVE_NCCL
  if (settings.transport == "nccl") return run_nccl(settings);
#endif
  if (settings.one_of_several()) {
    const Met met = meet_by_tcp(settings);
    return run_host_rank(*met.world, settings, met.local_rank);
  }
  return run_local_processes(settings, [&](Rank rank, const std::vector<std::string>& addresses, const TcpListener& own) {
    return run_host_rank(*tcp_world(settings, rank, addresses, own), settings, rank);
  });
}

}  // namespace

int bench_main(int argc, const char* const* argv) {
  try {
    auto settings = parse(argc, argv);
    if (!settings) return finished(0);
    if (!settings->compare.empty())
      throw InputError(
          "--compare: there is no simulator in this program; use `weft bench` of a build with the simulator (WEFT_SIMULATOR=ON)");
    if (!settings->one_of_several()) settings->secret = random_secret();
    return finished(run_transport(*settings));
  } catch (const InputError& e) {
    for (const std::string& problem : e.problems()) print_error(problem);
    return 2;
  } catch (const std::bad_alloc&) {
    print_error("this process got no more memory; fewer ranks (-n) or a smaller largest size (-e) need less");
    return 1;
  } catch (const std::exception& e) {
    print_error(e.what());
    return 1;
  }
}

}  // namespace weft::bench
