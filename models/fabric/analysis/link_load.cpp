#include "models/fabric/analysis/link_load.hpp"

#include "collectives/schedule/repeated_steps.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

using Pairs = std::vector<std::pair<int, int>>;  // endpoints, one entry a flow

// Counts one step at a time; the counters are cleared by walking the links that were touched.
class StepCounter {
 public:
  explicit StepCounter(Routes& routes) : routes_(routes), flows_(static_cast<std::size_t>(routes.fabric().links())) {}

  // The busiest links of a step with these flows; `step` is left for the caller.
  std::pair<BusiestLink, BusiestLink> count(const Pairs& pairs) {
    routes_.begin_step();
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (const std::size_t ahead = i + Routes::fetch_ahead; ahead < pairs.size()) routes_.fetch(pairs[ahead].first, pairs[ahead].second);
      for (const Hop& hop : routes_.hops(routes_.of(pairs[i].first, pairs[i].second)))
        if (flows_[static_cast<std::size_t>(hop.link)]++ == 0) touched_.push_back(hop.link);
    }
    BusiestLink between_switches, any;
    for (const LinkId link : touched_) {
      const int flows = std::exchange(flows_[static_cast<std::size_t>(link)], 0);
      if (flows > any.flows) any = {flows, link, 0};
      if (flows > between_switches.flows && routes_.fabric().between_switches(link)) between_switches = {flows, link, 0};
    }
    touched_.clear();
    return {between_switches, any};
  }

 private:
  Routes& routes_;
  std::vector<int> flows_;  // by link
  std::vector<LinkId> touched_;
};

void append_pairs(const Step& step, std::span<const int> placement, Pairs& pairs) {
  for (const Transfer& t : step.transfers()) {
    const std::pair flow(placement[static_cast<std::size_t>(t.from)], placement[static_cast<std::size_t>(t.to)]);
    if (flow.first != flow.second) pairs.push_back(flow);
  }
}

// Whether the channel is known to join the same ranks in step k as in the one before; or to be over in both.
bool repeats(const Steps& channel, int k) {
  if (k > channel.count()) return true;
  const auto* repeated = channel.made_by<RepeatedSteps>();
  return repeated && k < channel.count() && repeated->repeats(k);
}

}  // namespace

LinkLoad link_load(const Schedule& schedule, std::span<const int> placement, Routes& routes) {
  check(static_cast<int>(placement.size()) >= schedule.ranks, "{} ranks placed on {} endpoints", schedule.ranks, placement.size());
  LinkLoad load;
  routes.begin_schedule();
  StepCounter counter(routes);
  Pairs pairs, previous;
  Step produced;
  for (int k = 0, steps = schedule.steps(); k < steps; ++k) {
    if (k > 0 && std::ranges::all_of(schedule.channels, [&](const Steps& channel) { return repeats(channel, k); })) {
      load.steps.push_back(load.steps.back());
      continue;
    }
    pairs.clear();
    for (const Steps& channel : schedule.channels) {
      if (k >= channel.count()) continue;
      channel.produce(k, produced);
      append_pairs(produced, placement, pairs);
    }
    if (k > 0 && pairs == previous) {  // a ring has thousands of equal steps
      load.steps.push_back(load.steps.back());
      continue;
    }
    const auto [between_switches, any] = counter.count(pairs);
    load.steps.push_back({between_switches.flows, any.flows});
    if (between_switches.flows > load.between_switches.flows) load.between_switches = {between_switches.flows, between_switches.link, k};
    if (any.flows > load.any.flows) load.any = {any.flows, any.link, k};
    previous.swap(pairs);
  }
  return load;
}

}  // namespace weft
