// A schedule that is run on a network by an executor: what both are told, and what the executor knows of each rank.
#pragma once

#include "collectives/schedule/merge_steps.hpp"
#include "models/hardware.hpp"
#include "models/server/host_copies.hpp"
#include "sim/executor/lane_state.hpp"
#include "sim/network/critical_path.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// A schedule on ranks placed at endpoints, for a message of `elements` elements.
struct PlacedSchedule {
  const Schedule& schedule;
  std::span<const int> placement;  // rank -> endpoint
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  const HardwareProfile& hardware;
  std::span<const SimTime> start = {};      // when each rank begins; empty: all at 0
  std::span<const HostCopies> copies = {};  // beside the schedule, on the `flow` network only
  Regime regime = {};
  std::span<const std::vector<StandsFor>> stands_for = {};  // by channel and step: of how many it is made (merge_steps.hpp); empty: of one
};

// What an executor is given beside its schedule. Ranks are the schedule's.
struct Seat {
  std::uint32_t number = 0;                       // what its messages in the table say
  std::span<const Rank> members = {};             // what its ranks are called; empty: as they are
  int stream = 0;                                 // whose connections it uses
  int first_channel = 0;                          // what its channels are called in the timeline, from this on
  std::span<PeersMet> met = {};                   // by channel and rank; empty: connections cost nothing
  bool alone = false;                             // all ranks begin before anything else can happen on the network
  std::vector<std::int64_t*> sends_free_at = {};  // by rank, where sends queue up with those of others: when theirs are over
};

// A rank is done with its part of a schedule.
struct RankDone {
  Rank rank = 0;
  SimTime at;  // not before the network's clock
  ChainEnd after = {};
};

// When a rank is done with channels of it: with the one that ends last, at one date the highest.
struct ChannelsDone {
  RankDone last = {};
  std::uint32_t channel = 0;
  void take(const RankDone& done, std::uint32_t of) {
    if (done.at > last.at || (done.at == last.at && of >= channel)) last = done, channel = of;
  }
};

// What a schedule that is gone through without events leaves behind.
struct Walked {
  std::vector<ChannelsDone> done;   // by rank
  std::vector<PeersMet> met;        // as the seat's
  std::vector<std::int64_t> bytes;  // by connection
  LinkUses uses;
  std::int64_t messages = 0;
};

// What a rank has to do after its transfers of a step: receive overheads, copies, reductions.
struct Work {
  std::int64_t ps = 0;
  std::int64_t reducing_ps = 0;  // of it, what the rates of reductions and of copies take
  Work& operator+=(const Work& other) {
    ps = later(ps, other.ps);
    reducing_ps = later(reducing_ps, other.reducing_ps);
    return *this;
  }
};

// Which transfer of a step a rank has waited for: the one that ended last for it. Of several at one date it is one that the rank sent
// itself, so that a chain stays with a rank where all do the same, and of these the one with the lowest peer: what happens at one date has
// no order that counts.
struct LastTransfer {
  std::int64_t date_ps = 0;
  std::uint32_t message = ChainEnd::none;  // as it is recorded
  std::uint32_t tie = UINT32_MAX;          // the least counts

  static std::uint32_t sent_to(Rank peer) { return static_cast<std::uint32_t>(peer); }
  static std::uint32_t received_from(Rank peer) { return static_cast<std::uint32_t>(peer) | 1U << 31; }
  void take(const LastTransfer& other) {
    if (other.date_ps > date_ps || (other.date_ps == date_ps && other.tie < tie)) *this = other;
  }
};

}  // namespace weft
