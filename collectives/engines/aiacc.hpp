// AIACC-Training (Lin et al., ICDCS 2022): many all-reduces at once, agreed upon without a master.
#pragma once

#include "collectives/engines/bit_agreement.hpp"
#include "collectives/engines/engine_base.hpp"

namespace weft {

struct AiaccSettings {
  Bytes granularity = 8_MiB;   // of a unit, and what must become ready here to ask the others; tuned in the paper, ours is a start
  int streams = 8;             // all-reduces at once; the paper's tuner chose 2 to 24
  std::string algorithm = {};  // "ring" or "hierarchical_ring" (the paper's tree); empty: the workload's
  AgreementAlgorithm agreement = AgreementAlgorithm::ring;
  // What an active stream takes from the compute rate: one of a V100's 80 SMs for the one thread block of an NCCL channel. Used by
  // whoever times the backward pass.
  double compute_share = 1.0 / 80;
  friend bool operator==(const AiaccSettings&, const AiaccSettings&) = default;
};
std::vector<Problem> problems(const AiaccSettings&);

// A rank joins an agreement when the gradients that became ready here since its last one pass the granularity, when its backward
// pass has ended, or when another rank has begun one: so none waits for a slow rank, and what that one has not is left to the
// next, which it will begin itself. What all have is packed in id order into units of one granularity; a remainder waits for
// the next agreement, but for the last. Unit u goes to stream u mod streams, so that ranks need not agree on free streams.
class AiaccEngine final : public EngineBase {
 public:
  AiaccEngine(const AiaccSettings& settings, const EngineSetup& setup, EngineHost& host);
  void received(Rank from, std::span<const std::byte> message) override;
  std::string waiting() const override;

 private:
  void on_begin() override;
  void on_ready(int gradient) override;
  void join_if_due();
  void agreed(Bits everywhere);
  void pack(int gradient);
  void dispatch();

  AiaccSettings settings_;
  BitAgreement agreement_;
  Bits ready_, agreed_;
  int agreed_count_ = 0;
  Bytes fresh_;  // ready here and not yet part of an agreement
  int fresh_count_ = 0;
  std::vector<GradientSlice> unit_;  // being filled
  Bytes filled_;
  int units_ = 0;
};

}  // namespace weft
