#include "sim/prover.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weft {

void Prover::require_correct(const Schedule& schedule, const Request& request) {
  std::vector<std::string> flaws;
  try {
    flaws = verify(schedule, limits_);
  } catch (const CannotBeProved& why) {
    if (unprovable_ == Unprovable::is_refused) throw;
    if (unproved_.find(why.what()) == std::string::npos) unproved_ += (unproved_.empty() ? "" : "; ") + std::string(why.what());
  }
  const Cost counted = traffic(schedule).counted, formula = cost(request);
  const auto text = [](const Cost& p) {
    return fmt::format("{} steps, {} messages, at most {} of {} chunks sent by a rank", p.steps, p.messages, p.max_chunks_sent, p.chunks);
  };
  if (counted != formula) flaws.push_back(fmt::format("it takes {}; its formula says {}", text(counted), text(formula)));
  if (!flaws.empty()) throw RunError(fmt::format("{} on {} ranks is wrong:\n{}", schedule.name, schedule.ranks, fmt::join(flaws, "\n")));
}

}  // namespace weft
