#include "collectives/algorithms/built_in.hpp"

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
#include "collectives/algorithms/nccl_reduce.hpp"
#include "collectives/algorithms/neighbour_exchange.hpp"
#include "collectives/algorithms/pairwise.hpp"
#include "collectives/algorithms/parameter_server.hpp"
#include "collectives/algorithms/recursive_doubling.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/algorithms/scatter_allgather.hpp"
#include "collectives/algorithms/two_level.hpp"
#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace weft {

namespace {

using Problems = std::vector<Problem>;

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

std::string divisors_of(int n) {
  std::vector<int> divisors;
  for (int d = 1; d <= n; ++d)
    if (n % d == 0) divisors.push_back(d);
  return fmt::format("{}", fmt::join(divisors, ", "));
}

void groups_divide(const Request& q, Problems& problems) {
  const int g = q.settings.group;
  if (q.ranks < 1) return;
  if (g == 0 && find_algorithm(q.collective, q.algorithm)->staggers) return;
  if (g == 0)
    problems.push_back({"/group", fmt::format("{} needs the ranks of a group: one of {}", q.algorithm, divisors_of(q.ranks))});
  else if (g < 0 || q.ranks % g != 0)
    problems.push_back({"/group", fmt::format("must divide the {} ranks ({}), got {}", q.ranks, divisors_of(q.ranks), g)});
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

constexpr int most_in_one_step = 4096;  // ranks, where a step has ranks^2 transfers: 400 MB

Servers servers_of(const Request& q) {
  return {.workers = q.ranks, .servers = std::max(q.settings.servers, 1), .hosts = q.settings.server_hosts};
}

void servers_are_few(const Request& q, Problems& problems) {
  const Servers s = servers_of(q);
  if (q.settings.servers < 0)
    problems.push_back({"/servers", fmt::format("must be at least 1, got {}", q.settings.servers)});
  else if (s.hosts == ServerHosts::workers && s.servers > q.ranks)
    problems.push_back({"/servers", fmt::format("must be 1 to {}, the ranks, got {}", q.ranks, s.servers)});
  else if (std::int64_t{s.servers} * q.ranks > most_in_one_step * most_in_one_step)
    problems.push_back({"/servers", fmt::format("times ranks must be at most {}, got {}", most_in_one_step * most_in_one_step,
                                                std::int64_t{s.servers} * q.ranks)});
}

NcclShape nccl_shape(const Request& q) {
  const AlgorithmSettings& s = q.settings;
  return {.ranks = q.ranks,
          .gpus = s.group == 0 ? 1 : s.group,
          .nics = s.nics == 0 ? 1 : s.nics,
          .channels = channels_of(s),
          .pieces = pieces_of(s),
          .orders = q.orders,
          .pxn = s.pxn.value_or(false)};
}

bool is_collnet(NcclAlgorithm a) { return a == NcclAlgorithm::collnet_direct || a == NcclAlgorithm::collnet_chain; }

bool in_one_server(const Request& q) { return std::max(q.settings.group, 1) == q.ranks; }

// Where the chunks of a channel, or of a head, do not follow one another by themselves.
bool has_pieces(const Request& q) {
  const NcclAlgorithm a = q.settings.nccl;
  return a == NcclAlgorithm::tree || a == NcclAlgorithm::nvls_tree || is_collnet(a) || (a == NcclAlgorithm::nvls && !in_one_server(q));
}

void fits_switches(const Request& q, Problems& problems) {
  const NcclAlgorithm a = q.settings.nccl;
  const std::string ranks = fmt::format("these are {} ranks in servers of {}", q.ranks, std::max(q.settings.group, 1));
  const auto problem = [&](std::string what) { problems.push_back({"/algorithm", std::move(what)}); };
  if ((is_collnet(a) || a == NcclAlgorithm::nvls_tree) && in_one_server(q))
    problem(fmt::format("{} adds between servers; these are {} ranks in one", name_of(a), q.ranks));
  else if (is_collnet(a) && !q.sharp)
    problem(fmt::format("{} adds in the switches between servers, which do so only where the fabric has \"sharp\"", name_of(a)));
  else if (a == NcclAlgorithm::nvls && !in_one_server(q) && !q.sharp)
    problem(fmt::format("nvls adds in the NVSwitch of one server, and between servers only where the fabric has \"sharp\"; {}", ranks));
}

void fits_servers(const Request& q, Problems& problems) {
  const int g = q.settings.group, nics = q.settings.nics;
  if (q.ranks < 1) return;
  if (g < 0 || (g > 0 && q.ranks % g != 0))
    problems.push_back({"/group", fmt::format("must divide the {} ranks ({}), got {}", q.ranks, divisors_of(q.ranks), g)});
  else if (nics < 0 || nics > std::max(g, 1))
    problems.push_back({"/nics", fmt::format("must be 1 to {}, the GPUs of a server, got {}", std::max(g, 1), nics)});
  fits_switches(q, problems);
  if (!has_pieces(q) && q.settings.nccl != NcclAlgorithm::automatic && pieces_of(q.settings) > 1 && q.collective != Collective::broadcast &&
      q.collective != Collective::reduce)
    problems.push_back(
        {"/pieces", fmt::format("must be 1 for rings and nvls, whose chunks follow one another already, got {}", q.settings.pieces)});
}

void only_rings(const Request& q, Problems& problems) {
  fits_servers(q, problems);
  if (q.settings.nccl != NcclAlgorithm::ring && q.settings.nccl != NcclAlgorithm::automatic)
    problems.push_back(
        {"/algorithm", fmt::format("NCCL's {} is of allreduce; {} is done by a ring", name_of(q.settings.nccl), name_of(q.collective))});
}

Schedule nccl_allreduce(const Request& q) {
  const NcclShape shape = nccl_shape(q);
  switch (q.settings.nccl) {
    case NcclAlgorithm::tree:
      return nccl_tree_allreduce(shape);
    case NcclAlgorithm::nvls:
      return in_one_server(q) ? nccl_nvls_allreduce(shape) : nccl_collnet_direct_allreduce(shape);
    case NcclAlgorithm::nvls_tree:
      return nccl_nvls_tree_allreduce(shape);
    case NcclAlgorithm::collnet_direct:
      return nccl_collnet_direct_allreduce(shape);
    case NcclAlgorithm::collnet_chain:
      return nccl_collnet_chain_allreduce(shape);
    case NcclAlgorithm::automatic:
    case NcclAlgorithm::ring:
      break;
  }
  return nccl_ring_allreduce(shape);
}

Price nccl_allreduce_price(const Request& q) {
  const NcclShape shape = nccl_shape(q);
  switch (q.settings.nccl) {
    case NcclAlgorithm::tree:
      return nccl_tree_allreduce_price(shape);
    case NcclAlgorithm::nvls:
      return in_one_server(q) ? nccl_nvls_allreduce_price(shape) : nccl_collnet_direct_allreduce_price(shape);
    case NcclAlgorithm::nvls_tree:
      return nccl_nvls_tree_allreduce_price(shape);
    case NcclAlgorithm::collnet_direct:
      return nccl_collnet_direct_allreduce_price(shape);
    case NcclAlgorithm::collnet_chain:
      return nccl_collnet_chain_allreduce_price(shape);
    case NcclAlgorithm::automatic:
    case NcclAlgorithm::ring:
      break;
  }
  return nccl_ring_allreduce_price(shape);
}

// Rings are not cut into pieces: their chunks follow one another already.
template <Schedule (*function)(const NcclShape&)>
Schedule nccl_once(const Request& q) {
  return function(nccl_shape(q));
}
Price nccl_once_price(const Request& q) { return nccl_ring_once_price(nccl_shape(q)); }

constexpr Bytes longest{std::numeric_limits<std::int64_t>::max()};

Request mpi_request(const Request& q, Bytes size) {
  const MpiChoice chosen = mpi_choice(library_of(q.settings), {q.collective, q.ranks, size, q.settings.group});
  Request out = q;
  out.algorithm = chosen.algorithm;
  out.settings.library.reset();
  out.settings.segment = chosen.segment;
  out.settings.inner = chosen.inner;
  out.settings.up = chosen.up;
  out.settings.down = chosen.down;
  const bool grouped = find_algorithm(q.collective, out.algorithm)->takes_inner;
  out.settings.group = !grouped ? 0 : chosen.inner.empty() ? q.ranks : q.settings.group;
  return out;
}

// What the leaders do, unless it is said; they are a group no more.
Request two_level_request(const Request& q, Bytes size) {
  Request out = q;
  if (!q.settings.inner.empty()) return out;
  out.settings.inner = open_mpi_choice({q.collective, q.ranks / q.settings.group, size}).algorithm;
  if (out.settings.inner == q.algorithm) out.settings.inner = q.collective == Collective::barrier ? "dissemination" : "recursive_doubling";
  return out;
}

Request request_of_leaders(const Request& q) {
  return {.collective = q.collective,
          .algorithm = two_level_request(q, longest).settings.inner,
          .ranks = q.ranks / q.settings.group,
          .root = q.root / q.settings.group};
}

// What the ranks of a group do to or from its leader, which comes first; nothing where it is two_level's own tree.
Request request_of_group(const Request& q, Collective collective, const std::string& algorithm) {
  return {.collective = collective, .algorithm = algorithm, .ranks = q.settings.group};
}
std::optional<Schedule> in_group(const Request& q, Collective collective, const std::string& algorithm) {
  if (algorithm.empty()) return std::nullopt;
  return build(request_of_group(q, collective, algorithm));
}

void fits_group(const Request& q, const char* where, Collective collective, const std::string& algorithm, Problems& problems) {
  if (algorithm.empty()) return;
  const bool goes_there = q.collective == collective || q.collective == Collective::allreduce;
  const Algorithm* known = find_algorithm(collective, algorithm);
  if (!goes_there)
    problems.push_back(
        {where, fmt::format("two_level {} does no {} in its groups, got \"{}\"", name_of(q.collective), name_of(collective), algorithm)});
  else if (known != nullptr && (known->takes_group || known->takes_servers || known->cuts_itself || known->chooses != nullptr))
    problems.push_back({where, fmt::format("is one algorithm in a group, without groups, servers and channels, got \"{}\"", algorithm)});
  else
    for (const Problem& p : constraints(request_of_group(q, collective, algorithm))) problems.push_back({where, p.what});
}

void fits_leaders(const Request& q, Problems& problems) {
  const std::size_t before = problems.size();
  groups_divide(q, problems);
  if (q.ranks < 1 || problems.size() > before) return;
  fits_group(q, "/up", Collective::reduce, q.settings.up, problems);
  fits_group(q, "/down", Collective::broadcast, q.settings.down, problems);
  if (q.settings.inner.empty()) return;
  const Algorithm* inner = find_algorithm(q.collective, q.settings.inner);
  if (inner != nullptr && (inner->takes_group || inner->takes_servers || inner->chooses != nullptr)) {
    problems.push_back(
        {"/inner", fmt::format("is one algorithm among the leaders, without groups and servers, got \"{}\"", q.settings.inner)});
    return;
  }
  for (const Problem& p : constraints(request_of_leaders(q)))
    problems.push_back({"/inner", p.where == "/algorithm"
                                      ? p.what
                                      : fmt::format("{} of {} leaders: {}", q.settings.inner, q.ranks / q.settings.group, p.what)});
}

Groups groups_of(const Request& q) { return {.ranks = q.ranks, .ranks_per_group = q.settings.group}; }
Rooted rooted(const Request& q) { return {.ranks = q.ranks, .root = q.root}; }

template <Schedule (*function)(const Groups&, const Schedule&)>
Schedule two_level(const Request& q) {
  return function(groups_of(q), build(request_of_leaders(q)));
}
Schedule two_level_allreduce_of(const Request& q) {
  return two_level_allreduce(groups_of(q), in_group(q, Collective::reduce, q.settings.up), build(request_of_leaders(q)),
                             in_group(q, Collective::broadcast, q.settings.down));
}
Schedule two_level_broadcast_of(const Request& q) {
  return two_level_broadcast(groups_of(q), q.root, build(request_of_leaders(q)), in_group(q, Collective::broadcast, q.settings.down));
}
Schedule two_level_reduce_of(const Request& q) {
  return two_level_reduce(groups_of(q), q.root, in_group(q, Collective::reduce, q.settings.up), build(request_of_leaders(q)));
}

constexpr Algorithm two_level_of(Collective collective, std::string_view description, Schedule (*build)(const Request&)) {
  return {.name = "two_level",
          .collective = collective,
          .description = description,
          .source = "Karonis et al. 2000; Luo et al. 2020 (HAN)",
          .can_be_cut = collective != Collective::allgather && collective != Collective::barrier,
          .takes_group = true,
          .takes_inner = true,
          .constrain = fits_leaders,
          .chooses = two_level_request,
          .build = build};
}

void fits_library(const Request& q, Problems& problems) {
  if (q.settings.group == 0) return;
  if (q.settings.library == MpiLibrary::mpich) return groups_divide(q, problems);
  problems.push_back({"/group", fmt::format("is of the library mpich, whose hosts have leaders; {} sees ranks only, got {}",
                                            name_of(library_of(q.settings)), q.settings.group)});
}

constexpr Algorithm mpi_of(Collective collective, int most_ranks = Algorithm{}.most_ranks) {
  return {.name = "mpi",
          .collective = collective,
          .description =
              "What an MPI library runs for the number of ranks and the size: Open MPI, by the fixed rules of its component "
              "tuned, or MPICH.",
          .source = "Open MPI, coll_tuned_decision_fixed.c; MPICH, src/mpi/coll",
          .can_be_cut = false,
          .takes_library = true,
          .most_ranks = most_ranks,
          .constrain = fits_library,
          .chooses = mpi_request,
          .build = [](const Request& q) { return build(mpi_request(q, longest)); },
          .price = [](const Request& q) { return price(mpi_request(q, longest)); }};
}

#define WEFT_OF_RANKS(function) \
  .build = [](const Request& q) { return function(q.ranks); }, .price = [](const Request& q) { return function##_price(q.ranks); }
#define WEFT_OF_ROOT(function) \
  .build = [](const Request& q) { return function(rooted(q)); }, .price = [](const Request& q) { return function##_price(q.ranks); }

const std::array built_in = {
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
              .price = [](const Request& q) { return hdrm_allreduce_price(*q.bigraph); }},
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
              .price = [](const Request& q) { return hierarchical_ring_allreduce_price(groups_of(q)); }},
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
              .most_ranks = most_in_one_step,
              WEFT_OF_RANKS(direct_allreduce)},
    Algorithm{
        .name = "parameter_server",
        .collective = Collective::allreduce,
        .description = "Every rank pushes its data to servers, among the ranks or on extra hosts, which add it up, and pulls the sum.",
        .source = "Li et al. 2014; Jiang et al. 2020 (BytePS)",
        .takes_servers = true,
        .constrain = servers_are_few,
        .build = [](const Request& q) { return parameter_server_allreduce(servers_of(q)); },
        .price = [](const Request& q) { return parameter_server_allreduce_price(servers_of(q)); }},
    two_level_of(Collective::allreduce, "A tree inside each group to its leader, another algorithm among the leaders, the tree back.",
                 two_level_allreduce_of),
    mpi_of(Collective::allreduce),
    Algorithm{.name = "nccl",
              .collective = Collective::allreduce,
              .description = "As NCCL does it: rings on the rails of the NICs, trees between servers with a chain inside each, or sums in "
                             "NVSwitches (NVLS) and in the switches between servers (CollNet, SHARP).",
              .source = "NVIDIA NCCL; Sanders, Speck & Traeff 2009 (trees)",
              .takes_group = true,
              .cuts_itself = true,
              .constrain = fits_servers,
              .build = nccl_allreduce,
              .price = nccl_allreduce_price},
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
              .most_ranks = most_in_one_step,
              WEFT_OF_RANKS(direct_reduce_scatter)},
    mpi_of(Collective::reduce_scatter),
    Algorithm{.name = "nccl",
              .collective = Collective::reduce_scatter,
              .description = "As NCCL does it: rings on the rails of the NICs.",
              .source = "NVIDIA NCCL; Sanders, Speck & Traeff 2009 (trees)",
              .takes_group = true,
              .cuts_itself = true,
              .constrain = only_rings,
              .build = nccl_once<nccl_ring_reduce_scatter>,
              .price = nccl_once_price},
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
              .description = "Every rank sends all it has to the rank 1, 2, 4, ... before it; any number of ranks.",
              .source = "Bruck et al. 1997",
              .can_be_cut = false,
              WEFT_OF_RANKS(bruck_allgather)},
    Algorithm{.name = "direct",
              .collective = Collective::allgather,
              .description = "Everybody sends its block to everybody at once.",
              .source = "Thakur, Rabenseifner & Gropp 2005",
              .most_ranks = most_in_one_step,
              WEFT_OF_RANKS(direct_allgather)},
    Algorithm{.name = "neighbour_exchange",
              .collective = Collective::allgather,
              .description = "Neighbours on the left and on the right by turns exchange the two blocks that came last.",
              .source = "Chen et al. 2005",
              .can_be_cut = false,
              .constrain = even_ranks,
              WEFT_OF_RANKS(neighbour_exchange_allgather)},
    two_level_of(Collective::allgather,
                 "A leader of each group gathers its blocks, the leaders all-gather, and each copies all to its group.",
                 two_level<two_level_allgather>),
    mpi_of(Collective::allgather),
    Algorithm{.name = "nccl",
              .collective = Collective::allgather,
              .description = "As NCCL does it: rings on the rails of the NICs.",
              .source = "NVIDIA NCCL; Sanders, Speck & Traeff 2009 (trees)",
              .takes_group = true,
              .cuts_itself = true,
              .constrain = only_rings,
              .build = nccl_once<nccl_ring_allgather>,
              .price = nccl_once_price},
    Algorithm{.name = "binomial_tree",
              .collective = Collective::broadcast,
              .description = "Whoever has the message sends it on: twice as many ranks at every step.",
              .source = "Thakur, Rabenseifner & Gropp 2005",
              WEFT_OF_ROOT(binomial_tree_broadcast)},
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
              .most_ranks = most_in_one_step,
              WEFT_OF_ROOT(direct_broadcast)},
    Algorithm{.name = "knomial_tree",
              .collective = Collective::broadcast,
              .description = "Whoever has the message sends it to three more: four times as many ranks at every step.",
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
    two_level_of(Collective::broadcast, "Another algorithm among the leaders of groups, then a tree inside each group.",
                 two_level_broadcast_of),
    mpi_of(Collective::broadcast),
    Algorithm{.name = "nccl",
              .collective = Collective::broadcast,
              .description = "As NCCL does it: along the rings, as chains from the root on, in pieces.",
              .source = "NVIDIA NCCL; Sanders, Speck & Traeff 2009 (trees)",
              .takes_group = true,
              .cuts_itself = true,
              .constrain = only_rings,
              .build = [](const Request& q) { return nccl_ring_broadcast(nccl_shape(q), q.root); },
              .price = [](const Request& q) { return nccl_ring_broadcast_price(nccl_shape(q)); }},
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
              .most_ranks = most_in_one_step,
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
    two_level_of(Collective::reduce, "A tree inside each group to its leader, then another algorithm among the leaders.",
                 two_level_reduce_of),
    mpi_of(Collective::reduce),
    Algorithm{.name = "nccl",
              .collective = Collective::reduce,
              .description = "As NCCL does it: along the rings, as chains that end at the root, in pieces.",
              .source = "NVIDIA NCCL; Sanders, Speck & Traeff 2009 (trees)",
              .takes_group = true,
              .cuts_itself = true,
              .constrain = only_rings,
              .build = [](const Request& q) { return nccl_ring_reduce(nccl_shape(q), q.root); },
              .price = [](const Request& q) { return nccl_ring_broadcast_price(nccl_shape(q)); }},
    Algorithm{.name = "direct",
              .collective = Collective::alltoall,
              .description = "Everybody sends to everybody at once.",
              .source = "Thakur, Rabenseifner & Gropp 2005",
              .most_ranks = most_in_one_step,
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
              .most_ranks = most_in_one_step,
              WEFT_OF_RANKS(bruck_alltoall)},
    mpi_of(Collective::alltoall, most_in_one_step),
    Algorithm{.name = "nccl",
              .collective = Collective::alltoall,
              .description = "As NCCL does it: sends and receives between all pairs at once, by way of GPUs on the receivers' rails (PXN).",
              .source = "NVIDIA NCCL; Sanders, Speck & Traeff 2009 (trees)",
              .takes_group = true,
              .cuts_itself = true,
              .most_ranks = most_in_one_step,
              .constrain = only_rings,
              .build = [](const Request& q) { return nccl_alltoall(nccl_shape(q)); },
              .price = [](const Request& q) { return nccl_alltoall_price(nccl_shape(q)); }},
    Algorithm{.name = "dissemination",
              .collective = Collective::barrier,
              .description = "Every rank tells the rank 1, 2, 4, ... further on what it has heard.",
              .source = "Hensgen, Finkel & Manber 1988",
              .can_be_cut = false,
              WEFT_OF_RANKS(dissemination_barrier)},
    two_level_of(Collective::barrier, "A tree inside each group to its leader, another algorithm among the leaders, the tree back.",
                 two_level<two_level_barrier>),
    mpi_of(Collective::barrier),
};

#undef WEFT_OF_RANKS
#undef WEFT_OF_ROOT

}  // namespace

std::span<const Algorithm> built_in_algorithms() { return built_in; }

}  // namespace weft
