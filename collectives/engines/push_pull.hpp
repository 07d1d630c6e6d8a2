// What BytePS (Jiang et al., OSDI 2020) does with one partition of a gradient.
#pragma once

#include "collectives/schedule/schedule.hpp"

namespace weft {

// The GPUs of a machine reduce a share of the partition each, push it to the parameter server, pull the sum, and gather the shares.
// The server is the last rank. Of machines of one GPU each: 2 steps, a worker sends the partition once; of g GPUs: 4 steps, a
// worker sends 2(g-1)/g of the partition inside its machine and 1/g to the server. `workers` is a multiple of `gpus`.
Schedule push_pull(int workers, int gpus);

}  // namespace weft
