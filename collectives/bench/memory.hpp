// How much memory a run may ask for, said before it is asked for.
#pragma once

#include "collectives/bench/settings.hpp"

#include <cstdint>

namespace weft::bench {

// Of this machine, or of the control group that this process is in where that may have less.
std::int64_t memory_bytes();

// Of so many ranks, those that run on this machine as far as this process knows.
int ranks_of_this_machine(const Settings&, int all);

// Throws InputError where so many ranks with so many bytes of data each are more than this machine can hold.
void require_memory(int ranks, std::int64_t bytes_each, std::int64_t machine_bytes = memory_bytes());

}  // namespace weft::bench
