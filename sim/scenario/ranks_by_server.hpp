// Which ranks share a server, as NCCL finds out when it begins.
#pragma once

#include "collectives/registry/registry.hpp"
#include "sim/scenario/scenario.hpp"

#include <span>
#include <vector>

namespace weft {

struct RanksByServer {
  int servers = 1;
  int least = 1, most = 1;    // ranks of a server
  bool on_first_gpus = true;  // each server's ranks, on all GPUs up to the last that they are on
  // By server, in the order in which ranks come to them, and there by GPU. Empty: neighbouring ranks share a server, `least` each.
  std::vector<std::vector<Rank>> ranks = {};

  bool is_even() const { return least == most; }
};

// `seats`: by rank its endpoint, of servers with so many GPUs each.
RanksByServer ranks_by_server(std::span<const int> seats, int gpus);

// Of the ranks that reduce together, where the scenario's placement puts them; each by itself where the placement has problems.
RanksByServer ranks_by_server(const Scenario&);

// For settings of nccl: by the servers, or neighbours where "group" says something else.
RanksByServer ranks_by_server(const Scenario&, const AlgorithmSettings&);

// Of ranks on these endpoints.
Placement listed(std::span<const int> seats);

}  // namespace weft
