// Horovod (Sergeev & Del Balso 2018): a coordinator collects who has what ready, cycle by cycle, and answers what to reduce.
#pragma once

#include "collectives/engines/bit_agreement.hpp"
#include "collectives/engines/control_message.hpp"
#include "collectives/engines/engine_base.hpp"

namespace weft {

struct HorovodSettings {
  SimTime cycle_time = 1_ms;         // HOROVOD_CYCLE_TIME: 1 ms since version 0.21, 5 ms before
  Bytes fusion_threshold = 128_MiB;  // HOROVOD_FUSION_THRESHOLD: 128 MiB since version 0.21, 64 MiB before; 0: nothing is fused
  bool cache = true;                 // HOROVOD_CACHE_CAPACITY above 0, the default: what was negotiated once needs a bit only
  Bytes request{64};                 // of a tensor in a ready list or answer: name, shape and type; estimated
  AgreementAlgorithm agreement = AgreementAlgorithm::dissemination;  // of the bits of the cache (an MPI_Allreduce)
  friend bool operator==(const HorovodSettings&, const HorovodSettings&) = default;
};
std::vector<Problem> problems(const HorovodSettings&);

// Cycles begin cycle_time apart or when the one before has ended, from begin_step until all gradients are negotiated. In each,
// ranks send what became ready to rank 0, which answers with what is now ready everywhere, in the order in which it learned so,
// fused one after another up to the threshold. With the cache the ranks first reduce a bit vector of what they have ready that
// was negotiated in an earlier step; lists follow only when some rank has something else. One stream.
class HorovodEngine final : public EngineBase {
 public:
  HorovodEngine(const HorovodSettings& settings, const EngineSetup& setup, EngineHost& host);
  void received(Rank from, std::span<const std::byte> message) override;
  void timer() override;
  std::string waiting() const override;

 private:
  enum class Phase { between, bits, lists };
  using List = std::vector<int>;

  void on_begin() override;
  void on_ready(int gradient) override;
  void plan_cycle();
  void bits_agreed(Bits everywhere);
  void exchange_lists();
  void answer_if_complete();
  void reduce(const List& ready);
  void end_cycle();
  std::vector<std::byte> message(ControlKind kind, const List& gradients) const;
  List parse(std::span<const std::byte> message, std::uint32_t& cycle) const;

  HorovodSettings settings_;
  BitAgreement agreement_;
  Phase phase_ = Phase::between;
  std::uint32_t cycle_ = 0;
  SimTime cycle_start_;
  List queue_;              // ready here, to be negotiated
  List cached_;             // gradients in the order of their first negotiation, the same on all ranks
  std::vector<int> place_;  // in cached_, by gradient; -1: not there
  int negotiated_ = 0, orders_ = 0;
  // At the coordinator.
  std::map<std::uint32_t, std::map<Rank, List>> lists_;  // by cycle
  std::vector<int> heard_;                               // ranks that have a gradient ready, by gradient
};

}  // namespace weft
