// Steps of one shape that are walked as chains (chains.hpp): what their messages cost there, and what has happened when they are over.
// Places are the ranks of a channel, or, where several channels are walked side by side, those of one behind those of the other.
#pragma once

#include "sim/executor/chains.hpp"
#include "sim/executor/lane_state.hpp"
#include "sim/executor/meeting_groups.hpp"
#include "sim/executor/rotation.hpp"
#include "sim/executor/schedule_costs.hpp"
#include "sim/executor/step_ways.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

template <class Network>
class ChainedSteps {
  using Model = std::remove_cvref_t<decltype(std::declval<Network&>().model())>;
  using Walk = Chains<Model>;

 public:
  using Part = typename Walk::Part;

  // They must outlive it; `ways` and `groups` are of the transfers of `shape`, a channel has so many `ranks`.
  ChainedSteps(const LaneState<Network>& lane, ScheduleCosts<Network>& costs, StepWays<Network>& ways, const MeetingGroups<Model>& groups,
               const StepShape& shape, int ranks)
      : lane_(lane), costs_(costs), ways_(ways), groups_(groups), shape_(shape), ranks_(ranks) {}

  // So many steps of these loads. None where a place sends to several or receives from several, waits for its receiver, or waits for some
  // of its own messages only.
  std::optional<Part> part(const std::vector<Load>& loads, int steps) {
    Part out{.steps = steps, .of = std::vector<typename Walk::Costs>(places())};
    for (Rank place = 0; static_cast<std::size_t>(place) < places(); ++place)
      if (shape_.sends_of(place).size() > 1 || shape_.receives_of(place).size() > 1 || !shape_.locals_of(place).empty())
        return std::nullopt;
    for (std::uint32_t i = 0; i < shape_.ends.size(); ++i) {
      const Load& load = loads.size() == 1 ? loads.front() : loads[i];
      const auto& sized = ways_.sized(load, i);
      if (sized.waits_for_receiver || (groups_.is_grouped(i) && sized.wire_bytes == 0)) return std::nullopt;
      if (leaves_at_once_.value_or(sized.leaves_at_once) != sized.leaves_at_once) return std::nullopt;
      leaves_at_once_ = sized.leaves_at_once;
      auto& sender = out.of[static_cast<std::size_t>(shape_.from(i))];
      sender.sends = sized.send_ps;
      sender.ahead = later(sized.send_ps, ways_[i].latency_ahead);
      sender.alone = sized.alone_ps;
      sender.behind = ways_.behind(i, shape_.routes[i], load.bytes);
      sender.wire_bytes = sized.wire_bytes;
      out.of[static_cast<std::size_t>(shape_.to(i))].work = sized.work.ps;
    }
    return out;
  }

  // The same, where places may meet their peers in the first of them: none of `met` if connections cost nothing.
  std::vector<Part> first_parts(const std::vector<Load>& loads, int steps, std::span<PeersMet> met) {
    std::vector<Part> out;
    const std::optional<Part> of_all = part(loads, steps);
    if (!of_all) return out;
    out.push_back(*of_all);
    if (met.empty()) return out;
    if (steps > 1) out.push_back(*of_all), --out.back().steps;
    out.front().steps = 1;
    for (std::uint32_t i = 0; i < shape_.ends.size(); ++i) {
      const auto from = static_cast<std::size_t>(shape_.from(i));
      if (!met[from].meet(shape_.to(i) % ranks_)) continue;
      auto& sender = out.front().of[from];
      for (std::int64_t* each : {&sender.sends, &sender.ahead}) *each = later(*each, costs_.hardware().first_use.ps);
    }
    return out;
  }

  // Of so many steps of these loads: adds what each connection carries, and gives the number of messages.
  std::int64_t count(const std::vector<Load>& loads, std::int64_t steps, std::vector<std::int64_t>& bytes) const {
    std::int64_t messages = 0;
    bytes.resize(lane_.connections.size());
    for (std::uint32_t i = 0; i < shape_.ends.size(); ++i) {
      if (shape_.from(i) == shape_.to(i)) continue;
      messages += steps;
      if (shape_.routes[i] != lane_.none) bytes[shape_.routes[i]] += steps * (loads.size() == 1 ? loads.front() : loads[i]).bytes;
    }
    return messages;
  }

  // Walks them, from when places entered the first (by place) to when they enter the one behind the last. False where events
  // have to tell.
  bool run(std::span<const Part> parts, std::span<std::int64_t> entered, LinkUses& uses) {
    if (groups_.largest() > Model::exact_up_to) return false;
    for (std::uint32_t i = 0; i < shape_.ends.size(); ++i) {
      const auto from = static_cast<std::size_t>(shape_.from(i));
      if (parts.front().of[from].wire_bytes == 0) continue;
      const std::int64_t active = later(entered[from], parts.front().of[from].ahead);
      for (const LinkId link : ways_.links_of(i)) {
        if (uses.until[static_cast<std::size_t>(link)] > active) return false;
        uses.begin(link, active);
      }
    }
    std::vector<typename Walk::Dates> dates(places());
    // A place that waits for none of its messages may send several at once, which then meet one another.
    if (!walk(parts, entered, false, dates) && !(leaves_at_once() && all_are_on_links(parts) && walk(parts, entered, true, dates)))
      return false;
    for (std::size_t place = 0; place < places(); ++place) entered[place] = dates[place].entered;
    for (std::uint32_t i = 0; i < shape_.ends.size(); ++i) {
      const auto from = static_cast<std::size_t>(shape_.from(i));
      if (parts.back().of[from].wire_bytes == 0) continue;
      for (const LinkId link : ways_.links_of(i)) uses.end(link, dates[from].last_end);
    }
    return true;
  }

 private:
  std::size_t places() const { return shape_.begins.size() - 1; }
  bool leaves_at_once() const { return leaves_at_once_.value_or(false); }

  bool all_are_on_links(std::span<const Part> parts) const {
    return std::ranges::all_of(parts, [this](const Part& part) {
      return std::ranges::all_of(shape_.ends, [&](std::uint64_t ends) { return part.of[ends >> 32].wire_bytes > 0; });
    });
  }

  // `all_meet`: any message may meet another, if only one of its own place.
  bool walk(std::span<const Part> parts, std::span<const std::int64_t> entered, bool all_meet, std::span<typename Walk::Dates> dates) {
    std::vector<typename Walk::Way> ways(places());
    for (std::uint32_t i = 0; i < shape_.ends.size(); ++i) {
      const std::uint32_t route = shape_.routes[i];
      auto& way = ways[static_cast<std::size_t>(shape_.from(i))];
      way = {.to = shape_.to(i), .meets = groups_.is_grouped(i) || (all_meet && route != lane_.none)};
      if (way.meets) way.route = lane_.network.number(route), way.latency_ps = costs_.latency(route).ps;
    }
    const auto waits = leaves_at_once() ? Walk::Waits::for_nothing : costs_.is_ring() ? Walk::Waits::for_receivers : Walk::Waits::for_links;
    const Model& model = lane_.network.model();
    const Rotation<Model> rotation(model, ways, entered, parts, static_cast<std::size_t>(ranks_));
    if (!rotation.found()) {
      for (std::size_t place = 0; place < places(); ++place) dates[place] = {.entered = entered[place]};
      return Walk(model, std::move(ways), waits).run(parts, dates);
    }
    std::vector<typename Walk::Dates> of_standing(rotation.places());
    for (std::size_t place = 0; place < places(); ++place) of_standing[rotation.stands_for(place)] = {.entered = entered[place]};
    const std::vector<Part> parts_of_standing = rotation.parts(parts);
    if (!Walk(rotation.network(), rotation.ways(), waits).run(parts_of_standing, of_standing)) return false;
    for (std::size_t place = 0; place < places(); ++place) dates[place] = of_standing[rotation.stands_for(place)];
    return true;
  }

  const LaneState<Network>& lane_;
  ScheduleCosts<Network>& costs_;
  StepWays<Network>& ways_;
  const MeetingGroups<Model>& groups_;
  const StepShape& shape_;
  const int ranks_;
  std::optional<bool> leaves_at_once_;  // whether places wait for none of their own messages
};

}  // namespace weft
