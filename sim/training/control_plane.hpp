// Control messages of the gradient engines of a job: they cross the job's network, pay the overheads of messages, and those of a pair
// of ranks arrive in the order of sending.
#pragma once

#include "sim/executor/event_executor.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace weft {

template <class Network>
class ControlPlane {
 public:
  static constexpr int stream = -1;  // has connections of its own

  ControlPlane(LaneState<Network>& lane, std::span<const int> placement, const HardwareProfile& hardware)
      : lane_(lane), placement_(placement), hardware_(hardware) {}

  // Messages of a rank leave one after another: `sends_free_at` says when those before have. What comes back in the lane's table has
  // the channel `what`.
  void send(Rank from, Rank to, std::vector<std::byte> message, std::int64_t& sends_free_at, std::uint32_t what) {
    sends_free_at = later(std::max(sends_free_at, lane_.network.now().ps), hardware_.send_overhead.ps);
    Pair& pair = pairs_[{from, to}];
    const auto bytes = static_cast<std::int64_t>(message.size());
    const std::uint32_t token = lane_.under_way.add({.bytes = bytes,
                                                     .channel = what,
                                                     .step = pair.first + static_cast<int>(pair.sent.size()),
                                                     .from = from,
                                                     .to = to,
                                                     .kind = UnderWay::Kind::operation_ends});
    pair.sent.push_back({std::move(message), lane_.network.now()});
    ++messages_;
    const std::uint32_t connection = connection_on(lane_, place(from), place(to), hardware_.stream_rate, {.stream = stream});
    if (connection == lane_.none) return lane_.network.wake(SimTime{sends_free_at}, token);
    lane_.connections[connection].bytes += bytes;
    lane_.network.start(connection, hardware_.wire_bytes(bytes), SimTime{sends_free_at}, token);
  }

  // What this one has let arrive: so many messages, each of which the receiver may be handed after its overhead.
  int arrived(const UnderWay& e) {
    Pair& pair = pairs_[{e.from, e.to}];
    pair.sent[static_cast<std::size_t>(e.step - pair.first)].arrived = true;
    int count = 0;
    for (; !pair.sent.empty() && pair.sent.front().arrived; pair.sent.pop_front(), ++pair.first, ++count)
      pair.arrived.push_back(std::move(pair.sent.front()));
    return count;
  }

  struct Message {
    std::vector<std::byte> bytes;
    SimTime sent;
    bool arrived = false;
  };
  // The next of those that have arrived.
  Message take(Rank from, Rank to) {
    std::deque<Message>& arrived = pairs_[{from, to}].arrived;
    Message first = std::move(arrived.front());
    arrived.pop_front();
    return first;
  }

  std::int64_t messages() const { return messages_; }

 private:
  struct Pair {
    std::deque<Message> sent;
    int first = 0;  // the number of the first of them
    std::deque<Message> arrived;
  };

  int place(Rank rank) const { return placement_[static_cast<std::size_t>(rank)]; }

  LaneState<Network>& lane_;
  const std::span<const int> placement_;
  const HardwareProfile& hardware_;
  std::map<std::pair<Rank, Rank>, Pair> pairs_;
  std::int64_t messages_ = 0;
};

}  // namespace weft
