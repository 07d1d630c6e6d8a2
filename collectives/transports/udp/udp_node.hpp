// A Wire over UDP: one process's agents, its socket and its timers. A worker's or server's node hands its agents what is for
// them and sends what they send to its switch; a switch's node shows its program every datagram that passes, once, and
// sends on, copying what is for a group to the members' nodes below it and to the switches of the others.
#pragma once

#include "collectives/in_network/node_agents.hpp"
#include "collectives/transports/udp/udp_socket.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace weft {

// What happens to each copy as it is sent, so that recovery can be seen where the network is too good.
struct UdpFaults {
  double loss = 0, duplication = 0, reordering = 0;
  std::uint64_t seed = 1;
};

class UdpNode final : private Wire {
 public:
  struct Settings {
    int node = 0;
    std::uint64_t run = 0;
    UdpFaults faults = {};
  };
  struct Statistics {
    std::int64_t received = 0;
    std::int64_t lost = 0, duplicated = 0, reordered = 0;  // on purpose
    std::int64_t stale = 0;                                // of an earlier round
    std::int64_t malformed = 0;                            // not of this run, of a wrong length, or for and from nobody known
  };

  // The socket is bound already, and `peers`, by node, are too. Socket and pool, whose payloads have as many values as a datagram, must
  // outlive this.
  UdpNode(const Settings& settings, const UdpMap& map, const UdpSocket& socket, const std::vector<UdpPeer>& peers, PayloadPool& pool);

  // Takes the place of the round before: its agents are forgotten, and so is what they sent. Then starts the agents, which must
  // outlive the round. At a switch there is one, its program, or none, and everything passes.
  void begin_round(std::uint32_t round, std::vector<NodeAgents::Seat> seats);
  std::uint32_t round() const { return round_; }

  // Called when something of a later round has come: to begin that round, or not, and then the datagram is dropped. Those that
  // only answer begin a round so: workers begin one when all of them have ended the one before.
  void when_later(std::function<void(std::uint32_t round)> begin) { when_later_ = std::move(begin); }

  // Handles what has come and is due; where there was nothing, waits for something until the timeout. Whether there was nothing.
  bool turn(std::chrono::microseconds at_most);

  const Statistics& statistics() const { return statistics_; }
  std::int64_t sent() const { return outbox_.sent(); }
  std::int64_t dropped() const { return outbox_.refused() + socket_.queue().dropped; }  // by the kernel, here

 private:
  struct Timer {
    std::int64_t due_ps;
    std::uint64_t order;
    std::size_t seat;
    std::uint64_t name;
    bool operator<(const Timer& o) const { return due_ps != o.due_ps ? due_ps > o.due_ps : order > o.order; }
  };
  struct Held {
    UdpHead head;
    Payload payload;
    int node;
    int behind;  // so many datagrams that are sent later
    std::int64_t due_ps;
  };

  std::int64_t now_ps() const override { return now_ps_; }
  void send(Datagram datagram) override;
  void set_timer(std::int64_t after_ps, std::uint64_t name) override;
  Payload new_payload() override { return pool_.take(); }

  void look_at_clock();
  void handle(std::size_t arrival, bool congested);
  void hand_over(Datagram datagram);
  void forward(const Datagram& datagram);
  void send_copy(const UdpHead& head, const Payload& payload, int node);
  void release_held();
  bool fire_timers();
  bool chance(double p) { return p > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  std::chrono::microseconds until_due(std::chrono::microseconds at_most) const;

  Settings settings_;
  bool at_switch_;
  UdpRoutes routes_;
  const UdpSocket& socket_;
  PayloadPool& pool_;
  UdpOutbox outbox_;
  UdpInbox inbox_;
  std::mt19937_64 random_;
  std::vector<NodeAgents::Seat> seats_;
  std::size_t current_ = 0;  // the seat whose callback runs
  std::uint32_t round_ = 0;
  std::function<void(std::uint32_t)> when_later_;
  std::chrono::steady_clock::time_point began_;
  std::int64_t now_ps_ = 0;
  std::vector<Timer> timers_;  // a heap
  std::uint64_t order_ = 0;
  std::vector<Held> held_;
  Statistics statistics_;
};

}  // namespace weft
