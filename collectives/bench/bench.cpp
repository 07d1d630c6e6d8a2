#include "collectives/bench/bench.hpp"

#include "collectives/bench/measure.hpp"
#include "collectives/bench/run_local.hpp"
#include "collectives/bench/settings.hpp"
#include "collectives/bench/table.hpp"
#include "collectives/bench/worlds.hpp"
#include "kernels/error.hpp"

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include <fmt/format.h>

namespace weft::bench {
namespace {

// This process's part of a run. Returns its exit status.
int run(World& world, const Settings& settings) {
  Table table(std::cout, settings);
  bool begun = false;
  const auto begin = [&](const std::string& algorithm) {
    if (!std::exchange(begun, true)) table.header(std::string(world.library()));
    table.begin(algorithm);
  };
  measure(world, settings,
          {.begin = begin,
           .row = [&](const Row& row) { table.row(row); },
           .traces = [&](const auto& clocks, const auto& runs) { write_trace(settings.trace, settings, clocks, runs); }});
  if (begun) table.footer();
  return table.wrong() > 0 ? 1 : 0;
}

int run_transport(const Settings& settings) {
  if (settings.transport == "threads") return run(*threads_world(settings), settings);
#if WEFT_HAVE_MPI
  if (settings.transport == "mpi") return run_mpi(settings, run);
#endif
  if (!settings.hosts.empty())
    return run(*tcp_world(settings, settings.rank, settings.hosts, TcpListener(settings.hosts[static_cast<std::size_t>(settings.rank)])),
               settings);
  return run_local_processes(settings, [&](Rank rank, const std::vector<std::string>& addresses, const TcpListener& own) {
    return run(*tcp_world(settings, rank, addresses, own), settings);
  });
}

void print_error(const std::string& text) { std::fputs(("weft bench: " + text + "\n").c_str(), stderr); }

}  // namespace

int bench_main(int argc, const char* const* argv) {
  try {
    const auto settings = parse(argc, argv);
    return settings ? run_transport(*settings) : 0;
  } catch (const InputError& e) {
    for (const std::string& problem : e.problems()) print_error(problem);
    return 2;
  } catch (const std::exception& e) {
    print_error(e.what());
    return 1;
  }
}

}  // namespace weft::bench
