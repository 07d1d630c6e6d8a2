#include "collectives/algorithms/fold.hpp"
#include "collectives/libraries/mpi.hpp"

namespace weft {
namespace {

// A straight line of ranks over bytes, on one side of which an algorithm is the faster.
struct RanksOverSize {
  double ranks_per_byte, ranks_of_none;
  double at(Bytes size) const { return ranks_per_byte * static_cast<double>(size.count) + ranks_of_none; }
};

MpiChoice allreduce_of_4_0(const MpiQuestion& q) {
  if (q.size < Bytes{10'000}) return {"recursive_doubling"};
  return {q.size.count > 4 * std::int64_t{q.ranks} ? "ring" : "two_level"};
}

MpiChoice reduce_scatter_of_4_0(const MpiQuestion& q) {
  constexpr RanksOverSize halving{0.0012, 8};
  const bool small = q.size <= 12_KiB || (q.size <= 256_KiB && is_power_of_two(q.ranks));
  return {small || q.ranks >= halving.at(q.size) ? "halving_doubling" : "ring"};
}

MpiChoice allgather_of_4_0(const MpiQuestion& q) {
  if (q.size < Bytes{50'000}) return {is_power_of_two(q.ranks) ? "recursive_doubling" : "bruck"};
  return {q.ranks % 2 == 1 ? "ring" : "neighbour_exchange"};
}

MpiChoice broadcast_of_4_0(const MpiQuestion& q) {
  constexpr RanksOverSize of_128{1.6134e-6, 2.1102}, of_64{2.3679e-6, 1.1787}, of_16{3.2118e-6, 8.7936};
  if (q.size < 2_KiB) return {"binomial_tree_at_once"};
  if (q.size < Bytes{370'728}) return {"binary_tree", 1_KiB};
  if (q.ranks < of_128.at(q.size)) return {"chain", 128_KiB};
  if (q.ranks < 13) return {"binary_tree", 8_KiB};
  if (q.ranks < of_64.at(q.size)) return {"chain", 64_KiB};
  return {"chain", q.ranks < of_16.at(q.size) ? 16_KiB : 8_KiB};
}

MpiChoice reduce_of_4_0(const MpiQuestion& q) {
  constexpr RanksOverSize binomial{0.6016 / 1024, 1.3496}, pipeline{0.0410 / 1024, 9.7128}, binary{0.0422 / 1024, 1.1614},
      shorter{0.0033 / 1024, 1.6761};
  if (q.ranks < 8 && q.size < 512_B) return {"direct"};
  if (q.size < 2_KiB || (q.ranks < 8 && q.size < 20_KiB)) return {"neighbour_tree"};
  if (q.ranks > binomial.at(q.size)) return {"neighbour_tree", 1_KiB};
  if (q.ranks > pipeline.at(q.size)) return {"chain", 1_KiB};
  if (q.ranks > binary.at(q.size)) return {"binary_tree", 32_KiB};
  return {"chain", q.ranks > shorter.at(q.size) ? 32_KiB : 64_KiB};
}

MpiChoice alltoall_of_4_0(const MpiQuestion& q) {
  const std::int64_t block = q.size.count / q.ranks;
  if (q.ranks == 2) return {"pairwise"};
  if (block < 200 && q.ranks > 12) return {"bruck"};
  return {block < 3000 ? "direct" : "pairwise"};
}

}  // namespace

MpiChoice open_mpi_4_0_choice(const MpiQuestion& q) {
  switch (q.collective) {
    case Collective::allreduce:
      return allreduce_of_4_0(q);
    case Collective::reduce_scatter:
      return reduce_scatter_of_4_0(q);
    case Collective::allgather:
      return allgather_of_4_0(q);
    case Collective::broadcast:
      return broadcast_of_4_0(q);
    case Collective::reduce:
      return reduce_of_4_0(q);
    case Collective::alltoall:
      return alltoall_of_4_0(q);
    case Collective::barrier:
      break;
  }
  return {"dissemination"};
}

}  // namespace weft
