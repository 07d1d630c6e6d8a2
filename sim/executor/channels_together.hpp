// Channels that repeat steps side by side and share links with one another, as NCCL's rings do inside a server, are walked as chains of
// all of them (chains.hpp): each channel of each rank is a place of its own. What one channel's messages cost another's is simulated, but
// steps are not produced, and once all go on alike, step by step, further ones are only counted.
#pragma once

#include "collectives/schedule/repeated_steps.hpp"
#include "sim/executor/chained_steps.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace weft {

template <class Network>
class ChannelsTogether {
  using Model = std::remove_cvref_t<decltype(std::declval<Network&>().model())>;

 public:
  using Digest = std::function<void(IndexedStep& step, std::span<const Transfer> transfers, std::uint32_t channel)>;

  // They must outlive it.
  ChannelsTogether(const PlacedSchedule& job, LaneState<Network>& lane, ScheduleCosts<Network>& costs, const Seat& seat)
      : job_(job), lane_(lane), costs_(costs), ways_(lane, costs) {
    walked_.met.assign(seat.met.begin(), seat.met.end());
    if (lane.uses) walked_.uses.from = lane.uses->from;
  }

  // Whether it has been walked, all ranks beginning as `begun` says: false where no two channels share links, or where events have to
  // tell. `digest`: the executor's.
  bool run(std::span<const RankDone> begun, const Digest& digest) {
    if (!repeat_alike()) return false;
    if (lane_.path) {
      lane_.path->expect(messages());
      if (lane_.path->complete()) return false;
    }
    if (!find_ways(digest) || !share_links()) return false;
    groups_.find(lane_.network.model(), static_cast<std::uint32_t>(shape_.ends.size()),
                 [this](std::uint32_t i) { return ways_.links_of(i); });
    ChainedSteps<Network> chains(lane_, costs_, ways_, groups_, shape_, job_.schedule.ranks);
    std::vector<typename ChainedSteps<Network>::Part> parts;
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      const int steps = repeated().all()[i].times;
      walked_.messages += chains.count(loads_[i], steps, walked_.bytes);
      if (i == 0) {
        parts = chains.first_parts(loads_[i], steps, walked_.met);
        if (parts.empty()) return false;
      } else if (const auto part = chains.part(loads_[i], steps)) {
        parts.push_back(*part);
      } else {
        return false;
      }
    }
    walked_.uses.resize(lane_.network.model().links());
    std::vector<std::int64_t> entered(shape_.begins.size() - 1);
    for (std::uint32_t channel = 0; channel < channels(); ++channel)
      for (const RankDone& each : begun) entered[place_of(channel, each.rank)] = later(each.at.ps, costs_.call_ps());
    if (!chains.run(parts, entered, walked_.uses)) return false;
    walked_.done.resize(static_cast<std::size_t>(job_.schedule.ranks));
    for (std::uint32_t channel = 0; channel < channels(); ++channel)
      for (const RankDone& each : begun) {
        const SimTime at{entered[place_of(channel, each.rank)]};
        walked_.done[static_cast<std::size_t>(each.rank)].take({each.rank, at, each.after}, channel);
      }
    return true;
  }

  // What has happened, after a run that was walked.
  const Walked& walked() const { return walked_; }

 private:
  std::size_t channels() const { return job_.schedule.channels.size(); }
  std::size_t place_of(std::uint32_t channel, Rank rank) const {
    return channel * static_cast<std::size_t>(job_.schedule.ranks) + static_cast<std::size_t>(rank);
  }
  const RepeatedSteps& repeated() const { return *job_.schedule.channels.front().template made_by<RepeatedSteps>(); }

  // Whether all channels have steps and repeat them as often, and all chunks are of one size.
  bool repeat_alike() const {
    if (channels() == 1 || job_.elements % job_.schedule.chunks != 0) return false;
    const auto* first = job_.schedule.channels.front().template made_by<RepeatedSteps>();
    return first && !first->all().empty() && std::ranges::all_of(job_.schedule.channels, [first](const Steps& channel) {
             const auto* each = channel.template made_by<RepeatedSteps>();
             return each && std::ranges::equal(each->all(), first->all(), {}, &RepeatedStep::times, &RepeatedStep::times);
           });
  }

  std::size_t messages() const {
    std::size_t sum = 0;
    for (const Steps& channel : job_.schedule.channels)
      for (const RepeatedStep& each : channel.template made_by<RepeatedSteps>()->all())
        sum += each.first.transfers().size() * static_cast<std::size_t>(each.times);
    return sum;
  }

  // False where a channel has steps of several shapes.
  bool find_ways(const Digest& digest) {
    loads_.assign(repeated().all().size(), {});
    for (std::uint32_t channel = 0; channel < channels(); ++channel) {
      StepWindow window(job_.schedule.channels[channel], job_.schedule.ranks,
                        [&](IndexedStep& step, std::span<const Transfer> transfers) { digest(step, transfers, channel); });
      std::shared_ptr<StepShape> shape;
      int k = 0;
      for (std::size_t i = 0; i < loads_.size(); ++i) {
        const IndexedStep& step = window.at(k);
        if (shape && step.shape != shape) return false;
        shape = step.shape;
        for (std::uint32_t transfer = 0; transfer < shape->ends.size(); ++transfer) loads_[i].push_back(step.load(transfer));
        const int steps = repeated().all()[i].times;
        window.leave_for_all(k);
        for (int other = 1; other < steps; ++other) window.skip();
        k += steps;
      }
      add(*shape, channel);
    }
    shape_.begins.push_back({.sends = size_of(shape_.sends), .receives = size_of(shape_.receives), .locals = size_of(shape_.locals)});
    return true;
  }

  static std::uint32_t size_of(const std::vector<std::uint32_t>& list) { return static_cast<std::uint32_t>(list.size()); }

  void add(const StepShape& shape, std::uint32_t channel) {
    const auto transfers = static_cast<std::uint32_t>(shape_.ends.size());
    for (std::size_t rank = 0; rank + 1 < shape.begins.size(); ++rank) {
      const StepShape::Begins& begins = shape.begins[rank];
      shape_.begins.push_back({.sends = begins.sends + size_of(shape_.sends),
                               .receives = begins.receives + size_of(shape_.receives),
                               .locals = begins.locals + size_of(shape_.locals)});
    }
    const auto append = [transfers](std::vector<std::uint32_t>& list, const std::vector<std::uint32_t>& of_channel) {
      for (const std::uint32_t i : of_channel) list.push_back(transfers + i);
    };
    append(shape_.sends, shape.sends);
    append(shape_.receives, shape.receives);
    append(shape_.locals, shape.locals);
    for (std::uint32_t i = 0; i < shape.ends.size(); ++i)
      shape_.ends.push_back(place_of(channel, shape.from(i)) << 32 | place_of(channel, shape.to(i)));
    shape_.routes.insert(shape_.routes.end(), shape.routes.begin(), shape.routes.end());
    ways_.add(shape, channel);
  }

  bool share_links() const {
    constexpr std::uint32_t nobody = UINT32_MAX;
    std::vector<std::uint32_t> user(lane_.network.model().links(), nobody);
    for (std::uint32_t i = 0; i < shape_.ends.size(); ++i)
      for (const LinkId link : ways_.links_of(i)) {
        std::uint32_t& channel = user[static_cast<std::size_t>(link)];
        if (channel != nobody && channel != ways_[i].channel) return true;
        channel = ways_[i].channel;
      }
    return false;
  }

  const PlacedSchedule& job_;
  LaneState<Network>& lane_;
  ScheduleCosts<Network>& costs_;
  Walked walked_;
  StepShape shape_;                       // of all channels
  std::vector<std::vector<Load>> loads_;  // by repeated step, of all channels
  StepWays<Network> ways_;
  MeetingGroups<Model> groups_;
};

}  // namespace weft
