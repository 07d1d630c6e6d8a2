#include "sim/training/calls_apart.hpp"

#include "collectives/schedule/repeated_steps.hpp"
#include "sim/executor/program_driver.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/flow/goodput.hpp"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

void add(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& more) {
  sum.resize(std::max(sum.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

}  // namespace

void SentApart::add_to(NetworkRun& run) const {
  add(run.bytes_on_link, bytes_on_link);
  add(run.bytes_from, bytes_from);
}

std::vector<SimTime> CallsApart::run(const PlacedSchedule& call, SentApart& sent) {
  const SimTime first = *std::ranges::min_element(call.start);
  const Known& as_before = known(call, first);
  for (const Use& use : as_before.uses) {
    std::int64_t& busy = busy_until_[static_cast<std::size_t>(use.link)];
    if (busy > later(first.ps, use.from)) throw CallsMeet{};
    busy = later(first.ps, use.until);
  }
  add(sent.bytes_on_link, as_before.run.bytes_on_link);
  add(sent.bytes_from, as_before.run.bytes_from);
  sent.messages += as_before.run.messages;
  std::vector<SimTime> done;
  for (const std::int64_t ps : as_before.done) done.push_back(first + SimTime{ps});
  return done;
}

const CallsApart::Known& CallsApart::known(const PlacedSchedule& call, SimTime first) {
  constexpr std::int64_t few = 4;
  if (known_count_ == max_known) known_.clear(), known_count_ = 0;
  std::vector<std::int64_t> begun;
  for (const SimTime at : call.start) begun.push_back((at - first).ps);
  std::vector<Known>& alike = known_[{&call.schedule, call.placement.data(), call.elements}];
  const auto at = std::ranges::find_if(alike, [&](const Known& k) { return k.begun == begun && k.regime == call.regime; });
  if (at != alike.end()) return ++found_, *at;
  if (!alike.empty() && ++begun_otherwise_ >= few && found_ < begun_otherwise_ && max_events_ < UINT64_MAX) throw CallsMeet{};
  alike.push_back(run_apart(call, first, std::move(begun)));
  ++known_count_;
  return alike.back();
}

CallsApart::Known CallsApart::run_apart(const PlacedSchedule& call, SimTime first, std::vector<std::int64_t> begun) {
  const bool repeats = call.schedule.channels.front().made_by<RepeatedSteps>() != nullptr;
  if (!repeats && static_cast<std::uint64_t>(call.schedule.messages()) > max_events_ - events_) throw CallsMeet{};
  SharedNetwork<FluidNetwork> network(rate_of_link_);
  lose_two_way(routes_.fabric(), network.model());
  LinkUses uses;
  uses.from.resize(rate_of_link_.size(), LinkUses::never);
  uses.until.resize(rate_of_link_.size());
  std::vector<std::int64_t> nic_free_at;
  Program program = program_of(call.schedule, call.elements, call.element_bytes);
  program.calls.front().regime = call.regime;
  std::vector<SimTime> start;
  for (const std::int64_t ps : begun) start.push_back({ps});
  ProgramDriver driver({.program = program, .placement = call.placement, .hardware = call.hardware, .start = start, .uses = &uses}, routes_,
                       network, nic_free_at);
  {
    const RunProgress::Part part(run_progress(), first);
    run_to_end(network, Around::nothing);
  }
  events_ += network.model().events();
  if (events_ > max_events_) throw CallsMeet{};
  Known out{.regime = call.regime, .begun = std::move(begun), .done = {}, .uses = {}, .run = driver.result()};
  for (const SimTime end : out.run.rank_finish) out.done.push_back(end.ps);
  for (std::size_t link = 0; link < rate_of_link_.size(); ++link)  // streams with rates of their own are on links of the fabric too
    if (uses.from[link] != LinkUses::never) out.uses.push_back({static_cast<LinkId>(link), uses.from[link], uses.until[link]});
  return out;
}

}  // namespace weft
