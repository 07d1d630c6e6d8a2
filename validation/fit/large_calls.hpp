// Calls that take long to simulate, told from smaller ones: what a call takes more than one half as large, the smaller one takes more than
// its half.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "validation/fit/measured_setup.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace weft {

// A smaller call, and how often its time is counted.
struct ToldFrom {
  double times = 0;
  MeasuredSetup call;
};

// Which calls are large, and what they may be told from.
struct LargeCalls {
  std::int64_t max_messages = 0;  // of a call that is simulated itself
  int min_servers = 0;            // of one that others are told from
  // Nothing where its algorithm does not run on its ranks.
  std::function<std::optional<Cost>(const MeasuredSetup&)> cost_of;
};

// The calls whose times add up to that of this one, whose settings are those of its size: with fewer of its pieces, else of its servers,
// else of the GPUs of its only server, until they are not large. They may have too many messages for another reason, and are told
// themselves then. None: it is not large, or has nothing that could be fewer.
std::vector<ToldFrom> told_from(const MeasuredSetup& call, const LargeCalls& large);

// How many messages a call may have that is simulated itself: any, where all calls together have at most so many; else such that these take
// a quarter of it, since what calls are told from takes about as much again and the search has the rest. What each of the calls has, and
// how often it is simulated.
struct MessagesOfCall {
  std::int64_t messages = 0, times = 1;
};
std::int64_t max_messages_of_a_call(const std::vector<MessagesOfCall>& calls, std::int64_t of_all);

}  // namespace weft
