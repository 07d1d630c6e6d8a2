// The second seam: datagrams in, datagrams and timers out. What depends on values or on time (ATP's and SwitchML's worker,
// server and switch) is an Agent, a state machine that knows no network; the packet model (sim/packet/) and UDP carry its
// datagrams. Nothing on a Wire is reliable: datagrams may be lost, doubled, reordered or marked.
//
// Nor need senders be what they say. A network hands over only datagrams from agents that it knows, with as many values as
// new_payload() has or, in a run of sizes only, none; what is in a header the agents judge, and they count and drop what cannot be.
#pragma once

#include "collectives/in_network/payload.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace weft {

// Who a datagram is from and for: an agent at an endpoint, a programmable switch, or a group of agents. Numbers are given
// out by whoever deploys the agents; several agents may sit at one endpoint, each with an address of its own.
using Address = std::int32_t;
inline constexpr Address nobody = -1;

// What a protocol writes into a datagram, opaque to the network. A header is a trivially copyable struct of at most
// `capacity` bytes without padding.
class Header {
 public:
  static constexpr std::size_t capacity = 40;

  template <class T>
  T as() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= capacity);
    std::array<std::byte, sizeof(T)> bytes;
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = bytes_[i];
    return std::bit_cast<T>(bytes);
  }
  template <class T>
  void set(const T& header) {
    static_assert(std::has_unique_object_representations_v<T> && sizeof(T) <= capacity);
    const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(header);
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_[i] = bytes[i];
  }
  const std::array<std::byte, capacity>& bytes() const { return bytes_; }
  std::array<std::byte, capacity>& bytes() { return bytes_; }

 private:
  alignas(8) std::array<std::byte, capacity> bytes_{};
};

struct Datagram {
  Address from = nobody;
  Address to = nobody;          // an agent or a group
  std::int32_t wire_bytes = 0;  // on every link, all headers included; more than 0
  bool congested = false;       // set by the network where queues are long (ECN); survives on the way, never cleared by it
  Header header = {};
  Payload payload = {};
};

// What an agent sees of the network, valid during a callback.
class Wire {
 public:
  virtual ~Wire() = default;

  virtual std::int64_t now_ps() const = 0;  // since the start of the run

  // Sends towards `datagram.to` from where the agent is. At a switch this is how a datagram that is passing goes on: along
  // the path from `datagram.from` to `datagram.to` if the switch is on it, else along a shortest path. A datagram to a
  // group is copied at the switches where the paths to its members part; every switch on the way sees it once.
  virtual void send(Datagram datagram) = 0;

  // on_timer(name) after `after_ps`, not before what happens now is over. Timers cannot be taken back: an agent ignores one
  // that has lost its meaning. Timers of one date fire in the order they were set.
  virtual void set_timer(std::int64_t after_ps, std::uint64_t name) = 0;

  // A buffer for values to send; an empty payload where the run carries sizes only.
  virtual Payload new_payload() = 0;
};

// Called by one thread, one callback at a time.
class Agent {
 public:
  virtual ~Agent() = default;

  virtual void start(Wire&) {}

  // At an endpoint: a datagram for this agent (for a group: for each member). At a programmable switch: every datagram that
  // passes, whoever it is for, once; what should go on is sent on, changed or not, and what is not is consumed.
  virtual void on_datagram(Wire& wire, Datagram datagram) = 0;
  virtual void on_timer(Wire& wire, std::uint64_t name) = 0;

  // A run ends when every agent has finished. It is stuck when nothing is pending before, or when what is tried again and
  // again is in vain; then `waiting` says for what. `progress` grows whenever the agent comes nearer to its end: agents that
  // use timers and whose numbers stay the same for very long are taken to be stuck (sim/packet/datagram_network.hpp).
  virtual bool finished() const { return true; }
  virtual std::int64_t progress() const { return 0; }
  virtual std::string waiting() const { return {}; }

  // For the timeline: what it has now of what limits it, a worker packets that it may have on their way, a switch aggregators or slots in
  // use; -1: nothing.
  virtual int level() const { return -1; }
};

}  // namespace weft
