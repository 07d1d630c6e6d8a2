// What NCCL expects of its algorithms when it chooses among them: the rates of the channels that its search finds, the most that it has
// measured of one, and the table that it prints with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=TUNING.
//
// Source: NVIDIA NCCL 2.28.9, src/graph/search.cc (ncclTopoCompute, ncclTopoDupChannels and the arrays of speeds) and src/graph/tuning.cc
// (ncclTunerConstantsDefaults, nvlsEfficiency, getNetOverhead, ncclTopoTuneModel, ncclTopoGetAlgoTime). Checked against what that version
// printed of 49 clusters (validation/data/nccl_expectation).
#pragma once

#include "models/nccl_tuning.hpp"

namespace weft {

enum class GpuGeneration { volta, ampere, hopper, blackwell };
// By what the NVLinks of a GPU carry each way: NCCL counts on 120 GB/s of V100, 240 of A100, 370 of H100 and 720 of B200. What has none is
// taken for Ampere, whose speeds it shares with Volta.
GpuGeneration generation_of(const NcclQuestion& question);

// What the search finds: channels of one rate between servers, and inside them of one rate, which is the larger one where a tree can use
// more. GB/s of each channel.
struct NcclChannels {
  int count = 0;
  double outside = 0, inside = 0;
};
// Of rings, trees and CollNet's chains. It doubles them before a call takes any.
NcclChannels channels_found(const NcclQuestion& question);

// What NCCL expects of a regime: microseconds, and GB/s of the message. Of an all-to-all, among whose algorithms it does not choose, what
// it would of a ring.
struct NcclExpectation {
  double latency_us = 0;
  double rate = 0;
};
NcclExpectation expected_by_nccl(const NcclQuestion& question, const Regime& regime);

// What NCCL expects a call to take, as it runs at `regime.of_rate` of that rate.
SimTime expected_time(const NcclQuestion& question, const Regime& regime, Bytes size);

// What is left of the rate of a ring or a tree between servers, whose channels get no more than NCCL has measured of one.
double part_of_channels(const NcclQuestion& question, const Regime& regime);

}  // namespace weft
