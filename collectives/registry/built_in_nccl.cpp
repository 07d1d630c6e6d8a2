#include "collectives/registry/built_in_nccl.hpp"

#include "collectives/libraries/nccl_reduce.hpp"
#include "collectives/registry/limits.hpp"

#include <algorithm>

namespace weft {
namespace {

// Of the one with fewest.
int gpus_of_servers(const Request& q) {
  if (q.machines.empty()) return std::max(q.settings.group, 1);
  return static_cast<int>(std::ranges::min_element(q.machines, {}, &std::vector<Rank>::size)->size());
}

}  // namespace

NcclShape nccl_shape(const Request& q) {
  const AlgorithmSettings& s = q.settings;
  return {.ranks = q.ranks,
          .gpus = gpus_of_servers(q),
          .nics = s.nics == 0 ? 1 : s.nics,
          .channels = channels_of(s),
          .pieces = pieces_of(s),
          .orders = q.orders,
          .pxn = s.pxn.value_or(false),
          .machines = q.machines};
}

namespace {

bool is_uneven(const Request& q) {
  return std::ranges::any_of(q.machines, [&](const std::vector<Rank>& m) { return m.size() != q.machines.front().size(); });
}

bool is_collnet(NcclAlgorithm a) { return a == NcclAlgorithm::collnet_direct || a == NcclAlgorithm::collnet_chain; }

bool in_one_server(const Request& q) { return q.machines.empty() ? gpus_of_servers(q) == q.ranks : q.machines.size() == 1; }

// Where the chunks of a channel, or of a head, do not follow one another by themselves.
bool has_pieces(const Request& q) {
  const NcclAlgorithm a = q.settings.nccl;
  return a == NcclAlgorithm::tree || a == NcclAlgorithm::nvls_tree || is_collnet(a) || (a == NcclAlgorithm::nvls && !in_one_server(q));
}

std::string sizes_of_servers(const Request& q) {
  if (!is_uneven(q)) return std::to_string(gpus_of_servers(q));
  std::vector<std::size_t> sizes;
  for (const std::vector<Rank>& m : q.machines) sizes.push_back(m.size());
  return fmt::format("{}", fmt::join(sizes, ", "));
}

void fits_switches(const Request& q, Problems& problems) {
  const NcclAlgorithm a = q.settings.nccl;
  const std::string ranks = fmt::format("these are {} ranks in servers of {}", q.ranks, sizes_of_servers(q));
  const auto problem = [&](std::string what) { problems.push_back({"/algorithm", std::move(what)}); };
  if ((is_collnet(a) || a == NcclAlgorithm::nvls_tree) && in_one_server(q))
    problem(fmt::format("{} adds between servers; these are {} ranks in one", name_of(a), q.ranks));
  else if (is_uneven(q) && (is_collnet(a) || a == NcclAlgorithm::nvls || a == NcclAlgorithm::nvls_tree))
    problem(fmt::format("{} wants as many ranks in each server; {}", name_of(a), ranks));
  else if (is_collnet(a) && !q.sharp)
    problem(fmt::format("{} adds in the switches between servers, which do so only where the fabric has \"sharp\"", name_of(a)));
  else if (a == NcclAlgorithm::nvls && !in_one_server(q) && !q.sharp)
    problem(fmt::format("nvls adds in the NVSwitch of one server, and between servers only where the fabric has \"sharp\"; {}", ranks));
  const bool in_switches = is_collnet(a) || a == NcclAlgorithm::nvls || a == NcclAlgorithm::nvls_tree;
  if (const NcclProtocol p = q.settings.protocol; in_switches && (p == NcclProtocol::ll || p == NcclProtocol::ll128))
    problems.push_back({"/protocol", fmt::format("must be \"simple\" or \"auto\" for {}, which NCCL has with no other, got \"{}\"",
                                                 name_of(a), name_of(p))});
}

void fits_servers(const Request& q, Problems& problems) {
  const int g = q.settings.group, nics = q.settings.nics;
  if (q.ranks < 1) return;
  if (g < 0 || (g > 0 && q.ranks % g != 0))
    problems.push_back({"/group", fmt::format("must divide the {} ranks ({}), got {}", q.ranks, divisors_of(q.ranks), g)});
  else if (nics < 0 || nics > gpus_of_servers(q))
    problems.push_back({"/nics", fmt::format("must be 1 to {}, the GPUs of a server, got {}", gpus_of_servers(q), nics)});
  fits_switches(q, problems);
  const bool is_ring =
      q.collective == Collective::allreduce || q.collective == Collective::allgather || q.collective == Collective::reduce_scatter;
  if (is_ring && !has_pieces(q) && q.settings.nccl != NcclAlgorithm::automatic && pieces_of(q.settings) > 1)
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

Cost nccl_allreduce_cost(const Request& q) {
  const NcclShape shape = nccl_shape(q);
  switch (q.settings.nccl) {
    case NcclAlgorithm::tree:
      return nccl_tree_allreduce_cost(shape);
    case NcclAlgorithm::nvls:
      return in_one_server(q) ? nccl_nvls_allreduce_cost(shape) : nccl_collnet_direct_allreduce_cost(shape);
    case NcclAlgorithm::nvls_tree:
      return nccl_nvls_tree_allreduce_cost(shape);
    case NcclAlgorithm::collnet_direct:
      return nccl_collnet_direct_allreduce_cost(shape);
    case NcclAlgorithm::collnet_chain:
      return nccl_collnet_chain_allreduce_cost(shape);
    case NcclAlgorithm::automatic:
    case NcclAlgorithm::ring:
      break;
  }
  return nccl_ring_allreduce_cost(shape);
}

// Rings are not cut into pieces: their chunks follow one another already.
template <Schedule (*function)(const NcclShape&)>
Schedule nccl_once(const Request& q) {
  return function(nccl_shape(q));
}
Cost nccl_once_cost(const Request& q) { return nccl_ring_once_cost(nccl_shape(q)); }

Algorithm nccl_of(Collective collective, std::string_view description, Schedule (*build)(const Request&), Cost (*cost)(const Request&)) {
  return {.name = "nccl",
          .collective = collective,
          .description = description,
          .source = "NVIDIA NCCL; Sanders, Speck & Traeff 2009 (trees)",
          .takes_group = true,
          .cuts_itself = true,
          .max_ranks = collective == Collective::alltoall ? max_in_one_step : Algorithm{}.max_ranks,
          .constrain = collective == Collective::allreduce ? fits_servers : only_rings,
          .build = build,
          .cost = cost};
}

}  // namespace

Algorithm nccl_algorithm(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return nccl_of(collective,
                     "As NCCL does it: rings on the rails of the NICs, trees between servers with a chain inside each, or "
                     "in-network aggregation by NVSwitches (NVLS) and by the switches between servers (CollNet, SHARP).",
                     nccl_allreduce, nccl_allreduce_cost);
    case Collective::reduce_scatter:
      return nccl_of(collective, "As NCCL does it: rings on the rails of the NICs.", nccl_once<nccl_ring_reduce_scatter>, nccl_once_cost);
    case Collective::allgather:
      return nccl_of(collective, "As NCCL does it: rings on the rails of the NICs.", nccl_once<nccl_ring_allgather>, nccl_once_cost);
    case Collective::broadcast:
      return nccl_of(
          collective, "As NCCL does it: along the rings, as chains from the root on, in pieces.",
          [](const Request& q) { return nccl_ring_broadcast(nccl_shape(q), q.root); },
          [](const Request& q) { return nccl_ring_broadcast_cost(nccl_shape(q)); });
    case Collective::reduce:
      return nccl_of(
          collective, "As NCCL does it: along the rings, as chains that end at the root, in pieces.",
          [](const Request& q) { return nccl_ring_reduce(nccl_shape(q), q.root); },
          [](const Request& q) { return nccl_ring_broadcast_cost(nccl_shape(q)); });
    case Collective::alltoall:
      return nccl_of(
          collective, "As NCCL does it: sends and receives between all pairs at once, by way of GPUs on the receivers' rails (PXN).",
          [](const Request& q) { return nccl_alltoall(nccl_shape(q)); },
          [](const Request& q) { return nccl_alltoall_cost(nccl_shape(q)); });
    default:
      throw InputError(fmt::format("NCCL has no {}", name_of(collective)));
  }
}

}  // namespace weft
