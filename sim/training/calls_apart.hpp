// Calls that follow one another on a network where nothing else happens. What a call's messages do depends on when its ranks begin; as
// long as none of them meets one of another call, it takes what it takes by itself. So it is run by itself once all ranks have begun, on a
// network of its own, and a call that begins as one before it did, rank by rank, takes as long again. Which links a call uses, and from
// when to when, tells whether two calls meet; then, and only then, all of them have to be run together, message by message.
#pragma once

#include "models/fabric/routes.hpp"
#include "sim/executor/lane_state.hpp"
#include "sim/executor/placed_schedule.hpp"
#include "sim/network/network_run.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace weft {

// Calls cannot be run apart: they meet, or what they do takes too many events.
struct CallsMeet {};

// What ranks have sent in calls that were run apart.
struct SentApart {
  std::vector<std::int64_t> bytes_on_link, bytes_from;  // as in NetworkRun; empty: nothing
  std::int64_t messages = 0;

  void add_to(NetworkRun& run) const;  // what it says of links and endpoints
};

class CallsApart {
 public:
  // `max_events`: that all runs together may take; where that is limited, calls also have to begin alike mostly.
  CallsApart(Routes& routes, std::vector<BitsPerSecond> rate_of_link, std::uint64_t max_events)
      : routes_(routes), rate_of_link_(std::move(rate_of_link)), max_events_(max_events), busy_until_(rate_of_link_.size()) {}

  // Whether calls by themselves leave nothing to the next one but their messages: no connections that are made once, no queues for
  // copies, nor of NICs that several ranks send through.
  static bool may_describe(const HardwareProfile& hardware) {
    return hardware.first_use.ps == 0 && hardware.staging_rate.count == 0 && hardware.send_queue != SendQueue::nic;
  }

  // When each rank of the call is done, where its ranks begin at `call.start`; adds what they send to `sent`. Throws CallsMeet.
  std::vector<SimTime> run(const PlacedSchedule& call, SentApart& sent);

 private:
  struct Use {
    LinkId link = 0;
    std::int64_t from = 0, until = 0;
  };
  // A call that has been run; dates count from its first rank's beginning.
  struct Known {
    Regime regime;
    std::vector<std::int64_t> begun, done;  // by rank
    std::vector<Use> uses;
    NetworkRun run;
  };
  // Of the schedule, its ranks' places, and the elements.
  using Key = std::tuple<const Schedule*, const int*, std::int64_t>;
  static constexpr std::size_t max_known = 128;

  const Known& known(const PlacedSchedule& call, SimTime first);
  Known run_apart(const PlacedSchedule& call, SimTime first, std::vector<std::int64_t> begun);

  Routes& routes_;
  const std::vector<BitsPerSecond> rate_of_link_;
  const std::uint64_t max_events_;
  std::uint64_t events_ = 0;
  std::map<Key, std::vector<Known>> known_;
  std::size_t known_count_ = 0;
  std::int64_t found_ = 0, begun_otherwise_ = 0;  // calls that began as one before, and those that were known but for that
  std::vector<std::int64_t> busy_until_;          // by link
};

}  // namespace weft
