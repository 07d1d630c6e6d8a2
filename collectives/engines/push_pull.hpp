// What BytePS (Jiang et al., OSDI 2020) does with one partition of a gradient.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <vector>

namespace weft {

// The GPUs of a machine reduce a share of the partition each, push it to the parameter server, pull the sum, and gather the shares.
// `machines`: by worker, the number of the machine that it sits on, from 0; any number of workers on each. The server is the last rank.
// Of machines of one GPU each: 2 steps, a worker sends the partition once; of g GPUs: 4 steps, a worker sends 2(g-1)/g of the
// partition inside its machine and 1/g to the server. On one machine nothing is pushed, as in BytePS where DMLC_NUM_WORKER is 1.
Schedule push_pull(const std::vector<int>& machines);

}  // namespace weft
