// PyTorch's DistributedDataParallel (Li et al., VLDB 2020), and no engine at all.
#pragma once

#include "collectives/engines/engine_base.hpp"

namespace weft {

// Everything is reduced by one all-reduce after backward: nothing is hidden.
struct NoneSettings {
  friend bool operator==(const NoneSettings&, const NoneSettings&) = default;
};

class NoneEngine final : public EngineBase {
 public:
  NoneEngine(const NoneSettings&, const EngineSetup& setup, EngineHost& host) : EngineBase(setup, host) {}

 private:
  void on_ready(int) override {}
  void on_backward_ended() override;
};

struct DdpSettings {
  Bytes bucket = 25_MiB;       // bucket_cap_mb of DistributedDataParallel
  Bytes first_bucket = 1_MiB;  // _DEFAULT_FIRST_BUCKET_BYTES, so that communication begins early
  friend bool operator==(const DdpSettings&, const DdpSettings&) = default;
};
std::vector<Problem> problems(const DdpSettings&);

// Of gradients that are sent in another type: buckets are filled by the bytes that were computed, and one that is full is converted
// (fp16_compress_hook). `computed` and `on_wire` are the bytes of an element; the limits that are returned are on the wire.
DdpSettings as_sent(DdpSettings settings, Bytes computed, Bytes on_wire);

// The gradients of each bucket, by the reducer's compute_bucket_assignment_by_size: gradients join a bucket in the order in which
// backward brings them until it has reached its limit (which it may so pass); the first has a limit of its own. The reducer
// rebuilds its buckets so after its first iteration.
std::vector<std::vector<int>> ddp_buckets(const DdpSettings& settings, std::span<const Bytes> gradients);

// Buckets are launched in their order, each when all its gradients are ready, on one stream.
class DdpEngine final : public EngineBase {
 public:
  DdpEngine(const DdpSettings& settings, const EngineSetup& setup, EngineHost& host);

 private:
  void on_begin() override;
  void on_ready(int gradient) override;

  std::vector<std::vector<int>> buckets_;
  std::vector<std::size_t> bucket_of_;  // by gradient
  std::vector<std::size_t> missing_;    // gradients of a bucket that are not ready
  std::size_t next_ = 0;                // bucket to launch
};

}  // namespace weft
