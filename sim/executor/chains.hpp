// Steps that are repeated and in which each rank sends to at most one other and receives from at most one, as in rings. Where a message
// is alone on its links, its receiver enters the next step at
//   t(k + 1) = max(t(k) + own message, t_before(k) + the message of the rank before) + work
// which is known as soon as t_before(k) is, whatever happens elsewhere. So ranks are not gone through in the order of time: each takes at
// once all the steps of which it knows when the rank before it has entered them, for a nanosecond or so each. Only messages that share
// links with others are simulated, on a copy of the network, where those of rings that meet may be thousands of steps apart; the ranks
// from one of them to the next are a chain, which hands dates on when its end asks for them.
//
// Once everything that is simulated is as it was when each rank was some steps back, only later, it will be so again and again
// (steady_state.hpp): these steps are counted, and what is left is simulated as if it were earlier.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"
#include "sim/executor/steady_state.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weft {

template <class Model>
class Chains {
 public:
  // The message that a rank sends in each step.
  struct Way {
    Rank to = -1;             // -1: it sends none
    bool meets = false;       // others are on its links
    std::uint32_t route = 0;  // as the model calls it
    std::int64_t latency_ps = 0;
  };
  // Of a rank in a step, in picoseconds.
  struct Costs {
    std::int64_t sends = 0;       // before its message leaves
    std::int64_t ahead = 0;       // before its message reaches its links
    std::int64_t alone = 0;       // while it is on them and meets no other
    std::int64_t behind = 0;      // from there to its receiver
    std::int64_t work = 0;        // on what it receives, before it enters the next step
    std::int64_t wire_bytes = 0;  // of a message that meets others
  };
  // Steps that cost the same.
  struct Part {
    int steps = 1;
    std::vector<Costs> of;  // by rank
  };
  struct Dates {
    std::int64_t entered = 0;   // the first step; afterwards the one behind the last
    std::int64_t last_end = 0;  // afterwards: when its last message has left its links
  };
  // What a rank waits for besides what it receives: its own message until it has left its links, or is with its receiver; or it does not.
  enum class Waits { for_links, for_receivers, for_nothing };

  // `ways` by rank.
  Chains(Model model, std::vector<Way> ways, Waits waits) : network_(std::move(model)), ways_(std::move(ways)), waits_(waits) {
    network_.end_exactly();
  }

  // All steps, one part behind the other. False where some rank does not come to the end of them in the time that can be simulated, where
  // a message that meets no others would meet the rank's own one before, or where one that meets others overtakes that one.
  bool run(std::span<const Part> parts, std::span<Dates> dates) {
    network_.begin_again();
    parts_ = parts;
    ends_.clear();
    for (const Part& part : parts) ends_.push_back(steps() + part.steps);
    if (beyond_time() || (parts.size() + 1) * ways_.size() > UINT32_MAX) return false;
    find_chains(dates);
    watch_one();
    for (Chain& chain : chains_) {
      if (chain.closed) go_round(chain);
      if (chain.tail >= 0) start(chain);
    }
    for (Chain& chain : chains_)
      if (chain.tail >= 0) go_on(chain);
    while (!late_ && network_.next_date() != SimTime::never()) {
      network_.advance([this](std::uint32_t token) { happened(token); });
      if (watched_ >= 0 && steady_.is_due(place(watched_).done)) count_ahead();
    }
    if (late_) return false;
    for (Chain& chain : chains_) hand_on(chain);
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      const Place& place = places_[rank];
      if (place.chain == none) continue;
      if (place.done < steps()) return false;
      if (place.entered > latest) return false;
      dates[rank] = {place.entered, place.last_end};
    }
    return !late_;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::int64_t latest = INT64_MAX / 4;  // to which all costs of all steps can be added

  struct Place {
    std::int64_t entered = 0, last_end = 0;
    int done = 0;                // steps
    std::uint32_t chain = none;  // none: it neither sends nor receives
    Rank before = -1;            // from whom it receives
  };
  struct Chain {
    std::vector<Rank> ranks;  // that take all steps they know of; in the order of their messages
    Rank tail = -1;           // behind them: whose message meets others
    bool closed = false;      // the last one sends to the first
    bool begun = false;
    std::vector<std::int64_t> arrived;  // what the first of `ranks` has not looked at yet
    // What the tail has not, from `next` on: when the rank before it entered its steps; or, if there is none, when messages came.
    std::vector<std::int64_t> for_tail;
    std::size_t next = 0;
    std::vector<std::int64_t> sending = {};  // since when the network knows the tail's messages: the oldest first
    bool sent = false;                       // the tail's message of its step, and when
    std::int64_t sent_at = 0;
    std::int64_t through_ps = 0;  // that what comes takes to the tail at least
    bool wakes = false;           // go_on() will be called
  };

  int steps() const { return ends_.empty() ? 0 : ends_.back(); }
  std::size_t part_of(int step) const { return static_cast<std::size_t>(std::ranges::upper_bound(ends_, step) - ends_.begin()); }
  Place& place(Rank rank) { return places_[static_cast<std::size_t>(rank)]; }
  const Way& way(Rank rank) const { return ways_[static_cast<std::size_t>(rank)]; }
  const Costs& costs(std::size_t part, Rank rank) const { return parts_[part].of[static_cast<std::size_t>(rank)]; }

  // From entering a step to entering the next one: by the rank's own message,
  std::int64_t own(std::size_t part, Rank rank) const {
    const Costs& c = costs(part, rank);
    if (waits_ == Waits::for_nothing) return c.sends + c.work;
    return c.ahead + c.alone + (waits_ == Waits::for_receivers ? c.behind : 0) + c.work;
  }
  // and after the date at which the rank before entered its step, or, if that is known, after the message of that rank has come.
  std::int64_t after_before(std::size_t part, Rank rank) {
    const Rank before = place(rank).before;
    const std::int64_t work = costs(part, rank).work;
    if (before < 0 || way(before).meets) return work;
    const Costs& c = costs(part, before);
    return c.ahead + c.alone + c.behind + work;
  }

  // Ranks of a chain need not be in the same part.
  std::int64_t min_after_before(Rank rank) {
    std::int64_t least = INT64_MAX;
    for (std::size_t part = 0; part < parts_.size(); ++part) least = std::min(least, after_before(part, rank));
    return least;
  }

  bool beyond_time() const {
    Int128 sum = 0;
    for (const Part& part : parts_) {
      std::int64_t most = 0;
      for (const Costs& c : part.of)
        for (const std::int64_t cost : {c.ahead, c.alone, c.behind, c.work}) most = std::max(most, cost);
      sum += Int128{part.steps} * most * 8;  // its own, and that of the rank before
    }
    return sum > latest;
  }

  void find_chains(std::span<const Dates> dates) {
    chains_.clear();
    places_.assign(ways_.size(), {});
    for (std::size_t rank = 0; rank < ways_.size(); ++rank) {
      places_[rank].entered = dates[rank].entered;
      if (ways_[rank].to >= 0) place(ways_[rank].to).before = static_cast<Rank>(rank);
    }
    const auto ranks = static_cast<Rank>(ways_.size());
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Rank before = place(rank).before;
      if (before < 0 ? way(rank).to >= 0 : way(before).meets) add_chain(rank);
    }
    for (Rank rank = 0; rank < ranks; ++rank)
      if (place(rank).chain == none && way(rank).to >= 0) add_chain(rank);  // of those that are closed
  }

  void add_chain(Rank first) {
    const auto number = static_cast<std::uint32_t>(chains_.size());
    Chain& chain = chains_.emplace_back();
    Rank rank = first;
    for (; rank >= 0 && place(rank).chain == none; rank = way(rank).to) {
      place(rank).chain = number;
      if (way(rank).meets) {
        chain.tail = rank;
        break;
      }
      chain.ranks.push_back(rank);
    }
    if (chain.tail >= 0) {
      chain.through_ps = min_after_before(chain.tail);
      for (const Rank each : chain.ranks) chain.through_ps += min_after_before(each);
    }
    chain.closed = chain.tail < 0 && rank == first;
    // Who waits for nobody knows all its steps.
    if (place(first).before < 0)
      (chain.ranks.empty() ? chain.for_tail : chain.arrived).assign(static_cast<std::size_t>(steps()), place(first).entered);
  }

  // `dates` are those of the rank before, or of its messages, for so many steps; and become those at which this one enters the next ones.
  void take_steps(Rank rank, std::span<std::int64_t> dates) {
    if (dates.empty()) return;
    Place& at = place(rank);
    late_ |= std::max(at.entered, dates.back()) > latest;
    if (late_) return;
    std::int64_t entered = at.entered, last = entered;
    for (std::size_t i = 0; i < dates.size();) {
      const std::size_t part = part_of(at.done);
      const int taken = static_cast<int>(std::min<std::int64_t>(ends_[part] - at.done, static_cast<std::int64_t>(dates.size() - i)));
      const std::int64_t of_own = own(part, rank), of_before = after_before(part, rank);
      for (const std::size_t until = i + static_cast<std::size_t>(taken); i < until; ++i) {
        last = entered;
        entered = std::max(entered + of_own, dates[i] + of_before);
        dates[i] = entered;
        if (waits_ == Waits::for_nothing) late_ |= !leaves(part, rank, last);
      }
      at.done += taken;
    }
    at.entered = entered;
    if (at.done < steps()) return;
    if (way(rank).to >= 0) {
      const Costs& c = costs(parts_.size() - 1, rank);
      at.last_end = last + c.ahead + c.alone;
    }
    finish(rank);
  }

  // The message of a rank that entered its step then, if the one before has left its links.
  bool leaves(std::size_t part, Rank rank, std::int64_t entered) {
    const Costs& c = costs(part, rank);
    const std::int64_t before = std::exchange(place(rank).last_end, entered + c.ahead + c.alone);
    return way(rank).to < 0 || before <= entered + c.ahead;
  }

  // All but the tail take the steps that they can; what the last of them hands on.
  std::span<const std::int64_t> hand_on(Chain& chain) {
    const bool first = !std::exchange(chain.begun, true);
    std::size_t count = chain.arrived.size();
    if (chain.ranks.empty() || (count == 0 && !first)) return {};
    dates_.resize(chain.ranks.size() + count);
    std::int64_t* dates = dates_.data() + chain.ranks.size();
    std::ranges::copy(chain.arrived, dates);
    chain.arrived.clear();
    for (const Rank rank : chain.ranks) {
      const std::int64_t before = place(rank).entered;
      count = std::min(count, static_cast<std::size_t>(steps() - place(rank).done));
      take_steps(rank, {dates, count});
      if (first) *--dates = before, ++count;
    }
    if (chain.tail >= 0) chain.for_tail.insert(chain.for_tail.end(), dates, dates + count);
    return {dates, count};
  }

  void go_round(Chain& chain) {
    chain.arrived = {place(chain.ranks.back()).entered};
    while (!late_ && place(chain.ranks.front()).done < steps()) {
      const bool first = !chain.begun;
      const std::span<const std::int64_t> dates = hand_on(chain).subspan(first ? 1 : 0);  // it began with the one that had arrived
      chain.arrived.assign(dates.begin(), dates.end());
    }
    chain.arrived.clear();
  }

  void start(Chain& chain) {
    const Place& at = place(chain.tail);
    const std::size_t part = part_of(at.done);
    const Costs& c = costs(part, chain.tail);
    const Way& w = way(chain.tail);
    const std::int64_t date = later(at.entered, c.ahead) - w.latency_ps;
    chain.sending.push_back(network_.now().ps);
    add_event(chain.tail, date);
    network_.start(w.route, c.wire_bytes, SimTime{date}, token_of(part, chain.tail));
  }

  // The network has it that a message starts or ends.
  void add_event(Rank rank, std::int64_t date) {
    events_.add(rank);
    events_.add(date - stepped_ps_);
  }

  // What the network calls a message of the rank in that part; in the one behind all: that the chain of this tail wakes.
  std::uint32_t token_of(std::size_t part, Rank tail) const {
    return static_cast<std::uint32_t>(part * places_.size()) + static_cast<std::uint32_t>(tail);
  }

  void happened(std::uint32_t token) {
    const std::size_t part = token / places_.size();
    const auto rank = static_cast<Rank>(token % places_.size());
    if (part < parts_.size()) return ended(part, rank);
    Chain& chain = chains_[place(rank).chain];
    chain.wakes = false;
    go_on(chain);
  }

  // The message of a tail. Those of one part are as long, so that none of them overtakes another.
  void ended(std::size_t part, Rank rank) {
    const std::int64_t now = network_.now().ps;
    Place& at = place(rank);
    Chain& chain = chains_[at.chain];
    Chain& into = chains_[place(way(rank).to).chain];
    const int begun = std::min(at.done + 1, steps()), step = begun - static_cast<int>(chain.sending.size());
    chain.sending.erase(chain.sending.begin());
    add_event(rank, now);
    late_ |= part != part_of(step);
    const std::int64_t handed = later(now, costs(part, rank).behind);
    at.last_end = at.done == steps() ? later(now, skipped_ps_) : now;
    chain.sent = true;
    chain.sent_at = waits_ == Waits::for_receivers ? handed : now;
    (into.ranks.empty() ? into.for_tail : into.arrived).push_back(handed);
    go_on(chain);
    if (&into != &chain) go_on(into);
  }

  // The tail enters its next step, if its message has been sent and that of the rank before has come.
  void go_on(Chain& chain) {
    Place& at = place(chain.tail);
    while (!chain.wakes && (chain.sent || waits_ == Waits::for_nothing) && at.done < steps()) {
      if (chain.next == chain.for_tail.size()) {
        if (!chain.ranks.empty() && wait_for_more(chain)) return;
        chain.for_tail.clear(), chain.next = 0;
        hand_on(chain);
        if (late_ || chain.for_tail.empty()) return;
      }
      const std::size_t part = part_of(at.done);
      const Costs& c = costs(part, chain.tail);
      const std::int64_t come = later(chain.for_tail[chain.next++], after_before(part, chain.tail));
      const std::int64_t sent = waits_ == Waits::for_nothing ? later(at.entered, c.sends) : chain.sent_at;
      at.entered = std::max(later(sent, c.work), come);
      chain.sent = false;
      if (++at.done == steps())
        finish(chain.tail);
      else
        start(chain);
    }
    if (at.done == steps()) hand_on(chain);  // what is still to come is for the others only
  }

  // The rank has taken its last step: its dates are no longer those of the network.
  void finish(Rank rank) {
    Place& at = place(rank);
    at.entered = later(at.entered, skipped_ps_);
    at.last_end = later(at.last_end, skipped_ps_);
    if (rank == watched_) watch_one();
  }

  // Whose steps periods are counted in: a tail that has some left. None where some rank waits for nobody, so that all its steps are known.
  void watch_one() {
    watched_ = -1;
    steady_ = {};
    done_before_.clear();
    for (const Chain& chain : chains_) {
      if (place(chain.ranks.empty() ? chain.tail : chain.ranks.front()).before < 0) return void(watched_ = -1);
      if (chain.tail >= 0 && place(chain.tail).done < steps()) watched_ = chain.tail;
    }
  }

  // Steps that go on as those before them did, as long as those of each rank cost the same.
  void count_ahead() {
    const int step = place(watched_).done;
    StateHash state;
    const std::int64_t oldest = add_state(state);
    const auto period = steady_.take(step, network_.now().ps, network_.now().ps - oldest, state.value());
    if (!period) return done_before_.clear();
    if (done_before_.empty()) {
      for (const Place& at : places_) done_before_.push_back(at.done);
      period_ends_ = step + period->steps;
    }
    if (step != period_ends_) return;
    int times = steps();
    for (std::size_t rank = 0; rank < places_.size(); ++rank)
      if (const int done = places_[rank].done, in_period = done - done_before_[rank]; in_period > 0 && done < steps())
        times = std::min(times, (ends_[part_of(done)] - 1 - done) / in_period);
    for (std::size_t rank = 0; rank < places_.size(); ++rank)
      if (int& done = places_[rank].done; done < steps()) done += times * (done - done_before_[rank]);
    skipped_ps_ = later(skipped_ps_, (times * SimTime{period->ps}).ps);
    steady_.go_on_at(place(watched_).done + 1);
    done_before_.clear();
  }

  // All that decides what will happen while no rank comes to another part; dates count from now. How far messages have come is not asked
  // for: it follows from when all started and ended that are known to the network since the oldest one is. Returned is since when that is.
  std::int64_t add_state(StateHash& state) {
    const std::int64_t now = network_.now().ps;
    std::int64_t oldest = now;
    state.add(static_cast<std::int64_t>(std::exchange(events_, {}).value()));
    stepped_ps_ = now;
    const auto add_dates = [&](std::span<const std::int64_t> dates) {
      for (const std::int64_t date : dates) state.add(date - now);
      state.add(INT64_MAX);
    };
    const auto add_part = [&](Rank rank) { state.add(static_cast<std::int64_t>(part_of(place(rank).done))); };
    for (const Chain& chain : chains_) {
      if (chain.tail < 0) continue;
      if (!chain.sending.empty()) oldest = std::min(oldest, chain.sending.front());
      if (place(chain.tail).done == steps()) continue;
      for (const Rank rank : chain.ranks) {
        state.add(place(rank).done == steps() ? INT64_MAX : place(rank).entered - now);
        add_part(rank);
      }
      state.add(chain.sent ? chain.sent_at - now : INT64_MAX);
      state.add(place(chain.tail).entered - now);
      add_part(chain.tail);
      state.add(chain.wakes);
      add_dates(chain.arrived);
      add_dates(std::span(chain.for_tail).subspan(chain.next));
    }
    return oldest;
  }

  // What has come first cannot be with the tail yet: until it can, more will come that is handed on with it.
  bool wait_for_more(Chain& chain) {
    if (!chain.begun || chain.arrived.empty()) return false;
    const std::int64_t at = later(chain.arrived.front(), chain.through_ps);
    if (at <= network_.now().ps) return false;
    chain.wakes = true;
    network_.wake(SimTime{at}, token_of(parts_.size(), chain.tail));
    return true;
  }

  Model network_;
  const std::vector<Way> ways_;
  const Waits waits_;
  std::span<const Part> parts_;
  std::vector<int> ends_;  // by part: the step behind it
  std::vector<Place> places_;
  std::vector<Chain> chains_;
  std::vector<std::int64_t> dates_;  // that are handed on
  bool late_ = false;
  Rank watched_ = -1;
  SteadyState steady_;
  StateHash events_;              // of messages since the last state,
  std::int64_t stepped_ps_ = 0;   // which was that of then
  std::vector<int> done_before_;  // by rank, when the period began by whose end all is as it was then; empty: that is not known yet
  int period_ends_ = 0;           // the step of whom is watched
  std::int64_t skipped_ps_ = 0;   // by which dates of what is simulated are later than the network has them
};

}  // namespace weft
