// A schedule whose messages meet on no link needs no events: when each of them starts and ends follows from when its ranks entered the
// step, rank by rank and step by step. So the whole schedule is walked as if no two messages ever met, and it is checked on the way that
// none has used a link, or the other direction of one that loses rate two-way, while another was on it. If that holds, this is what the
// executor of events would have found, to the picosecond: the first message that met another would have been seen. If not, nothing has
// happened, and the events are gone through.
//
// Where a step joins the same ranks as the one before, over the same sizes, and has made everyone later by the same time twice, so will
// each further one: they are counted, not walked.
//
// In a step that is repeated, messages may share links with one another (the GPUs of a server its NIC), where all before have ended when
// its first rank enters it: then it is simulated for itself (meeting_groups.hpp), and as long as all ranks leave it alike, the next one is
// the same again, later. Elsewhere one message would be late for another's sake, and events have to tell what comes of that; but where each
// rank sends to one other and receives from one, as in rings, only the messages that share links have events (chains.hpp).
#pragma once

#include "collectives/schedule/repeated_steps.hpp"
#include "kernels/base/prefetch.hpp"
#include "sim/executor/chained_steps.hpp"
#include "sim/executor/meeting_groups.hpp"
#include "sim/executor/schedule_costs.hpp"
#include "sim/executor/step_ways.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weft {

template <class Network>
class UncontendedRun {
  using Model = std::remove_cvref_t<decltype(std::declval<Network&>().model())>;
  using Groups = MeetingGroups<Model>;
  using Way = typename StepWays<Network>::Way;
  using Sized = typename StepWays<Network>::Sized;

 public:
  using Digest = std::function<void(IndexedStep& step, std::span<const Transfer> transfers, std::uint32_t channel)>;

  // What costs depend on the order in which ranks come to something they share, only events know.
  static bool may_describe(const PlacedSchedule& job, const HardwareProfile& hardware) {
    const bool own_queues =
        hardware.send_queue == SendQueue::channel || (hardware.send_queue == SendQueue::rank && job.schedule.channels.size() == 1);
    return own_queues && hardware.staging_rate.count == 0 && hardware.nvlink_gain == 1 && job.stands_for.empty();
  }

  // They must outlive it.
  UncontendedRun(const PlacedSchedule& job, LaneState<Network>& lane, ScheduleCosts<Network>& costs, const Seat& seat)
      : job_(job),
        lane_(lane),
        costs_(costs),
        seat_(seat),
        places_(static_cast<std::size_t>(job.schedule.ranks)),
        after_(places_.size()),
        ways_(lane, costs) {
    walked_.done.resize(places_.size());
    walked_.met.assign(seat.met.begin(), seat.met.end());
    if (lane.uses) walked_.uses.from = lane.uses->from;
    walked_.uses.resize(lane.network.model().links());
  }

  // Whether no message met another, all ranks beginning as `begun` says. `digest`: the executor's.
  bool run(std::span<const RankDone> begun, const Digest& digest) {
    for (std::uint32_t channel = 0; channel < job_.schedule.channels.size(); ++channel) {
      for (const RankDone& rank : begun) {
        const auto at = static_cast<std::size_t>(rank.rank);
        places_[at].entered = later(rank.at.ps, costs_.call_ps());
        after_[at] = rank.after;
      }
      if (!walk(channel, digest)) return false;
      for (std::size_t rank = 0; rank < places_.size(); ++rank) {
        if (places_[rank].entered == INT64_MAX) return false;
        walked_.done[rank].take({static_cast<Rank>(rank), SimTime{places_[rank].entered}, after_[rank]}, channel);
      }
    }
    return true;
  }

  // What has happened, after a run in which none met another.
  const Walked& walked() const { return walked_; }

 private:
  // Of one rank, in the step that is walked.
  struct Place {
    std::int64_t entered = 0, free_at = 0;
    LastTransfer last = {};
    Work work = {};
  };
  // When a message leaves, and reaches its links.
  struct Departure {
    std::int64_t at = 0, active = 0;
    bool receiver_is_last = false;  // it is the receiver that lets it go
  };
  // Steps that repeat one another, and what was so before the first of them.
  struct Stretch {
    int first = 0, steps = 1;
    std::vector<std::int64_t> entered = {};  // by rank
    Walked walked;
  };

  bool walk(std::uint32_t channel, const Digest& digest) {
    const Steps& steps = job_.schedule.channels[channel];
    const auto* repeated = job_.elements % job_.schedule.chunks == 0 ? steps.made_by<RepeatedSteps>() : nullptr;
    StepWindow window(steps, job_.schedule.ranks,
                      [&](IndexedStep& step, std::span<const Transfer> transfers) { digest(step, transfers, channel); });
    shape_.reset();
    for (int k = 0; k < steps.count(); ++k) {
      const bool all_later = alike_ >= 2 && !is_recording();
      const bool repeats = repeated && repeated->repeats(k);
      if (all_later && repeats) {
        ++ahead_;
        window.skip();
        continue;
      }
      const IndexedStep& step = window.at(k);
      const bool like_before = step.shape == shape_ && step.loads == loads_;
      if (like_before && all_later) {
        ++ahead_;
        window.leave_for_all(k);
        continue;
      }
      catch_up();
      if (!like_before && !meet(step, channel)) return false;
      const bool is_repeated = repeats || (repeated && repeated->repeats_of(k) > 0);
      if (is_repeated) find_groups();
      if (!repeats) begin_stretch(k, is_repeated ? repeated->repeats_of(k) + 1 : 1);
      const bool walked = is_recording() ? advance<true>(step, channel, is_repeated) : advance<false>(step, channel, is_repeated);
      window.leave_for_all(k);
      if (stretch_ && (!walked || is_uneven(k))) {
        k = go_by_chains(window, *repeated, k, channel);
        if (k < 0) return false;
      } else if (!walked) {
        return false;
      }
    }
    catch_up();
    return true;
  }

  bool is_recording() const { return lane_.path && lane_.path->complete(); }

  // Another step than the one before.
  bool meet(const IndexedStep& step, std::uint32_t channel) {
    alike_ = 0;
    loads_ = step.loads;
    if (step.shape == shape_) return true;
    if (costs_.is_ring() && shape_) return false;  // whose mean hop is of one shape
    shape_ = step.shape;
    ways_.take(*shape_, channel);
    walked_.bytes.resize(lane_.connections.size());
    walked_.uses.resize(lane_.network.model().links());  // the caps of streams are links too, which come with the step's routes
    groups_found_ = false;
    return true;
  }

  std::int64_t& until(LinkId link) { return walked_.uses.until[static_cast<std::size_t>(link)]; }

  void find_groups() {
    if (std::exchange(groups_found_, true)) return;
    groups_.find(lane_.network.model(), static_cast<std::uint32_t>(shape_->ends.size()),
                 [this](std::uint32_t i) { return ways_.links_of(i); });
  }

  template <bool recording>
  bool advance(const IndexedStep& step, std::uint32_t channel, bool is_repeated) {
    for (Place& place : places_) place.free_at = place.entered, place.last = {}, place.work = {};
    new_peers_ = false;
    const bool grouped = is_repeated && groups_.size() > 0;
    if (!(grouped ? transfer_groups<recording>(step, channel) : transfer_all<recording>(step, channel))) return false;
    const std::int64_t shift = leave<recording>(0);
    bool all_alike = shift >= 0;
    for (std::size_t rank = 1; rank < places_.size(); ++rank) all_alike &= leave<recording>(rank) == shift;
    alike_ = !all_alike || new_peers_ ? 0 : shift == shift_ ? alike_ + 1 : 1;
    shift_ = shift;
    return true;
  }

  // False where two messages meet.
  template <bool recording>
  bool transfer_all(const IndexedStep& step, std::uint32_t channel) {
    const auto transfers = static_cast<std::uint32_t>(shape_->ends.size());
    for (std::uint32_t i = 0; i < transfers; ++i) {
      if (i + ahead_of_use < transfers) fetch(i + ahead_of_use);
      const Load& load = step.load(i);
      if (is_local(load, i)) continue;
      const Sized& sized = ways_.sized(load, i);
      const Departure departure = depart(sized, i, channel);
      if (!travel_alone<recording>(sized, i, departure)) return false;
    }
    return true;
  }

  // False where a message meets one that it shares no group with, where one never ends, or where events cost no more.
  template <bool recording>
  bool transfer_groups(const IndexedStep& step, std::uint32_t channel) {
    const auto transfers = static_cast<std::uint32_t>(shape_->ends.size());
    departures_.resize(transfers);
    messages_in_groups_.resize(transfers);
    for (std::uint32_t i = 0; i < transfers; ++i) {
      if (i + ahead_of_use < transfers) fetch(i + ahead_of_use);
      const Load& load = step.load(i);
      if (is_local(load, i)) continue;
      const Sized& sized = ways_.sized(load, i);
      departures_[i] = depart(sized, i, channel);
      if (!groups_.is_grouped(i)) continue;
      const std::uint32_t route = shape_->routes[i];
      messages_in_groups_[i] = {.route = lane_.network.number(route),
                                .latency_ps = costs_.latency(route).ps,
                                .active_ps = departures_[i].active,
                                .wire_bytes = sized.wire_bytes};
    }
    for (std::size_t group = 0; group < groups_.size(); ++group)
      if (!solve_group(group, recording)) return false;
    for (std::uint32_t i = 0; i < transfers; ++i) {
      if (shape_->from(i) == shape_->to(i)) continue;
      const Sized& sized = ways_.sized(step.load(i), i);
      if (!groups_.is_grouped(i)) {
        if (!travel_alone<recording>(sized, i, departures_[i])) return false;
        continue;
      }
      const auto& m = messages_in_groups_[i];
      std::span<const BottleneckSpan> earlier;
      if constexpr (recording) earlier = groups_.earlier(i, m.active_ps);
      arrive<recording>(sized, i, departures_[i], {m.end_ps, m.bottleneck, earlier});
    }
    return groups_.pays();
  }

  bool solve_group(std::size_t group, bool recording) {
    const std::span<const std::uint32_t> transfers = groups_.transfers_of(group);
    for (const std::uint32_t i : transfers)
      for (const LinkId link : ways_.links_of(i))
        if (messages_in_groups_[i].wire_bytes > 0 && until(link) > messages_in_groups_[i].active_ps) return false;
    if (!groups_.solve(group, messages_in_groups_, lane_.network.model(), recording)) return false;
    for (const std::uint32_t i : transfers) {
      if (messages_in_groups_[i].wire_bytes == 0) continue;
      for (const LinkId link : ways_.links_of(i)) {
        walked_.uses.begin(link, messages_in_groups_[i].active_ps);
        walked_.uses.end(link, messages_in_groups_[i].end_ps);
      }
    }
    return true;
  }

  // False where it meets another.
  template <bool recording>
  bool travel_alone(const Sized& sized, std::uint32_t i, const Departure& departure) {
    const std::int64_t end = later(departure.active, sized.alone_ps);
    const bool on_links = ways_[i].bits_per_second > 0 && sized.wire_bytes > 0;
    if (on_links)
      for (const LinkId link : ways_.links_of(i)) {
        if (std::exchange(until(link), end) > departure.active) return false;
        walked_.uses.begin(link, departure.active);
      }
    arrive<recording>(sized, i, departure, {end, on_links ? ways_[i].narrowest : -1, {}});
    return true;
  }

  // The rank enters its next step; how much later than this one.
  template <bool recording>
  std::int64_t leave(std::size_t rank) {
    Place& place = places_[rank];
    if constexpr (recording) {
      ChainEnd& after = after_[rank];
      if (place.last.date_ps > place.entered) after = {.message = place.last.message};
      after.rank = seat_.members.empty() ? static_cast<Rank>(rank) : seat_.members[rank];
      after.reducing_ps = later(after.reducing_ps, place.work.reducing_ps);
    }
    const std::int64_t next = later(std::max(place.last.date_ps, place.free_at), place.work.ps);
    return next - std::exchange(place.entered, next);
  }

  bool is_local(const Load& load, std::uint32_t i) {
    if (shape_->from(i) != shape_->to(i)) return false;
    costs_.add_local(places_[static_cast<std::size_t>(shape_->from(i))].work, load);
    return true;
  }

  Departure depart(const Sized& sized, std::uint32_t i, std::uint32_t channel) {
    const Rank from = shape_->from(i), to = shape_->to(i);
    Place& sender = places_[static_cast<std::size_t>(from)];
    const Place& receiver = places_[static_cast<std::size_t>(to)];
    sender.free_at = later(sender.free_at, sized.send_ps);
    if (!walked_.met.empty() && walked_.met[channel * places_.size() + static_cast<std::size_t>(from)].meet(to)) {
      sender.free_at = later(sender.free_at, costs_.hardware().first_use.ps);
      new_peers_ = true;
    }
    const bool receiver_is_last = sized.waits_for_receiver && receiver.entered > sender.free_at;
    std::int64_t at = receiver_is_last ? receiver.entered : sender.free_at;
    if (sized.waits_for_receiver) at = later(at, sized.rendezvous_ps);
    return {at, later(at, ways_[i].latency_ahead), receiver_is_last};
  }

  // When the bytes of a message had passed, and what limited them: last, and before.
  struct Passed {
    std::int64_t end;
    LinkId bottleneck;
    std::span<const BottleneckSpan> earlier;
  };
  template <bool recording>
  void arrive(const Sized& sized, std::uint32_t i, const Departure& departure, const Passed& passed) {
    const Rank from = shape_->from(i), to = shape_->to(i);
    const Way& way = ways_[i];
    const std::uint32_t route = shape_->routes[i];
    std::uint32_t recorded = PathRecorder::none;
    if constexpr (recording) {
      recorded = lane_.path->begin(after_[static_cast<std::size_t>(departure.receiver_is_last ? to : from)],
                                   way.latency_ahead > 0 ? route : lane_.none, departure.at);
      lane_.path->end(recorded, passed.end, passed.bottleneck, passed.earlier);
    }
    ++walked_.messages;
    const Load& load = sized.load;
    if (route != lane_.none) walked_.bytes[route] += load.bytes;
    const std::int64_t handed = later(passed.end, ways_.behind(i, route, load.bytes));
    Place& receiver = places_[static_cast<std::size_t>(to)];
    receiver.work += sized.work;
    receiver.last.take({handed, recorded, LastTransfer::received_from(from)});
    if (!sized.leaves_at_once)
      places_[static_cast<std::size_t>(from)].last.take({costs_.is_ring() ? handed : passed.end, recorded, LastTransfer::sent_to(to)});
  }

  // What a transfer needs stands at places without order.
  void fetch(std::uint32_t i) const {
    prefetch(&places_[static_cast<std::size_t>(shape_->from(i))]);
    prefetch(&places_[static_cast<std::size_t>(shape_->to(i))]);
    for (const LinkId link : ways_.links_of(i)) prefetch(&walked_.uses.until[static_cast<std::size_t>(link)]);
  }

  // So many steps like this one follow, itself included.
  void begin_stretch(int k, int steps) {
    stretch_.reset();
    if (lane_.path) lane_.path->expect(shape_->ends.size() * static_cast<std::size_t>(steps));
    if (steps == 1 || is_recording() || !chained().part(loads_, steps)) return;
    stretch_.emplace(Stretch{.first = k, .steps = steps, .walked = walked_});
    for (const Place& place : places_) stretch_->entered.push_back(place.entered);
  }

  // After some steps ranks are not as late as one another yet: then they may never be.
  bool is_uneven(int k) const {
    constexpr int first_ones = 8, share = 64;  // walking a step costs some ten times what chains cost
    return alike_ < 2 && k - stretch_->first >= first_ones + stretch_->steps / share;
  }

  // From the beginning of the stretch on, step k of which was the last one walked, and through further steps of its shape. The last
  // step; -1: events have to tell.
  int go_by_chains(StepWindow& window, const RepeatedSteps& repeated, int k, std::uint32_t channel) {
    const Stretch begun = *std::exchange(stretch_, std::nullopt);
    walked_ = begun.walked;
    ChainedSteps<Network> chains = chained();
    auto parts = chains.first_parts(loads_, begun.steps, met_of(channel));
    walked_.messages += chains.count(loads_, begun.steps, walked_.bytes);
    int end = begun.first + begun.steps;
    for (; k + 1 < end; ++k) window.skip();
    while (end < window.count()) {
      const IndexedStep& next = window.at(end);
      if (next.shape != shape_) break;
      const int steps = repeated.repeats_of(end) + 1;
      const auto part = chains.part(next.loads, steps);
      if (!part) return -1;
      parts.push_back(*part);
      walked_.messages += chains.count(next.loads, steps, walked_.bytes);
      window.leave_for_all(end);
      for (int other = 1; other < steps; ++other) window.skip();
      end += steps;
    }
    alike_ = 0;
    loads_.clear();
    std::vector<std::int64_t> entered = begun.entered;
    if (!chains.run(parts, entered, walked_.uses)) return -1;
    for (std::size_t rank = 0; rank < places_.size(); ++rank) places_[rank].entered = entered[rank];
    return end - 1;
  }

  ChainedSteps<Network> chained() { return {lane_, costs_, ways_, groups_, *shape_, job_.schedule.ranks}; }
  std::span<PeersMet> met_of(std::uint32_t channel) {
    return walked_.met.empty() ? std::span<PeersMet>() : std::span(walked_.met).subspan(channel * places_.size(), places_.size());
  }

  // Walks the steps that were only counted.
  void catch_up() {
    if (ahead_ == 0) return;
    const std::int64_t shift = (ahead_ * SimTime{shift_}).ps;
    for (Place& place : places_) place.entered = later(place.entered, shift);
    std::vector<LinkId> used = ways_.links();
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (const LinkId link : used) until(link) = later(until(link), shift);
    walked_.messages += chained().count(loads_, ahead_, walked_.bytes);
    ahead_ = 0;
  }

  static constexpr std::uint32_t ahead_of_use = 6;

  const PlacedSchedule& job_;
  LaneState<Network>& lane_;
  ScheduleCosts<Network>& costs_;
  const Seat& seat_;
  Walked walked_;
  LargeTable<Place> places_;          // by rank
  std::vector<ChainEnd> after_;       // by rank: what let it enter the step, where it is recorded
  std::shared_ptr<StepShape> shape_;  // of the present step, and its loads
  std::vector<Load> loads_;
  StepWays<Network> ways_;  // of its transfers
  Groups groups_;           // of its transfers, in steps that are repeated
  bool groups_found_ = false;
  std::vector<Departure> departures_;                         // by transfer, in such a step
  std::vector<typename Groups::Message> messages_in_groups_;  // by transfer; only of those in a group

  std::optional<Stretch> stretch_;  // that may go by chains

  bool new_peers_ = false;   // some rank has met another for the first time
  int alike_ = 0;            // steps of this shape and load by which all ranks became later by `shift_`, in a row
  std::int64_t shift_ = -1;  // of the first rank
  std::int64_t ahead_ = 0;   // steps like it that were only counted
};

}  // namespace weft
