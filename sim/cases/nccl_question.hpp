// What NCCL asks its tuning model about a call of a scenario.
#pragma once

#include "collectives/registry/registry.hpp"
#include "models/nccl_tuning.hpp"
#include "sim/cases/sized.hpp"

namespace weft {

// `settings` are with those that follow from the servers (with_server_defaults). Its size makes no difference.
NcclQuestion nccl_question(const SizedQuestion& q, const AlgorithmSettings& settings);

}  // namespace weft
