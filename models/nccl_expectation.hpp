// What NCCL expects of its algorithms when it chooses among them: the rates of the channels that its search finds between servers, and the
// most that it has measured of one.
//
// Source: NVIDIA NCCL 2.28, src/graph/search.cc (ncclTopoCompute, ncclTopoDupChannels and the arrays of speeds) and src/graph/tuning.cc
// (llMaxBws, perChMaxRingLL128Bws, perChMaxTreeLL128Bws, perChMaxTreeBws).
#pragma once

#include "models/nccl_tuning.hpp"

namespace weft {

enum class GpuGeneration { volta, ampere, hopper, blackwell };
// By what the NVLinks of a GPU carry each way: NCCL counts on 120 GB/s of V100, 240 of A100, 370 of H100 and 720 of B200. What has none is
// taken for Ampere, whose speeds it shares with Volta.
GpuGeneration generation_of(const NcclQuestion& question);

// What the search finds: channels of one rate between servers, and inside them of one rate, which is the larger one where a tree of two
// servers can use more. GB/s of each channel.
struct NcclChannels {
  int count = 0;  // 0: there is one server
  double outside = 0, inside = 0;
};
NcclChannels channels_found(const NcclQuestion& question);

// What nccl_estimate is asked for the expectation: a profile and a question with the rates of these channels.
struct NcclExpectation {
  HardwareProfile profile;
  NcclQuestion question;
};
NcclExpectation expected_by_nccl(const NcclQuestion& question, const Regime& regime);

// What is left of the rate of a ring or a tree between servers, whose channels get no more than NCCL has measured of one.
double part_of_channels(const NcclQuestion& question, const Regime& regime);

}  // namespace weft
