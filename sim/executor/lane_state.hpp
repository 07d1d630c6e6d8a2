// What the executors of schedules share on a lane of a network: messages under way, connections between endpoints, copies to host memory.
#pragma once

#include "kernels/base/large_table.hpp"
#include "kernels/base/prefetch.hpp"
#include "models/fabric/path_class.hpp"
#include "models/fabric/routes.hpp"
#include "sim/network/critical_path.hpp"
#include "sim/network/network_run.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace weft {

// What the tokens of one lane stand for: messages, and what waits for a date.
struct alignas(64) UnderWay {
  enum class Kind : std::uint8_t { message, rank_enters, operation_ends };
  std::int64_t bytes = 0, posted = 0, started = 0;
  std::int64_t behind = 0;  // what comes after its bytes, before the receiver has it: picoseconds
  std::uint32_t executor = 0, channel = 0;
  int step = 0;  // of operation_ends: the operation
  Rank from = 0, to = 0;
  std::uint32_t route = 0;
  std::uint32_t recorded = PathRecorder::none;
  Kind kind = Kind::message;
  bool reduces = false, ended = false;
};
static_assert(sizeof(UnderWay) == 64);

class UnderWayTable {
 public:
  std::uint32_t add(const UnderWay& entry) {
    if (free_.empty()) {
      entries_.push_back(entry);
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const std::uint32_t token = free_.back();
    free_.pop_back();
    entries_[token] = entry;
    return token;
  }
  // What `token` stood for; the token is free from now on.
  UnderWay take(std::uint32_t token) {
    entries_[token].ended = true;
    free_.push_back(token);
    return entries_[token];
  }
  void fetch(std::uint32_t token) const { prefetch_all(entries_[token]); }
  bool empty() const { return entries_.size() == free_.size(); }
  std::span<const UnderWay> entries() const { return entries_; }  // those not `ended` are under way

 private:
  LargeTable<UnderWay> entries_;
  std::vector<std::uint32_t> free_;
};

// Which peers a rank has sent to over one channel of one stream: the first message connects them.
class PeersMet {
 public:
  // Whether this is the first time.
  bool meet(Rank peer) {
    if (peer == last_) return false;
    last_ = peer;
    const auto at = std::ranges::lower_bound(met_, peer);
    if (at != met_.end() && *at == peer) return false;
    met_.insert(at, peer);
    return true;
  }

 private:
  Rank last_ = -1;
  std::vector<Rank> met_;  // sorted
};

// What carries messages from one endpoint to another: all messages between these two, or those of one channel of one stream where
// a connection has a rate of its own.
struct Connection {
  RouteId route = 0;
  int from = 0;  // the endpoint that sends; of switches that aggregate, which send it as much as it them, also the one that receives
  std::int64_t bytes = 0;       // carried
  bool between_servers = true;  // it leaves a server
  bool of_switches = false;     // that aggregate: its links carry half of the bytes of its messages
  PathClass path_class = {};
};

// Copies between a GPU and the host memory of its server: the next begins when the one before has ended.
struct CopyEngine {
  std::int64_t free_at = 0;
  // When a copy that is asked for at `at` has ended.
  std::int64_t copy(std::int64_t at, std::int64_t lasts) { return free_at = later(std::max(at, free_at), lasts); }
};

// From when on links have been used, and until when: by link, of two that slow down one another by the one that stands for both. While
// nobody asks from when on, that is empty.
struct LinkUses {
  static constexpr std::int64_t never = INT64_MAX;
  LargeTable<std::int64_t> from = {}, until = {};

  void begin(LinkId link, std::int64_t ps) {
    if (from.empty()) return;
    std::int64_t& first = from[static_cast<std::size_t>(link)];
    first = std::min(first, ps);
  }
  void end(LinkId link, std::int64_t ps) {
    std::int64_t& last = until[static_cast<std::size_t>(link)];
    last = std::max(last, ps);
  }
  // So many links, of which those that come anew are not used.
  void resize(std::size_t links) {
    if (!from.empty()) from.resize(links, never);
    until.resize(links);
  }
};

// What executors on one lane share.
template <class Network>
struct LaneState {
  Routes& routes;
  Network& network;  // numbers its routes as `connections`: nobody else adds any
  std::vector<MessageRecord>* timeline = nullptr;
  PathRecorder* path = nullptr;              // records every message, where the network knows what limits it
  std::span<std::int64_t> nic_free_at = {};  // SendQueue::nic: by link, when the overheads of sends over it are over
  LinkUses* uses = nullptr;                  // receives when messages were on links, where the network knows how they travel alone
  UnderWayTable under_way = {};
  LargeTable<Connection> connections = {};
  std::vector<std::uint32_t> shared = {};                                     // by RouteId: the connection of all messages
  std::map<std::tuple<int, std::uint32_t, RouteId>, std::uint32_t> own = {};  // by stream, channel and route
  std::vector<CopyEngine> to_host = {}, from_host = {};                       // by endpoint

  static constexpr std::uint32_t none = UINT32_MAX;  // from an endpoint to itself

  std::uint32_t connect(RouteId id, int from, BitsPerSecond rate) {
    connections.push_back({.route = id,
                           .from = from,
                           .between_servers = routes.leaves_server(id),
                           .of_switches = routes.to_or_from_switches(id),
                           .path_class = routes.path_class(id)});
    return network.add_route(routes.hops(id), routes.latency(id), routes.terms(id), rate);
  }
  std::vector<std::int64_t> bytes_on_link() const {
    std::vector<std::int64_t> out(static_cast<std::size_t>(routes.fabric().links()));
    for (std::uint32_t i = 0; i < connections.size(); ++i) {
      const Connection& c = connections[i];
      const auto add = [&](LinkId link, std::int64_t bytes) {
        if (static_cast<std::size_t>(link) < out.size()) out[static_cast<std::size_t>(link)] += bytes;  // not the rate of a connection
      };
      if constexpr (Network::knows_paths_taken)
        network.for_carried(i, c.bytes, add);
      else
        for (const Hop& hop : routes.hops(c.route)) add(hop.link, c.bytes);
    }
    return out;
  }
  std::vector<std::int64_t> bytes_from() const {
    std::vector<std::int64_t> out(static_cast<std::size_t>(routes.fabric().endpoints()));
    for (std::uint32_t i = 0; i < connections.size(); ++i) {
      const Connection& c = connections[i];
      if (!c.between_servers) continue;
      out[static_cast<std::size_t>(c.from)] += c.bytes;
      if constexpr (requires { network.model().sent_beside_messages(i); })
        out[static_cast<std::size_t>(c.from)] += network.model().sent_beside_messages(network.number(i));
    }
    return out;
  }
};

// Who sends: streams and channels have connections of their own.
struct Sender {
  int stream = 0;
  std::uint32_t channel = 0;
};

// The connection between two endpoints, known to the network from now on.
template <class Network>
std::uint32_t connection_on(LaneState<Network>& lane, int from, int to, BitsPerSecond stream_rate, Sender sender) {
  if (from == to) return lane.none;
  const RouteId id = lane.routes.of(from, to);
  const int sends = lane.routes.are_switches(from) ? to : from;
  if (stream_rate.count > 0 && lane.routes.leaves_server(id)) {
    const auto [at, fresh] = lane.own.try_emplace({sender.stream, sender.channel, id}, lane.none);
    if (fresh) at->second = lane.connect(id, sends, stream_rate);
    return at->second;
  }
  if (lane.shared.size() <= static_cast<std::size_t>(id)) lane.shared.resize(static_cast<std::size_t>(id) + 1, lane.none);
  std::uint32_t& shared = lane.shared[static_cast<std::size_t>(id)];
  if (shared == lane.none) shared = lane.connect(id, sends, {});
  return shared;
}

}  // namespace weft
