// Proofs of an experiment's schedules before they are simulated.
#pragma once

#include "collectives/registry/registry.hpp"
#include "collectives/schedule/verify.hpp"

#include <string>

namespace weft {

// What becomes of a schedule whose proof would cost more than its run: nothing is known to be wrong with it.
enum class Unprovable { is_refused, is_noted };

class Prover {
 public:
  explicit Prover(Unprovable unprovable = Unprovable::is_refused, const ProofLimits& limits = {})
      : unprovable_(unprovable), limits_(limits) {}

  // Throws RunError with every flaw found: wrong contents, or a cost that is not the one its formula states. Throws CannotBeProved
  // where that is refused.
  void require_correct(const Schedule& schedule, const Request& request);

  // What was not proved, and why; empty: all was.
  const std::string& unproved() const { return unproved_; }

 private:
  Unprovable unprovable_;
  ProofLimits limits_;
  std::string unproved_;
};

}  // namespace weft
