#include "collectives/bench/run_local.hpp"

#include "collectives/bench/worlds/processes.hpp"

#include <fmt/format.h>

namespace weft::bench {

int run_local_processes(const Settings& settings, const RunRank& run) {
  std::vector<TcpListener> listeners;
  std::vector<std::string> addresses, names;
  for (Rank r = 0; r < settings.with_servers(); ++r) {
    listeners.emplace_back("127.0.0.1:0");
    addresses.push_back(listeners.back().address());
    names.push_back(fmt::format("rank {}", r));
  }
  return run_processes(names, settings.patience, [&](Rank r) { return run(r, addresses, listeners[static_cast<std::size_t>(r)]); });
}

}  // namespace weft::bench
