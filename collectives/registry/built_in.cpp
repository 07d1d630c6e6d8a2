#include "collectives/registry/built_in.hpp"

#include "collectives/algorithms/binomial_tree.hpp"
#include "collectives/algorithms/bruck.hpp"
#include "collectives/algorithms/chain.hpp"
#include "collectives/algorithms/direct.hpp"
#include "collectives/algorithms/dissemination.hpp"
#include "collectives/algorithms/double_binary_tree.hpp"
#include "collectives/algorithms/fold.hpp"
#include "collectives/algorithms/halving_doubling.hpp"
#include "collectives/algorithms/hierarchical_ring.hpp"
#include "collectives/algorithms/knomial_tree.hpp"
#include "collectives/algorithms/neighbour_exchange.hpp"
#include "collectives/algorithms/pairwise.hpp"
#include "collectives/algorithms/parameter_server.hpp"
#include "collectives/algorithms/recursive_doubling.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/algorithms/scatter_allgather.hpp"
#include "collectives/registry/built_in_composed.hpp"
#include "collectives/registry/built_in_nccl.hpp"
#include "collectives/registry/limits.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft {

namespace {

std::string powers_around(int n) {
  const int below = 1 << floor_log2(n);
  return fmt::format("{} or {}", below, std::int64_t{2} * below);
}

void power_of_two(const char* where, int n, Problems& problems) {
  if (n >= 1 && !is_power_of_two(n)) problems.push_back({where, fmt::format("must be a power of two ({}), got {}", powers_around(n), n)});
}

void power_of_two_ranks(const Request& q, Problems& problems) { power_of_two("/ranks", q.ranks, problems); }

void even_ranks(const Request& q, Problems& problems) {
  if (q.ranks % 2 != 0) problems.push_back({"/ranks", fmt::format("must be even, got {}", q.ranks)});
}

void fits_bigraph(const Request& q, Problems& problems) {
  if (!q.bigraph) {
    problems.push_back({"/fabric/type", "hdrm places ranks on a bigraph; on other fabrics use halving_doubling"});
    return;
  }
  const int N = q.bigraph->switches, M = q.bigraph->nodes_per_switch;
  if (N < 2) problems.push_back({"/fabric/switches", fmt::format("hdrm needs at least 2, got {}", N)});
  if (M < 1) problems.push_back({"/fabric/nodes_per_switch", fmt::format("hdrm needs at least 1, got {}", M)});
  if (N < 2 || M < 1) return;
  power_of_two("/fabric/switches", N, problems);
  power_of_two("/fabric/nodes_per_switch", M, problems);
  if (M > N / 2)
    problems.push_back({"/fabric/nodes_per_switch", fmt::format("must be at most switches / 2 = {} for hdrm, got {}", N / 2, M)});
  const std::int64_t nodes = std::int64_t{N} * M;
  if (q.ranks != nodes)
    problems.push_back({"/ranks", fmt::format("hdrm uses every node of the bigraph, {} x {} = {}, got {}", N, M, nodes, q.ranks)});
}

Servers servers_of(const Request& q) {
  return {.workers = q.ranks, .servers = std::max(q.settings.servers, 1), .hosts = q.settings.server_hosts};
}

void servers_are_few(const Request& q, Problems& problems) {
  const Servers s = servers_of(q);
  if (q.settings.servers < 0)
    problems.push_back({"/servers", fmt::format("must be at least 1, got {}", q.settings.servers)});
  else if (s.hosts == ServerHosts::workers && s.servers > q.ranks)
    problems.push_back({"/servers", fmt::format("must be 1 to {}, the ranks, got {}", q.ranks, s.servers)});
  else if (std::int64_t{s.servers} * q.ranks > max_in_one_step * max_in_one_step)
    problems.push_back({"/servers", fmt::format("times ranks must be at most {}, got {}", max_in_one_step * max_in_one_step,
                                                std::int64_t{s.servers} * q.ranks)});
}

Rooted rooted(const Request& q) { return {.ranks = q.ranks, .root = q.root}; }

#define WEFT_OF_RANKS(function) \
  .build = [](const Request& q) { return function(q.ranks); }, .cost = [](const Request& q) { return function##_cost(q.ranks); }
#define WEFT_OF_ROOT(function) \
  .build = [](const Request& q) { return function(rooted(q)); }, .cost = [](const Request& q) { return function##_cost(q.ranks); }

}  // namespace

std::span<const Algorithm> built_in_algorithms() {
  static const std::array all = {
      Algorithm{.name = "ring",
                .collective = Collective::allreduce,
                .description = "Chunks go around a ring of ranks twice, first adding, then copying.",
                .source = "Patarasuk & Yuan 2009",
                .staggers = true,
                .constrain = groups_divide,
                WEFT_OF_RANKS(ring_allreduce)},
      Algorithm{.name = "halving_doubling",
                .collective = Collective::allreduce,
                .description = "Pairs at distance 1, 2, 4, ... exchange halves of what they work on, then gather in mirror image.",
                .source = "Rabenseifner 2004; order of Dong et al. 2020 (EFLOPS)",
                WEFT_OF_RANKS(halving_doubling_allreduce)},
      Algorithm{.name = "hdrm",
                .collective = Collective::allreduce,
                .description = "Halving-doubling with ranks placed on a BiGraph so that no link between switches carries two flows.",
                .source = "Dong et al. 2020 (EFLOPS)",
                .constrain = fits_bigraph,
                .build = [](const Request& q) { return hdrm_allreduce(*q.bigraph); },
                .cost = [](const Request& q) { return hdrm_allreduce_cost(*q.bigraph); }},
      Algorithm{.name = "recursive_doubling",
                .collective = Collective::allreduce,
                .description = "Pairs at distance 1, 2, 4, ... exchange their whole sums; fewest steps, for small messages.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                WEFT_OF_RANKS(recursive_doubling_allreduce)},
      Algorithm{.name = "hierarchical_ring",
                .collective = Collective::allreduce,
                .description = "Reduce-scatter inside groups, a ring across groups for each shard, all-gather inside.",
                .source = "Mikami et al. 2018",
                .takes_group = true,
                .constrain = groups_divide,
                .build = [](const Request& q) { return hierarchical_ring_allreduce(groups_of(q)); },
                .cost = [](const Request& q) { return hierarchical_ring_allreduce_cost(groups_of(q)); }},
      Algorithm{.name = "double_binary_tree",
                .collective = Collective::allreduce,
                .description = "Two complementary binary trees, each for half of the message; wants several pieces.",
                .source = "Sanders, Speck & Traeff 2009",
                .wants_pieces = true,
                WEFT_OF_RANKS(double_binary_tree_allreduce)},
      Algorithm{.name = "direct",
                .collective = Collective::allreduce,
                .description = "Every rank reduces its own chunk: all send to its owner, the owner sends to all.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                .max_ranks = max_in_one_step,
                WEFT_OF_RANKS(direct_allreduce)},
      Algorithm{
          .name = "parameter_server",
          .collective = Collective::allreduce,
          .description = "Every rank pushes its data to servers, among the ranks or on extra hosts, which add it up, and pulls the sum.",
          .source = "Li et al. 2014; Jiang et al. 2020 (BytePS)",
          .takes_servers = true,
          .constrain = servers_are_few,
          .build = [](const Request& q) { return parameter_server_allreduce(servers_of(q)); },
          .cost = [](const Request& q) { return parameter_server_allreduce_cost(servers_of(q)); }},
      two_level_algorithm(Collective::allreduce),
      mpi_algorithm(Collective::allreduce),
      nccl_algorithm(Collective::allreduce),
      Algorithm{.name = "ring",
                .collective = Collective::reduce_scatter,
                .description = "Chunks go around a ring of ranks once, adding.",
                .source = "Patarasuk & Yuan 2009",
                WEFT_OF_RANKS(ring_reduce_scatter)},
      Algorithm{.name = "halving_doubling",
                .collective = Collective::reduce_scatter,
                .description =
                    "Pairs at distance p/2, ..., 2, 1 exchange halves of what they work on, p being the largest power of two in the ranks.",
                .source = "Rabenseifner 2004",
                .can_be_cut = false,
                WEFT_OF_RANKS(halving_doubling_reduce_scatter)},
      Algorithm{.name = "direct",
                .collective = Collective::reduce_scatter,
                .description = "Everybody sends every block to its owner at once.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                .max_ranks = max_in_one_step,
                WEFT_OF_RANKS(direct_reduce_scatter)},
      Algorithm{.name = "pairwise",
                .collective = Collective::reduce_scatter,
                .description = "Everybody sends to one rank at a time its part of that rank's block: first to the next one.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                WEFT_OF_RANKS(pairwise_reduce_scatter)},
      mpi_algorithm(Collective::reduce_scatter),
      nccl_algorithm(Collective::reduce_scatter),
      Algorithm{.name = "ring",
                .collective = Collective::allgather,
                .description = "Blocks go around a ring of ranks once.",
                .source = "Patarasuk & Yuan 2009",
                WEFT_OF_RANKS(ring_allgather)},
      Algorithm{.name = "recursive_doubling",
                .collective = Collective::allgather,
                .description = "Pairs at distance 1, 2, 4, ... exchange all they have gathered.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                .can_be_cut = false,
                .constrain = power_of_two_ranks,
                WEFT_OF_RANKS(recursive_doubling_allgather)},
      Algorithm{.name = "bruck",
                .collective = Collective::allgather,
                .description = "Every rank sends all it has to the rank 1, 2, 4, ... before it; any number of ranks. In place: what passes "
                               "the end of the message is a second one.",
                .source = "Bruck et al. 1997",
                .can_be_cut = false,
                WEFT_OF_RANKS(bruck_allgather)},
      Algorithm{.name = "direct",
                .collective = Collective::allgather,
                .description = "Everybody sends its block to everybody at once.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                .max_ranks = max_in_one_step,
                WEFT_OF_RANKS(direct_allgather)},
      Algorithm{.name = "neighbour_exchange",
                .collective = Collective::allgather,
                .description = "Neighbours on the left and on the right by turns exchange the two blocks that came last.",
                .source = "Chen et al. 2005",
                .can_be_cut = false,
                .constrain = even_ranks,
                WEFT_OF_RANKS(neighbour_exchange_allgather)},
      two_level_algorithm(Collective::allgather),
      mpi_algorithm(Collective::allgather),
      nccl_algorithm(Collective::allgather),
      Algorithm{.name = "binomial_tree",
                .collective = Collective::broadcast,
                .description = "Whoever has the message sends it on: twice as many ranks at every step.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                WEFT_OF_ROOT(binomial_tree_broadcast)},
      Algorithm{.name = "binomial_tree_at_once",
                .collective = Collective::broadcast,
                .description = "As binomial_tree, but whoever has the message sends it to all its children at the same time.",
                .source = "Open MPI",
                WEFT_OF_ROOT(binomial_tree_at_once_broadcast)},
      Algorithm{.name = "scatter_allgather",
                .collective = Collective::broadcast,
                .description = "The root scatters blocks along a binomial tree, a ring gathers them everywhere; for long messages.",
                .source = "Barnett et al. 1994",
                WEFT_OF_ROOT(scatter_allgather_broadcast)},
      Algorithm{.name = "chain",
                .collective = Collective::broadcast,
                .description = "Each rank passes the message to the next; wants many pieces.",
                .source = "Barnett et al. 1994",
                .wants_pieces = true,
                WEFT_OF_ROOT(chain_broadcast)},
      Algorithm{.name = "neighbour_tree",
                .collective = Collective::broadcast,
                .description = "A binomial tree in which the farthest ranks are sent to first and neighbours last.",
                .source = "arXiv 2021 (gs-SGD)",
                WEFT_OF_ROOT(neighbour_tree_broadcast)},
      Algorithm{.name = "direct",
                .collective = Collective::broadcast,
                .description = "The root sends the message to everybody at once.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                .max_ranks = max_in_one_step,
                WEFT_OF_ROOT(direct_broadcast)},
      Algorithm{.name = "knomial_tree",
                .collective = Collective::broadcast,
                .description =
                    "Whoever has the message sends it to all its children at the same time: to three for each digit (base 4) of the ranks.",
                .source = "Thakur, Rabenseifner & Gropp 2005 (of radix 2); Open MPI",
                WEFT_OF_ROOT(knomial_tree_broadcast)},
      Algorithm{.name = "binary_tree",
                .collective = Collective::broadcast,
                .description = "Each rank passes the message to two others.",
                .source = "Pjesivac-Grbovic et al. 2007",
                WEFT_OF_ROOT(binary_tree_broadcast)},
      Algorithm{.name = "scatter_doubling",
                .collective = Collective::broadcast,
                .description = "The root scatters blocks along a binomial tree, recursive doubling gathers them everywhere.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                WEFT_OF_ROOT(scatter_doubling_broadcast)},
      two_level_algorithm(Collective::broadcast),
      mpi_algorithm(Collective::broadcast),
      nccl_algorithm(Collective::broadcast),
      Algorithm{.name = "binomial_tree",
                .collective = Collective::reduce,
                .description = "Half of the ranks hand their sums to the other half at every step.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                WEFT_OF_ROOT(binomial_tree_reduce)},
      Algorithm{.name = "reduce_scatter_gather",
                .collective = Collective::reduce,
                .description = "A ring reduces blocks, a binomial tree gathers them at the root; for long messages.",
                .source = "Rabenseifner 2004",
                WEFT_OF_ROOT(reduce_scatter_gather_reduce)},
      Algorithm{.name = "chain",
                .collective = Collective::reduce,
                .description = "Each rank adds its data and passes the sum to the one before; wants many pieces.",
                .source = "Barnett et al. 1994",
                .wants_pieces = true,
                WEFT_OF_ROOT(chain_reduce)},
      Algorithm{.name = "neighbour_tree",
                .collective = Collective::reduce,
                .description = "A binomial tree in which neighbours pair up first, then their pairs.",
                .source = "arXiv 2021 (gs-SGD)",
                WEFT_OF_ROOT(neighbour_tree_reduce)},
      Algorithm{.name = "direct",
                .collective = Collective::reduce,
                .description = "Everybody sends the message to the root at once, as to a parameter server.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                .max_ranks = max_in_one_step,
                WEFT_OF_ROOT(direct_reduce)},
      Algorithm{.name = "binary_tree",
                .collective = Collective::reduce,
                .description = "Each rank adds what two others hand it and passes the sum on.",
                .source = "Pjesivac-Grbovic et al. 2007",
                WEFT_OF_ROOT(binary_tree_reduce)},
      Algorithm{.name = "halving_gather",
                .collective = Collective::reduce,
                .description = "Recursive halving reduces blocks, a binomial tree gathers them at the root.",
                .source = "Rabenseifner 2004; Thakur, Rabenseifner & Gropp 2005",
                .can_be_cut = false,
                .build = [](const Request& q) { return halving_gather_reduce(rooted(q)); }},
      two_level_algorithm(Collective::reduce),
      mpi_algorithm(Collective::reduce),
      nccl_algorithm(Collective::reduce),
      Algorithm{.name = "direct",
                .collective = Collective::alltoall,
                .description = "Everybody sends to everybody at once.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                .max_ranks = max_in_one_step,
                WEFT_OF_RANKS(direct_alltoall)},
      Algorithm{.name = "pairwise",
                .collective = Collective::alltoall,
                .description = "Everybody sends to one rank at a time, the next one, then the one after it, and so on.",
                .source = "Thakur, Rabenseifner & Gropp 2005",
                WEFT_OF_RANKS(pairwise_alltoall)},
      Algorithm{.name = "bruck",
                .collective = Collective::alltoall,
                .description = "Blocks travel their distance bit by bit, packed into one message a step; for small messages.",
                .source = "Bruck et al. 1997",
                .can_be_cut = false,
                .max_ranks = max_in_one_step,
                WEFT_OF_RANKS(bruck_alltoall)},
      mpi_algorithm(Collective::alltoall),
      nccl_algorithm(Collective::alltoall),
      Algorithm{.name = "dissemination",
                .collective = Collective::barrier,
                .description = "Every rank tells the rank 1, 2, 4, ... further on what it has heard.",
                .source = "Hensgen, Finkel & Manber 1988",
                .can_be_cut = false,
                WEFT_OF_RANKS(dissemination_barrier)},
      two_level_algorithm(Collective::barrier),
      mpi_algorithm(Collective::barrier),
  };
  return all;
}

#undef WEFT_OF_RANKS
#undef WEFT_OF_ROOT

}  // namespace weft
