// `weft bench --transport udp`: ranks, parameter servers and switches as processes that exchange datagrams. TCP between all of them
// carries what is not measured: who is there, barriers, results, and why a run ended.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/transports/tcp_socket.hpp"
#include "collectives/transports/udp/udp_socket.hpp"

#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

// Where a node is reached: TCP and UDP have the same number.
struct UdpSockets {
  TcpListener listener;
  UdpSocket socket;

  // At "host:port". Port 0: one that is free for both.
  static UdpSockets at(const std::string& address);
};

// One node's part of a run, its sockets being bound; `places` by node, as "host:port". Worker 0 prints the table. Returns the exit
// status.
int run_udp_node(const Settings& settings, int node, const std::vector<std::string>& addresses, const UdpSockets& own);

// All nodes here, each a process of its own.
using RunNode = std::function<int(int node, const std::vector<std::string>& addresses, const UdpSockets& own)>;
int run_udp_here(const Settings& settings, const RunNode& run);

}  // namespace weft::bench
