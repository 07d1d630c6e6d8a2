// What an algorithm does for a size: the settings that follow from it, and the regime of its messages.
#pragma once

#include "models/hardware.hpp"
#include "sim/scenario/scenario.hpp"

#include <span>
#include <string>

namespace weft {

// What the settings are chosen for.
struct SizedQuestion {
  const Scenario& scenario;         // whose workload's collective and ranks they are
  const HardwareProfile& hardware;  // instead of the scenario's
  const Fabric& fabric;
  std::span<const int> placement;  // rank -> endpoint
  Bytes size;
};

struct SizedChoice {
  AlgorithmChoice choice;
  Regime regime = {};
};

// What is chosen, as a profile's costs by size call it: of nccl with the pattern and the protocol, of mpi the algorithm that it is.
std::string sized_name(const SizedChoice&);

// Whether the schedule of the choice differs from size to size.
bool depends_on_size(const Scenario&, const AlgorithmChoice&);

// nccl: the algorithm and protocol that NCCL expects to be done first, of those not given, and pieces as large as its buffers
// make them, but for a smaller last one. mpi and two_level: the algorithm that MPI runs, of all or among the leaders. Others: pieces of
// `segment`; where neither is given and the algorithm wants them, as many as Hockney's model says are done first.
SizedChoice for_size(const SizedQuestion&, const AlgorithmChoice&);

// That NCCL's own table expects another algorithm or protocol to be done first than the profile's costs say, which takes a quarter less or
// still less; "": they agree, or NCCL does not choose.
std::string said_of_nccl_choice(const SizedQuestion&, const AlgorithmChoice&);

// Why the workload's collective by itself cannot be simulated in the segments that the choice asks for, at the last of the sizes that are
// too large for them; "": it can.
std::string too_many_segments(const Scenario&, const AlgorithmChoice&);

// What a call of this size runs, with what the profile says that such calls cost by their size: the choice as it is where it does not
// depend on the size.
SizedChoice for_call(const SizedQuestion&, const AlgorithmChoice&);

}  // namespace weft
