#include "collectives/algorithms/fold.hpp"
#include "collectives/libraries/mpi.hpp"

namespace weft {
namespace {

// As many elements of 4 bytes as ranks that halve among themselves.
bool has_one_for_each_rank(const MpiQuestion& q) { return q.size.count >= std::int64_t{4} << floor_log2(q.ranks); }

bool may_double(const MpiQuestion& q) { return q.size < 512_KiB && is_power_of_two(q.ranks); }

bool is_short_broadcast(const MpiQuestion& q) { return q.size < 12_KiB || q.ranks < 8; }

// Where no host has two of the ranks.
std::string_view flat_choice(const MpiQuestion& q) {
  const bool halves = q.size > 2_KiB && has_one_for_each_rank(q);
  const std::int64_t block = q.size.count / q.ranks;
  switch (q.collective) {
    case Collective::allreduce:
      return halves ? "halving_doubling" : "recursive_doubling";
    case Collective::reduce_scatter:
      return q.size < 512_KiB ? "halving_doubling" : "pairwise";
    case Collective::allgather:
      return may_double(q) ? "recursive_doubling" : q.size < 80_KiB && !is_power_of_two(q.ranks) ? "bruck" : "ring";
    case Collective::broadcast:
      return is_short_broadcast(q) ? "binomial_tree" : may_double(q) ? "scatter_doubling" : "scatter_allgather";
    case Collective::reduce:
      return halves ? "halving_gather" : "binomial_tree";
    case Collective::alltoall:
      return block <= 256 && q.ranks >= 8 ? "bruck" : block <= 32 * 1024 ? "direct" : "pairwise";
    case Collective::barrier:
      break;
  }
  return "dissemination";
}

bool goes_by_leaders(const MpiQuestion& q) {
  switch (q.collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::barrier:
      return true;
    case Collective::broadcast:
      return is_short_broadcast(q) || may_double(q);
    case Collective::reduce_scatter:
    case Collective::allgather:
    case Collective::alltoall:
      break;
  }
  return false;
}

bool has_leaders(const MpiQuestion& q) { return q.group > 1 && q.group < q.ranks; }

}  // namespace

MpiChoice mpich_choice(const MpiQuestion& q) {
  if (!has_leaders(q) || !goes_by_leaders(q)) return {flat_choice(q)};
  MpiQuestion leaders = q, host = q;
  leaders.ranks = q.ranks / q.group;
  host.ranks = q.group;
  const auto on_host = [&](Collective collective) {
    host.collective = collective;
    const std::string_view chosen = flat_choice(host);
    return chosen == "binomial_tree" ? std::string_view{} : chosen;  // two_level's own
  };
  MpiChoice out{.algorithm = "two_level", .inner = flat_choice(leaders)};
  if (q.collective == Collective::allreduce || q.collective == Collective::reduce) out.up = on_host(Collective::reduce);
  if (q.collective == Collective::allreduce || q.collective == Collective::broadcast) out.down = on_host(Collective::broadcast);
  return out;
}

MpiChoice intel_mpi_choice(const MpiQuestion& q) {
  if (has_leaders(q) && q.collective == Collective::allreduce && q.size < 12_KiB)
    return {.algorithm = "two_level", .inner = "recursive_doubling"};
  if (has_leaders(q) && q.collective == Collective::broadcast) return {.algorithm = "two_level", .inner = "binomial_tree"};
  return mpich_choice(q);
}

}  // namespace weft
