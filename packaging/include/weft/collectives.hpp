// What a program gets of Weft by find_package(weft COMPONENTS collectives): schedules, their proofs, and what runs them for real.
#pragma once

#include "collectives/executors/blocking.hpp"     // runs a rank of a schedule over a transport
#include "collectives/executors/transport.hpp"    // what carries bytes between ranks: derive one of your own
#include "collectives/registry/registry.hpp"      // algorithms by name, and one's own beside them
#include "collectives/schedule/compose.hpp"       // remap, then, over, channels, pipelined
#include "collectives/schedule/schedule.hpp"      // what an algorithm is
#include "collectives/schedule/verify.hpp"        // proves that a schedule does what its collective says, and counts its traffic
#include "collectives/transports/on_threads.hpp"  // all ranks in this process
#include "collectives/transports/tcp.hpp"         // each rank a process, on any host
#include "collectives/transports/threads.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"
#include "kernels/dtype.hpp"
