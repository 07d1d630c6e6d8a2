// What the transfers of a step cost where no two messages meet: first what follows from their routes, then what follows from their sizes.
#pragma once

#include "collectives/schedule/step_window.hpp"
#include "sim/executor/lane_state.hpp"
#include "sim/executor/schedule_costs.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

template <class Network>
class StepWays {
 public:
  // Of one transfer: what does not depend on its size.
  struct Way {
    std::int64_t latency_ahead = 0, behind = 0, bits_per_second = 0;
    std::uint32_t first_link = 0;  // in links(), up to the next one's
    LinkId narrowest = -1;
    std::uint16_t channel = 0;
    bool copied = false;  // by the receiver
  };
  // What all messages of this size cost.
  struct Sized {
    Load load{.bytes = -1};
    std::int64_t send_ps = 0, rendezvous_ps = 0, wire_bytes = 0;
    std::int64_t bits_per_second = 0, alone_ps = 0;  // on a way of this rate
    Work work = {};
    bool copied = false;
    bool leaves_at_once = false, waits_for_receiver = false;
  };

  // They must outlive it.
  StepWays(LaneState<Network>& lane, ScheduleCosts<Network>& costs) : lane_(lane), costs_(costs) {}

  // From now on it is about the transfers of this shape.
  void take(const StepShape& shape, std::uint32_t channel) {
    ways_.clear();
    links_.clear();
    add(shape, channel);
  }
  // And about these, behind the ones it has.
  void add(const StepShape& shape, std::uint32_t channel) {
    if (!ways_.empty()) ways_.pop_back();
    const auto& model = lane_.network.model();
    for (const std::uint32_t route : shape.routes) {
      Way way{.latency_ahead = costs_.latency_ahead(route).ps,
              .behind = costs_.by_size() ? 0 : costs_.behind_ps(route, channel, 0),
              .first_link = static_cast<std::uint32_t>(links_.size()),
              .channel = static_cast<std::uint16_t>(channel),
              .copied = costs_.copied(route)};
      if (route != lane_.none) {
        const std::uint32_t number = lane_.network.number(route);
        way.bits_per_second = model.rate_alone(number);
        way.narrowest = model.narrowest(number);
        for (const LinkId link : model.path(number)) links_.push_back(model.of_both_ways(link));
      }
      ways_.push_back(way);
    }
    ways_.push_back({.first_link = static_cast<std::uint32_t>(links_.size())});
  }

  const Way& operator[](std::uint32_t transfer) const { return ways_[transfer]; }
  std::span<const LinkId> links_of(std::uint32_t transfer) const {
    const std::uint32_t first = ways_[transfer].first_link;
    return std::span(links_).subspan(first, ways_[transfer + 1].first_link - first);
  }
  const std::vector<LinkId>& links() const { return links_; }  // of all of them
  // What comes after the bytes of such a message.
  std::int64_t behind(std::uint32_t transfer, std::uint32_t route, std::int64_t bytes) const {
    const Way& way = ways_[transfer];
    return costs_.by_size() ? costs_.behind_ps(route, way.channel, bytes) : way.behind;
  }

  // Of a message of that load; until another is asked for.
  const Sized& sized(const Load& load, std::uint32_t transfer) {
    const std::int64_t bits_per_second = ways_[transfer].bits_per_second;
    if (sized_.load != load || sized_.copied != ways_[transfer].copied) {
      sized_ = {.load = load,
                .rendezvous_ps = costs_.rendezvous_ps(load.bytes),
                .wire_bytes = costs_.wire_bytes(load.bytes, ways_[transfer].copied),
                .work = costs_.work_of(load.bytes, load.bytes, ways_[transfer].copied, load.reduces),
                .copied = ways_[transfer].copied,
                .leaves_at_once = costs_.leaves_at_once(load.bytes),
                .waits_for_receiver = costs_.waits_for_receiver(load.bytes)};
      costs_.add_send(sized_.send_ps, load.bytes, 1, ways_[transfer].copied);
    }
    if (sized_.bits_per_second != bits_per_second) {
      sized_.bits_per_second = bits_per_second;
      sized_.alone_ps = bits_per_second > 0 ? (Bytes{sized_.wire_bytes} / BitsPerSecond{bits_per_second}).ps : 0;
    }
    return sized_;
  }

 private:
  LaneState<Network>& lane_;
  ScheduleCosts<Network>& costs_;
  std::vector<Way> ways_;  // by transfer, and one behind
  std::vector<LinkId> links_;
  Sized sized_;
};

}  // namespace weft
