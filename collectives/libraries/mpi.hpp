// Which algorithm an MPI library runs for a collective, number of ranks and size, when nobody says one.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

enum class MpiLibrary : std::uint8_t { open_mpi, open_mpi_4_0, mpich, intel_mpi };
inline constexpr std::array mpi_libraries = {MpiLibrary::open_mpi, MpiLibrary::open_mpi_4_0, MpiLibrary::mpich, MpiLibrary::intel_mpi};
std::string_view name_of(MpiLibrary);
// Whether its rules know which ranks share a host.
constexpr bool leads_hosts(MpiLibrary library) { return library == MpiLibrary::mpich || library == MpiLibrary::intel_mpi; }

struct MpiQuestion {
  Collective collective = Collective::allreduce;
  int ranks = 1;
  Bytes size{0};  // Weft's: of an all-gather and an all-to-all the whole message
  int group = 0;  // ranks of a host, side by side; 0: one, or not known
};

// A name of the registry, and what stands beside it.
struct MpiChoice {
  std::string_view algorithm;
  Bytes segment{0};               // 0: uncut
  std::string_view inner{};       // of two_level: among the leaders of hosts; empty: all ranks are one group, up and down one tree
  std::string_view up{}, down{};  // of two_level: to the leader of a host and from it; empty: binomial_tree
  friend bool operator==(const MpiChoice&, const MpiChoice&) = default;
};

// For sums, which commute, of elements of 4 bytes; reduce_scatter is MPI_Reduce_scatter. Where the registry has no such algorithm, the
// nearest:
//   nonoverlapping (a reduce, then a broadcast), linear and tree barrier: two_level with all ranks in one group
//   segmented_ring: ring, as it is without segments; a ring of fewer elements than ranks is recursive_doubling there, too
//   recursive_halving and butterfly: halving_doubling
//   split_binary_tree, in-order_binary: binary_tree (the first sends each half of the message down one of two subtrees)
//   recursive_doubling of an all-gather: of no power of two bruck; of a barrier: dissemination (two steps fewer then)
//   linear_sync and two_proc: direct and what two ranks do anyway; scattered (32 messages at a time): direct
MpiChoice mpi_choice(MpiLibrary library, const MpiQuestion& q);

// The fixed decision rules of Open MPI's component `tuned` (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c). From 4.1.0 to 5.0.9, tables
// by ranks and size; no message is cut into segments.
MpiChoice open_mpi_choice(const MpiQuestion& q);
// Before, from 1.8 to 4.0.7: a few limits, of broadcasts and reduces straight lines of ranks over size, with segments.
MpiChoice open_mpi_4_0_choice(const MpiQuestion& q);
// MPICH's (src/mpi/coll/*.c of 3.2, and the same limits in maint/tuning/coll/*/generic.json of 3.4 to 4.3; Thakur, Rabenseifner & Gropp
// 2005), from which Cray MPICH, Intel MPI and MVAPICH are made, each with rules of its own. Several hosts of several ranks each do most
// collectives with a leader on each host.
MpiChoice mpich_choice(const MpiQuestion& q);
// Intel publishes no rules. On 2 to 32 hosts of 36 ranks (AWS c5n, Oracle) all-reduces and broadcasts take what a leader on each host takes
// with recursive doubling, or a binomial tree, among the leaders; all-reduces from between 8 and 16 KiB on reduce by halves in each host.
// The rest is MPICH's.
MpiChoice intel_mpi_choice(const MpiQuestion& q);

}  // namespace weft
